import API
import ArgumentParser

/// The command line.
@main
struct BeekonServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beekon-server",
        abstract: "Receives the locations of a fleet from beekond, keeps them, and hands them out.",
        version: "beekon-server \(ServerOptions.version)",
        subcommands: [
            Serve.self, DeviceCommand.self, UserCommand.self, CommandCommand.self, ClaimCommand.self,
            KeyCommand.self, Doctor.self, Backup.self,
        ], defaultSubcommand: Serve.self)
}

/// What every verb needs.
struct DatabaseOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "An SQLite file, or postgres://… (Environment: BEEKON_SERVER_DATABASE)",
            valueName: "database"))
    var database: String?

    /// The option, else the environment, else a file in the working directory.
    var place: String { database ?? Environment["BEEKON_SERVER_DATABASE"] ?? "beekon-server.db" }
}
