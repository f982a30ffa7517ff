import ArgumentParser
import ControlProtocol
import ControlTool

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make beekond reread its configuration files, and show what has changed.",
        discussion: """
            If a file is invalid, nothing changes: the error names the line, and the exit code is 78.

            EXAMPLE:
              sudoedit /etc/beekond/beekond.toml && beekonctl reload
            """)

    private struct Result: Encodable {
        let changes: [String]
    }

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            let before = try client.call(Wire.GetConfig.self, .init()).settings
            // Allow for a disk that is slow at the moment.
            let result = try client.call(Wire.Reload.self, .init(), timeoutSeconds: 60)
            CommonOptions.warn(ofLate: result.adopting)
            let after = try client.call(Wire.GetConfig.self, .init()).settings
            let changes = ConfigText.changes(from: before, to: after)
            try common.print(
                Result(changes: changes),
                text: changes.isEmpty
                    ? ["configuration reloaded; no setting has changed that 'beekonctl config show' shows"]
                    : changes)
        }
    }
}
