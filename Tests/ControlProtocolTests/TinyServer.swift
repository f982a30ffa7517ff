import Glibc

/// A Unix socket server for one connection at a time, on its own thread. It reads up to a NUL, answers with the next
/// script entry in the given pieces, and closes once the script is exhausted.
final class TinyServer: Sendable {
    let path: String
    private let directory: String
    private let listener: Int32

    /// - Parameter script: for each call, the pieces to write back.
    init(_ script: [[[UInt8]]], stayOpen: Bool = false) throws {
        var template = Array("/tmp/beekond-ctl-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SetUpFailed(code: errno) }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let path = directory + "/socket"
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(listener, 8) == 0 else { throw SetUpFailed(code: errno) }
        (self.directory, self.path, self.listener) = (directory, path, listener)
        // Of two owners each closes its own: a number that is closed is soon another test's.
        let own = dup(listener)
        guard own >= 0 else { throw SetUpFailed(code: errno) }
        let box = Unmanaged.passRetained(
            Box(listener: own, script: Script(calls: script, stayOpen: stayOpen)))
        var thread = pthread_t()
        pthread_create(&thread, nil, serveOnThread, box.toOpaque())
        pthread_detach(thread)
    }

    deinit {
        // Ends the thread's wait.
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unlink(path)
        rmdir(directory)
    }

    struct SetUpFailed: Error { let code: Int32 }

    fileprivate final class Box {
        let listener: Int32
        let script: Script
        init(listener: Int32, script: Script) {
            self.listener = listener
            self.script = script
        }
    }

    fileprivate struct Script {
        let calls: [[[UInt8]]]
        let stayOpen: Bool

        func serve(_ listener: Int32) {
            defer { close(listener) }
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            for pieces in calls {
                guard readCall(connection) else { break }
                for piece in pieces where send(connection, piece, piece.count, Int32(MSG_NOSIGNAL)) < 0 {
                    break
                }
            }
            if stayOpen { _ = readCall(connection) }
            close(connection)
        }

        private func readCall(_ connection: Int32) -> Bool {
            var byte: UInt8 = 1
            while byte != 0 {
                guard recv(connection, &byte, 1, 0) == 1 else { return false }
            }
            return true
        }
    }
}

private func serveOnThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let box = Unmanaged<TinyServer.Box>.fromOpaque(argument).takeRetainedValue()
    box.script.serve(box.listener)
    return nil
}
