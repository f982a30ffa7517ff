import ArgumentParser
import ControlProtocol
import ControlTool

struct StartCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start tracking; it continues across restarts and power cuts until stopped.",
        discussion: """
            EXAMPLE:
              beekonctl start
            """)

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            let result = try client.call(Wire.Start.self, .init())
            try common.print(
                result, text: ["\(result.state.rawValue), session \(Text.safe(result.sessionId))"])
        }
    }
}
