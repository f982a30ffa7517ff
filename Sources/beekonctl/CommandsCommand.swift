import ArgumentParser
import ControlProtocol
import ControlTool

struct CommandsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "commands",
        abstract: "List what the server has asked for, and what became of it.",
        discussion: """
            The latest 1,000, earliest first. Servers may ask for something only where the configuration files say so: \
            table commands of a destination.

            EXAMPLES:
              beekonctl commands
              beekonctl commands --json | jq -r '.commands[] | select(.ok == false) | .error'
            """)

    @OptionGroup var common: CommonOptions

    func run() throws {
        try common.run {
            var client = try common.connect()
            var commands: [Wire.ServerCommand] = []
            try client.stream(Wire.GetCommands.self, .init(), timeoutSeconds: 60) { page in
                commands += page.commands
                return true
            }
            if commands.isEmpty && !common.json {
                CommonOptions.warn("no server has asked for anything")
                return
            }
            try common.print(
                Wire.GetCommands.Result(commands: commands),
                text: CommandText.table(
                    commands, clock: CommonOptions.clock, columns: CommonOptions.columns))
        }
    }
}
