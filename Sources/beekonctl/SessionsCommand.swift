import ArgumentParser
import ControlProtocol
import ControlTool

struct SessionsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "List the sessions: start, end, locations admitted and distance travelled.",
        discussion: """
            EXAMPLES:
              beekonctl sessions
              beekonctl history --session "$(beekonctl sessions --json | jq -r '.sessions[-1].id')"
            """)

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            let result = try client.call(Wire.GetSessions.self, .init(), timeoutSeconds: 60)
            if result.sessions.isEmpty && !common.json {
                CommonOptions.warn("no sessions yet: beekonctl start begins one")
                return
            }
            try common.print(
                result,
                text: SessionText.table(
                    result.sessions, clock: CommonOptions.clock, units: common.units(),
                    width: CommonOptions.columns))
        }
    }
}
