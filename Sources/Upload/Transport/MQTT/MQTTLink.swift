internal import Base
internal import CCurl
internal import Linux

/// A connection that libcurl makes, with its resolver, proxies and TLS, and that then carries bytes of ours
/// (`CURLOPT_CONNECT_ONLY`). Nothing in it waits.
struct MQTTLink: ~Copyable {
    enum Connecting: Equatable {
        case underway
        /// With this for poll(2).
        case open(descriptor: Int32)
        case failed(TransportFailure)
    }

    enum Received: Equatable {
        case bytes([UInt8])
        /// Not yet.
        case nothing
        /// `isHangUp`: by the other side, and not for its TLS.
        case closed(String, isHangUp: Bool)
    }

    /// Seconds for name, connection and handshake.
    private static let connectTimeout = 15
    /// Bytes read at once; a TLS record has as many.
    private static let pieceLimit = 16_384

    private let multi: MultiHandle
    private let easy: UnsafeMutableRawPointer
    private let errorBuffer: UnsafeMutablePointer<CChar>
    /// What is being sent. OpenSSL wants the same bytes at the same place when it asks for them again.
    private let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceLimit, alignment: 1)
    private var chunkRange = 0..<0
    /// −1 until the connection is open.
    private var descriptor: Int32 = -1
    private var hasStarted = false
    /// What became of the TLS handshake.
    private(set) var handshake = SessionLifetime.Handshake.unreached

    /// - Parameters:
    ///   - timeout: seconds that are left for the connection.
    ///   - share: a `CURLSH` with which TLS sessions outlive the connection; it must outlive this. nil: none is resumed.
    /// - Returns: nil when there is no memory, or the url is none of mqtt.
    init?(_ options: MQTTOptions, timeout: Double, share: OpaquePointer?) {
        guard let url = options.transportURL, let multi = MultiHandle(), let easy = curl_easy_init() else {
            return nil
        }
        self.init(multi, easy)
        configure(url, options, timeout: timeout, share: share)
        _ = multi.add(easy)
    }

    private init(_ multi: MultiHandle, _ easy: UnsafeMutableRawPointer) {
        self.multi = multi
        self.easy = easy
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        multi.remove(easy)
        curl_easy_cleanup(easy)
        errorBuffer.deallocate()
        chunk.deallocate()
    }

    /// The rest until there may be something to do.
    ///
    /// - Parameter hasOutput: there are bytes that could not be sent.
    func rest(hasOutput: Bool, now: BootInstant) -> Rest {
        guard descriptor >= 0 else { return hasStarted ? multi.rest(now: now) : .none }
        var rest = Rest()
        rest.add(descriptor, write: hasOutput)
        return rest
    }

    /// Goes on connecting.
    mutating func connect() -> Connecting {
        hasStarted = true
        if multi.advance() { return .underway }
        guard let code = multi.takeResult() else {
            return .failed(TransportFailure(kind: .network, message: "libcurl gave no result"))
        }
        handshake = SessionLifetime.Handshake(easy, code, isAnswered: false)
        guard code == CURLE_OK else { return .failed(failure(code)) }
        _ = ccurl_get_socket(easy, CURLINFO_ACTIVESOCKET, &descriptor)
        return .open(descriptor: descriptor)
    }

    /// Sends what goes out without waiting.
    ///
    /// - Returns: how many of the first bytes have gone out; nil when the connection has broken.
    mutating func send(_ bytes: [UInt8]) -> Int? {
        var total = 0
        while true {
            if chunkRange.isEmpty {
                let next = bytes.dropFirst(total).prefix(Self.pieceLimit)
                if next.isEmpty { return total }
                chunk.copyBytes(from: next)
                chunkRange = 0..<next.count
            }
            var count = 0
            let piece = UnsafeRawBufferPointer(rebasing: chunk[chunkRange])
            switch curl_easy_send(easy, piece.baseAddress, piece.count, &count) {
            case CURLE_OK:
                chunkRange = (chunkRange.lowerBound + count)..<chunkRange.upperBound
                total += count
            case CURLE_AGAIN: return total
            default: return nil
            }
        }
    }

    /// What has arrived, up to 16 KiB. To be asked until there is nothing: TLS holds back what poll(2) does not see.
    func receive() -> Received {
        var result = CURLE_OK
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.pieceLimit) { buffer, count in
            result = curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count)
            if result != CURLE_OK { count = 0 }
        }
        switch result {
        case CURLE_OK where !bytes.isEmpty: return .bytes(bytes)
        case CURLE_OK: return .closed("the broker has closed the connection", isHangUp: true)
        case CURLE_AGAIN: return .nothing
        default:
            let words = detail(result)
            // The peer's TLS has refused us, for want of a client certificate for instance.
            return .closed("the connection is broken: " + words, isHangUp: !words.contains("alert"))
        }
    }

    private func configure(_ url: String, _ options: MQTTOptions, timeout: Double, share: OpaquePointer?) {
        let texts: [(CURLoption, String?)] = [
            (CURLOPT_URL, url), (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_CAINFO, options.caFile),
            (CURLOPT_SSLCERT, options.clientCertificate), (CURLOPT_SSLKEY, options.clientKey),
            // An empty proxy also keeps libcurl from reading the environment.
            (CURLOPT_PROXY, options.proxy ?? ""), (CURLOPT_NOPROXY, ""),
        ]
        for (option, text) in texts {
            if let text { _ = ccurl_set_text(easy, option, text) }
        }
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_CONNECT_ONLY, 1), (CURLOPT_HTTPPROXYTUNNEL, 1), (CURLOPT_NOSIGNAL, 1),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            // It is not HTTP that will be spoken.
            (CURLOPT_SSL_ENABLE_ALPN, 0), (CURLOPT_SSL_SESSIONID_CACHE, share == nil ? 0 : 1),
            (CURLOPT_CONNECTTIMEOUT, Self.connectTimeout),
            (CURLOPT_TIMEOUT_MS, Int(min(max(timeout, 0.001), 86_400) * 1000)),
            (CURLOPT_TCP_KEEPALIVE, 1), (CURLOPT_TCP_KEEPIDLE, 30), (CURLOPT_TCP_KEEPINTVL, 10),
            // A name that is still being looked up must not hold up the end of the process.
            (CURLOPT_QUICK_EXIT, 1),
        ]
        for (option, value) in numbers { _ = ccurl_set_long(easy, option, value) }
        _ = ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer)
        if let share { _ = ccurl_set_pointer(easy, CURLOPT_SHARE, UnsafeMutableRawPointer(share)) }
    }

    private func failure(_ code: CURLcode) -> TransportFailure {
        var verification = 0
        _ = ccurl_get_long(easy, CURLINFO_SSL_VERIFYRESULT, &verification)
        // X509_V_ERR_CERT_NOT_YET_VALID of OpenSSL.
        let isClock = code == CURLE_PEER_FAILED_VERIFICATION && verification == 9
        return TransportFailure(
            kind: isClock ? .clock : .network, message: detail(code),
            isTimeout: code == CURLE_OPERATION_TIMEDOUT, isTLS: code.isTLS)
    }

    private func detail(_ code: CURLcode) -> String {
        let words = String(cString: curl_easy_strerror(code))
        let detail = String(cString: errorBuffer)
        return detail.isEmpty || detail == words ? words : "\(words): \(detail)"
    }
}
