import ArgumentParser
import ControlProtocol
import ControlTool

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what beekond is doing, what is wrong and what to do.",
        discussion: """
            EXAMPLES:
              beekonctl status
              beekonctl status --json | jq .sync.pending
            """)

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            let status = try client.call(Wire.GetStatus.self, .init()).status
            let screen = StatusScreen(status, clock: CommonOptions.clock, palette: CommonOptions.palette)
            try common.print(status, text: screen.lines())
        }
    }
}
