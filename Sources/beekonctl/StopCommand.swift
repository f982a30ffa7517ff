import ArgumentParser
import ControlProtocol
import ControlTool

struct StopCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Stop tracking; pending locations are still uploaded.",
        discussion: """
            EXAMPLE:
              beekonctl stop
            """)

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            let result = try client.call(Wire.Stop.self, .init())
            try common.print(
                result,
                text: [result.state == .idle ? "idle: there was nothing to stop" : result.state.rawValue])
        }
    }
}
