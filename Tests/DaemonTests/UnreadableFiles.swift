import Glibc
import Linux
import Synchronization

/// The files of the system, on a disk that does not give some of them for a while.
final class UnreadableFiles: Files {
    private let system = SystemFiles()
    private let prefix: String
    private let isFailing = Atomic(false)

    /// - Parameter prefix: of the names of these files.
    init(_ prefix: String) { self.prefix = prefix }

    func fail(_ isFailing: Bool) { self.isFailing.store(isFailing, ordering: .relaxed) }

    func open(_ path: String, _ opening: FileOpening) throws(SystemError) -> any OpenedFile {
        let name = path.split(separator: "/").last ?? ""
        guard !isFailing.load(ordering: .relaxed) || !name.hasPrefix(prefix) else {
            throw SystemError("open \(path)", code: EIO)
        }
        return try system.open(path, opening)
    }

    var vfs: String? { system.vfs }

    func status(_ path: String) throws(SystemError) -> FileStatus? { try system.status(path) }

    func isWritable(_ path: String) -> Bool { system.isWritable(path) }

    func names(in directory: String) throws(SystemError) -> [String] { try system.names(in: directory) }

    func rename(_ path: String, to target: String) throws(SystemError) {
        try system.rename(path, to: target)
    }

    func remove(_ path: String) throws(SystemError) { try system.remove(path) }

    func makeDirectory(_ path: String) throws(SystemError) -> String { try system.makeDirectory(path) }

    func freeSpace(in directory: String) -> Int? { system.freeSpace(in: directory) }

    func time() -> Int64 { system.time() }
}
