import ArgumentParser
import ServerStore

/// A standby from which lists are read.
struct ReadDatabaseOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A standby of the PostgreSQL, postgres://…, from which long lists are read. (Environment: BEEKON_SERVER_READ_DATABASE)",
            valueName: "database"))
    var readDatabase: String?

    /// - Returns: nil when there is none.
    func place(_ settings: Settings) -> Store.Place? {
        (readDatabase ?? Environment["BEEKON_SERVER_READ_DATABASE"] ?? settings.readDatabase).map {
            Store.Place($0)
        }
    }
}
