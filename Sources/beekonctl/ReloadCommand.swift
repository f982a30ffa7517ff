import ArgumentParser
import ControlProtocol
import ControlTool

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Have beekond read its configuration files again, and tell what has changed.",
        discussion: """
            A bad file changes nothing; the error names the line. Exits with 78 then.

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
            // A disk that is slow just now is waited for.
            _ = try client.call(Wire.Reload.self, .init(), timeoutSeconds: 60)
            let after = try client.call(Wire.GetConfig.self, .init()).settings
            let changes = ConfigText.changes(from: before, to: after)
            try common.print(
                Result(changes: changes),
                text: changes.isEmpty ? ["read again; nothing that is shown has changed"] : changes)
        }
    }
}
