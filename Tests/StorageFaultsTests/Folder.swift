import FoundationEssentials
import Glibc

/// A folder that goes away with the test; in memory where the system has such a place, because images are many.
final class Folder {
    let path: String
    var database: String { path + "/beekon.db" }

    init() throws {
        let parent =
            access("/dev/shm", W_OK) == 0 ? "/dev/shm" : FileManager.default.temporaryDirectory.path()
        path = "\(parent)/beekond-faults-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path + "/" + name)))
    }

    func write(_ name: String, _ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try write(name, $0) }
    }

    /// Every regular file with its content.
    func contents() throws -> [String: [UInt8]] {
        try Dictionary(uniqueKeysWithValues: names.map { ($0, try read($0)) })
    }

    func write(_ name: String, _ content: UnsafeRawBufferPointer) throws {
        let descriptor = open(path + "/" + name, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        defer { Glibc.close(descriptor) }
        guard descriptor >= 0, Glibc.write(descriptor, content.baseAddress, content.count) == content.count
        else {
            throw POSIXFailure(code: errno)
        }
    }

    func clear() throws {
        for name in try names { try FileManager.default.removeItem(atPath: path + "/" + name) }
    }
}

struct POSIXFailure: Error {
    let code: Int32
}
