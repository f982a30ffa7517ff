internal import CCurl
internal import Glibc

/// The connection under libcurl's requests, as far as only its socket can tell: libcurl says when it opens and closes one.
///
/// Confined to the thread that advances the requests. It must outlive libcurl's handles.
final class HTTPConnection {
    /// What has arrived between two requests.
    enum Unread {
        case nothing
        /// Bytes of an answer that nobody has asked for.
        case data
        /// The peer has closed it, or it is broken.
        case end
    }

    /// The newest last; more than one only while libcurl tries several addresses.
    private var sockets: [Int32] = []
    /// The TLS session of the newest socket, once an answer has come through it.
    private var tls: OpaquePointer?
    /// How many have been opened: another number, another connection.
    private(set) var number = 0

    /// Whether there is a connection, kept or in use.
    var isOpen: Bool { !sockets.isEmpty }

    fileprivate func opened(_ socket: Int32) {
        sockets.append(socket)
        tls = nil
        number += 1
    }

    fileprivate func closed(_ socket: Int32) {
        if socket == sockets.last { tls = nil }
        sockets.removeAll { $0 == socket }
    }

    /// An answer begins to arrive.
    ///
    /// - Parameters:
    ///   - handle: that of the request.
    ///   - size: bytes of the request's body.
    /// - Returns: whether the whole request has reached the peer, or the proxy, whose kernel acknowledges what it has received
    ///   with whatever it sends. An answer that overtakes that was not made for this request.
    func answerBegins(_ handle: UnsafeMutableRawPointer, size: Int) -> Bool {
        tls = ccurl_tls(handle)
        var sent = curl_off_t(0)
        guard ccurl_get_offset(handle, CURLINFO_SIZE_UPLOAD_T, &sent) == CURLE_OK, sent >= size else {
            return false
        }
        guard let socket = sockets.last else { return true }
        var unacknowledged: Int32 = 0
        // SIOCOUTQ, which the kernel calls TIOCOUTQ as well: bytes sent and not acknowledged.
        return ioctl(socket, UInt(TIOCOUTQ), &unacknowledged) != 0 || unacknowledged == 0
    }

    /// What there is to be read while no request is under way.
    ///
    /// - Parameter isOpaque: it is the TLS of a proxy, behind which nothing can be told apart.
    func unread(isOpaque: Bool) -> Unread {
        guard let socket = sockets.last else { return .nothing }
        if isOpaque {
            return ccurl_unread(socket, nil) == CCURL_NOTHING ? .nothing : .end
        }
        return switch ccurl_unread(socket, tls) {
        case CCURL_NOTHING: .nothing
        case CCURL_DATA: .data
        default: .end
        }
    }

    /// Makes libcurl open and close its sockets here.
    func watch(_ handle: UnsafeMutableRawPointer) {
        _ = ccurl_set_sockets(handle, openSocket, closeSocket, Unmanaged.passUnretained(self).toOpaque())
    }
}

private let openSocket: ccurl_open = { context, _, address in
    guard let context, let address = address?.pointee else { return CURL_SOCKET_BAD }
    let kind = address.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let made = socket(address.family, kind, address.protocol)
    guard made >= 0 else { return CURL_SOCKET_BAD }
    Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue().opened(made)
    return made
}

private let closeSocket: ccurl_close = { context, socket in
    if let context { Unmanaged<HTTPConnection>.fromOpaque(context).takeUnretainedValue().closed(socket) }
    return close(socket)
}
