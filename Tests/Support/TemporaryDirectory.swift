internal import FoundationEssentials
internal import Glibc

/// A directory of its own for one test, removed with everything in it.
package final class TemporaryDirectory: Sendable {
    /// Absolute path, without a slash at the end.
    package let path: String

    /// Makes the directory, which only its owner may enter.
    ///
    /// - Parameter inMemory: where the system has such a place: for tests that write a lot and need no disk.
    package init(inMemory: Bool = false) throws {
        let parent = inMemory && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/beekond-test-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SetUpFailed(operation: "mkdtemp", code: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of an entry.
    package func file(_ name: String) -> String {
        path + "/" + name
    }

    /// The names in it, or in a folder of it, sorted.
    package func names(in folder: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file(folder)).sorted()
    }

    /// The content of an entry.
    package func read(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: file(name))))
    }

    /// Writes an entry, neither atomically nor durably.
    package func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(filePath: file(name)))
    }
}

/// What a test needs to run could not be had.
package struct SetUpFailed: Error {
    /// What was attempted.
    package var operation: String
    /// errno.
    package var code: Int32

    /// A failure with the errno of the call made just before, unless told otherwise.
    package init(operation: String, code: Int32) {
        self.operation = operation
        self.code = code
    }
}
