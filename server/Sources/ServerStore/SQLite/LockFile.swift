internal import Glibc

/// Keeps every other process from the database, for as long as this value lives.
///
/// Two processes that write to one file in WAL mode are more than is needed, and more than SQLite up to 3.51.2 could do
/// without a rare corruption: a reset of the WAL that overlaps a write and a checkpoint.
final class LockFile: Sendable {
    private let descriptor: Int32

    /// - Throws: `.conflict` when another process has it.
    init(_ path: String) throws(StoreError) {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(.failed, operation: "open \(path)", message: String(cString: strerror(errno)))
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            Glibc.close(descriptor)
            throw StoreError(
                isHeld ? .conflict : .failed, operation: "lock \(path)",
                message: isHeld
                    ? "another beekon-server has this database open" : String(cString: strerror(errno)))
        }
    }

    deinit {
        Glibc.close(descriptor)
    }
}
