import API
import Glibc
import HTTPTypes
import Logging
import NIOCore
import ServerStore

/// Asks the server that has the database open, through its local socket; when none runs, does what it would do.
struct LocalClient {
    let database: String
    var copy: Store.Place?
    /// Options of the server that this process is for a moment where none runs.
    var options = ServerOptions(address: .socket(""))

    /// Path of the local socket. nil with PostgreSQL, to which a verb can speak while servers run.
    static func path(of database: String) -> String? {
        switch Store.Place(database) {
        case .sqlite(let path): path + ".socket"
        case .postgres: nil
        }
    }

    /// - Returns: the body of the answer.
    func ask(_ method: HTTPRequest.Method, _ path: String, body: String = "") async throws -> ByteBuffer {
        umask(0o077)
        let (status, bytes): (Int, ByteBuffer)
        if let descriptor = try connect() {
            (status, bytes) = try converse(descriptor, method, path, body)
        } else {
            (status, bytes) = try await perform(method, path, body)
        }
        guard (200...299).contains(status) else {
            throw Failure(Answer.detail(bytes) ?? "the server answers \(status)")
        }
        return bytes
    }

    private func perform(
        _ method: HTTPRequest.Method, _ path: String, _ body: String
    ) async throws -> (status: Int, body: ByteBuffer) {
        let store: Store
        do {
            store = try Store(Store.Place(database), copy: copy) { _ in }
        } catch {
            throw Failure("cannot open \(Store.Place(database)): \(error.message)")
        }
        defer { store.close() }
        let server = Server(options, socket: nil, store: store, logger: Logger(label: "beekon-server"))
        defer { server.close() }
        return try await server.perform(method, path, body: body)
    }

    /// - Throws: for a path that no socket can have.
    static func checkLength(of path: String) throws {
        let most = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard path.utf8.count <= most else {
            throw Failure(
                "the local socket would be \(path), of \(path.utf8.count) bytes, and has \(most) at most: move the database "
                    + "to a folder with a shorter path")
        }
    }

    /// - Returns: nil when nobody listens there.
    private func connect() throws -> Int32? {
        guard let path = Self.path(of: database) else { return nil }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try Self.checkLength(of: path)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result != 0 else { return descriptor }
        let code = errno
        close(descriptor)
        if code == ENOENT || code == ECONNREFUSED { return nil }
        throw Failure("cannot ask the server at \(path): \(String(cString: strerror(code)))")
    }

    /// One request, whose answer ends with the connection.
    private func converse(
        _ descriptor: Int32, _ method: HTTPRequest.Method, _ path: String, _ body: String
    ) throws -> (status: Int, body: ByteBuffer) {
        defer { close(descriptor) }
        let head = """
            \(method.rawValue) \(path) HTTP/1.1\r
            Host: localhost\r
            Connection: close\r
            Content-Type: application/json\r
            Content-Length: \(body.utf8.count)\r
            \r

            """
        var rest = Array((head + body).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw Failure("the server closed its local socket") }
            rest = rest.dropFirst(count)
        }
        var answer: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &room, room.count)
            guard count > 0 else { break }
            answer += room[..<count]
        }
        let end = Array("\r\n\r\n".utf8)
        guard let split = (0..<answer.count).first(where: { answer[$0...].starts(with: end) }),
            let status = Int(String(decoding: answer.dropFirst(9).prefix(3), as: UTF8.self))
        else { throw Failure("the server gave no answer on its local socket") }
        let body = answer[(split + 4)...]
        // What the server does not hold as a whole comes in chunks.
        guard
            String(decoding: answer[..<split], as: UTF8.self).lowercased().contains(
                "transfer-encoding: chunked")
        else { return (status, ByteBuffer(bytes: body)) }
        guard let whole = Self.joined(body) else {
            throw Failure("the server's answer on its local socket is cut")
        }
        return (status, ByteBuffer(bytes: whole))
    }

    /// - Returns: the bytes of all chunks; nil unless the last one is there.
    private static func joined(_ chunks: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = chunks
        var whole: [UInt8] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")) {
            guard let size = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), size >= 0 else {
                return nil
            }
            if size == 0 { return whole }
            rest = rest[end...].dropFirst(2)
            guard rest.count >= size + 2 else { return nil }
            whole += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
        }
        return nil
    }
}
