internal import Glibc
internal import SQLite
internal import Synchronization

/// The file of an SQLite database: nobody else's, and still there.
///
/// Two processes that write to one file in WAL mode are more than is needed, and more than SQLite up to 3.51.2 could do
/// without a rare corruption: a reset of the WAL that overlaps a write and a checkpoint. Two that write to it by two names have a
/// WAL each, and destroy it.
final class DatabaseFile: @unchecked Sendable {
    let path: String
    /// Whether a server ended without closing it: then there is a WAL with something in it.
    let wasLeftOpen: Bool
    /// The lock of versions before this one. To be dropped with the next version.
    private let formerLock: FileLock
    private let lock: FileLock
    private let identity: FileIdentity?
    /// As long as it is open, no other connection is the last one, which would remove the WAL. Used by nobody, and closed before
    /// the lock is: hence unchecked.
    private var anchor: Connection?
    /// nil on file systems on which there can be no WAL.
    private let log: LogFile?
    private let isGone = Mutex(false)
    private let damageFound = Mutex<String?>(nil)
    private let isSound = Mutex(false)

    /// Opens the file, and makes or upgrades its tables.
    init(_ path: String) throws(StoreError) {
        self.path = path
        // Before the file itself is opened: a process that has it open already would lose SQLite's locks.
        formerLock = try FileLock(path + ".lock", makes: true)
        var status = stat()
        if stat(path, &status) != 0, stat(path + Self.restoring, &status) == 0 {
            throw StoreError(
                .failed, operation: "open \(path)",
                message:
                    "it is not there, and \(path)\(Self.restoring) is: a restore was cut short. Run 'beekon-server restore FILE' again, or move that file away to begin with an empty database"
            )
        }
        lock = try FileLock(path, makes: true)
        identity = lock.identity
        wasLeftOpen = stat(path + "-wal", &status) == 0 && status.st_size > 0
        let session = try SQLiteSession(path: path, isReader: false)
        anchor = session.connection
        // SQLite has made it by now, to read the version of the tables.
        log = LogFile(path + "-wal")
    }

    deinit {
        // The next one to open it sees by the WAL that it is still to be looked through.
        if wasLeftOpen, !isSound.withLock({ $0 }) { anchor?.leaveLogOnClose() }
        // What is no log any more must not get into the database.
        if isGone.withLock({ $0 }) { anchor?.leaveLogOnClose() }
        // Its locks are dropped when the descriptor of `lock` is closed.
        anchor = nil
    }

    /// Beside a database that is being restored.
    static let restoring = ".restoring"

    /// What is damaged; nil when nothing was found.
    var damage: String? { damageFound.withLock { $0 } }

    /// Notes that the database was looked through, after it had been left open.
    func noteSound() {
        isSound.withLock { $0 = true }
    }

    func note(damage: String) {
        damageFound.withLock { $0 = $0 ?? damage }
    }

    /// - Throws: `.gone` when what is committed goes into a file that nobody finds again.
    func confirm() throws(StoreError) {
        if FileIdentity(path) != identity { throw gone(path) }
        guard let log else { return }
        if FileIdentity(path + "-wal") != log.identity { throw gone(path + "-wal") }
        if log.isCut {
            isGone.withLock { $0 = true }
            throw gone(path + "-wal")
        }
    }

    func gone(_ name: String) -> StoreError {
        StoreError(
            .gone, operation: "look for \(name)",
            message:
                "\(name) has gone or was replaced or emptied while the server runs; nothing is accepted. Put it back, or stop the server and restore a backup"
        )
    }

    /// A connection of one thread.
    func session(isReader: Bool) throws(StoreError) -> SQLiteSession {
        // Who opens what is not there makes it.
        try confirm()
        let session = try SQLiteSession(path: path, isReader: isReader, file: self)
        try session.confirm()
        return session
    }
}
