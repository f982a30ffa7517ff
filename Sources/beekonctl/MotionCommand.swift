import ArgumentParser
import ControlProtocol
import ControlTool

struct MotionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "motion",
        abstract: "Say that the vehicle moves, or stands, before beekond finds out by itself.",
        discussion: """
            It holds for the next fix, which is stored as when motion changes by itself; from there on beekond watches \
            as ever.

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
