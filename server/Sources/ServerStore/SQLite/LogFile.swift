internal import Glibc

/// The `-wal` of a database, as long as it is open.
final class LogFile: Sendable {
    private let descriptor: Int32
    let identity: FileIdentity

    /// - Returns: nil when there is none.
    init?(_ path: String) {
        // SQLite has no locks on this file that another descriptor could drop.
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard let identity = FileIdentity(path) else {
            close(descriptor)
            return nil
        }
        self.identity = identity
    }

    deinit {
        close(descriptor)
    }

    /// Whether it was emptied while SQLite had something in it: it then begins with a hole, behind which SQLite writes on. Who
    /// empties it by a checkpoint begins it anew.
    var isCut: Bool {
        var start = [UInt8](repeating: 0, count: Self.magic.count)
        return pread(descriptor, &start, start.count, 0) > 0 && start != Self.magic
    }

    /// The first three bytes of each; the fourth says in which order checksums are made.
    private static let magic: [UInt8] = [0x37, 0x7F, 0x06]
}
