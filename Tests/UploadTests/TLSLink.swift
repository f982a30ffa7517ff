import CCurl
import Glibc
import Support

/// TLS on the server's end of a connection. A write makes a record of its own.
final class TLSLink {
    private let link: Link
    private let context: OpaquePointer
    private let tls: OpaquePointer

    /// Returns after the handshake.
    ///
    /// - Parameters:
    ///   - directory: with `server.pem` and `server.key`.
    ///   - version: the only one, such as `TLS1_3_VERSION`.
    init(_ link: Link, in directory: TemporaryDirectory, version: Int32) throws {
        guard let context = SSL_CTX_new(TLS_server_method()) else { throw Self.failed("SSL_CTX_new") }
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        guard SSL_CTX_use_certificate_chain_file(context, directory.file("server.pem")) == 1,
            SSL_CTX_use_PrivateKey_file(context, directory.file("server.key"), SSL_FILETYPE_PEM) == 1,
            let tls = SSL_new(context), SSL_set_fd(tls, link.raw) == 1
        else {
            SSL_CTX_free(context)
            throw Self.failed("certificate")
        }
        (self.link, self.context, self.tls) = (link, context, tls)
        guard SSL_accept(tls) == 1 else { throw Self.failed("SSL_accept") }
    }

    deinit {
        SSL_free(tls)
        SSL_CTX_free(context)
    }

    private static func failed(_ operation: String) -> SetUpFailed {
        SetUpFailed(operation: operation, code: EPROTO)
    }

    /// Reads a request with its body; false when the connection ended before.
    func request() -> Bool {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            guard let byte = take(1) else { return false }
            bytes += byte
        }
        let length = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n")
            .first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) }
        return length.flatMap(take) != nil
    }

    private func take(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var taken = 0
        while taken < count {
            let more = bytes.withUnsafeMutableBytes {
                SSL_read(tls, $0.baseAddress?.advanced(by: taken), Int32(count - taken))
            }
            guard more > 0 else { return nil }
            taken += Int(more)
        }
        return bytes
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = SSL_write(tls, bytes, Int32(bytes.count))
    }

    /// One more ticket for a session (TLS 1.3).
    func sendTicket() {
        _ = SSL_new_session_ticket(tls)
        _ = SSL_do_handshake(tls)
    }

    /// Takes leave (close_notify), and leaves the connection open.
    func takeLeave() {
        _ = SSL_shutdown(tls)
    }
}

extension Link {
    /// The peer's kernel has everything that was sent, the end of it as well (`SIOCOUTQ`, which is `TIOCOUTQ`).
    var hasArrived: Bool {
        var unacknowledged: Int32 = 0
        return ioctl(raw, UInt(TIOCOUTQ), &unacknowledged) == 0 && unacknowledged == 0
    }
}
