import ArgumentParser
import ControlProtocol
import ControlTool

struct MotionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "motion",
        abstract: "Tell beekond that the vehicle is moving or stationary.",
        discussion: """
            The next fix is stored as for a change of motion that beekond has found itself; from then on beekond \
            decides again.

            EXAMPLE:
              beekonctl motion stationary
            """)

    /// What can be said.
    enum State: String, ExpressibleByArgument, CaseIterable { case moving, stationary }

    @OptionGroup var common: CommonOptions

    @Argument(help: "moving or stationary.")
    var state: State

    func run() throws {
        try common.run {
            var client = try common.connect()
            let result = try client.call(Wire.SetMotion.self, .init(motion: state.rawValue))
            try common.print(result, text: ["\(state.rawValue) from the next fix on"])
        }
    }
}
