import API
import ArgumentParser
import Glibc

/// The command line.
@main
struct BeekonServer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beekon-server",
        abstract: "Receives the locations of a fleet from beekond, keeps them, and hands them out.",
        version: "beekon-server \(ServerOptions.version)",
        subcommands: [
            Serve.self, DeviceCommand.self, GroupCommand.self, UserCommand.self, LinkCommand.self,
            CommandCommand.self, ClaimCommand.self, KeyCommand.self, ClockCommand.self, TimelineCommand.self,
            Distribute.self, Doctor.self,
            Health.self, Backup.self, Restore.self,
        ], defaultSubcommand: Serve.self)
}

/// What every verb needs.
struct DatabaseOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A configuration file. Without it and --database, \(Settings.usual) if there is one. (Environment: BEEKON_SERVER_CONFIG)",
            valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "An SQLite file, or postgres://… (Environment: BEEKON_SERVER_DATABASE)",
            valueName: "database"))
    var database: String?

    /// What the configuration file says; empty when there is none.
    func settings() throws -> Settings {
        if let path = config ?? Environment["BEEKON_SERVER_CONFIG"] { return try Settings(file: path) }
        // Who names a database means another server than that of the package.
        guard named == nil, access(Settings.usual, F_OK) == 0 else { return Settings() }
        return try Settings(file: Settings.usual)
    }

    /// The option, else the environment, else the configuration, else a file in the working directory.
    var place: String {
        get throws { try place(settings()) }
    }

    func place(_ settings: Settings) -> String { named ?? settings.database ?? "beekon-server.db" }

    private var named: String? { database ?? Environment["BEEKON_SERVER_DATABASE"] }
}
