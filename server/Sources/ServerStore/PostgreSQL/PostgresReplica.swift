internal import Synchronization

/// A standby from which lists are read. libpq chooses among the hosts of its address, as `target_session_attrs` says there.
final class PostgresReplica: Sendable {
    private let address: String
    private let main: PostgresHosts
    private let quiet: Quieter
    private let pause = Mutex(ConnectPause())

    /// - Parameter main: the database that it follows.
    init(_ place: Store.Place, of main: PostgresHosts?, quiet: Quieter) throws(StoreError) {
        guard case .postgres(let address) = place, let main else {
            throw StoreError(
                .failed, operation: "connect",
                message:
                    "read_database is a standby of a database in PostgreSQL, and so is its address: postgres://…"
            )
        }
        // What is wrong with it is said before anybody needs it.
        _ = try PostgresAddress(address)
        self.address = address
        self.main = main
        self.quiet = quiet
    }

    func open() throws(StoreError) -> PostgresSession {
        if let error = pause.withLock({ $0.begin(at: .now) }) { throw error }
        do throws(StoreError) {
            let session = try PostgresSession([("dbname", address)])
            guard !main.isOld(try session.identity()) else {
                throw StoreError(
                    .unavailable, operation: "connect",
                    message: "it is an old primary, and no standby of the new one")
            }
            try session.settle(isReader: true)
            pause.withLock { $0.succeed() }
            quiet.answers("it answers", isNews: false)
            return session
        } catch {
            var error = error
            error.isOutage = true
            pause.withLock { $0.fail(error, at: .now) }
            throw error
        }
    }
}
