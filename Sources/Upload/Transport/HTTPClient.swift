package import Base
internal import CCurl
internal import DaemonConfiguration
package import Linux

/// Makes one HTTP request at a time, on one connection that is kept between them.
///
/// A request is begun and then advanced until it has ended. Between two steps the caller may do whatever it likes, even
/// cancel the request. Confined to one thread.
package protocol HTTPTransport: AnyObject {
    /// Another number, another connection; 0 before the first.
    var connectionNumber: Int { get }
    /// Times that a kept connection was closed because there was data on it that no request had asked for.
    var unrequested: Int { get }
    /// Where the latest request went: an address in digits, the proxy's if there is one; nil when no connection was made.
    var peer: String? { get }

    /// Prepares a request; nothing is sent before the first `advance`. Cancels the one under way, if there is one.
    ///
    /// - Parameter now: the age of TLS sessions is counted with it; nil: none is resumed, and none is left behind.
    func begin(_ body: [UInt8], _ options: HTTPOptions, resumingAt now: BootInstant?)

    /// Does what can be done at once, and waits for nothing.
    func advance() -> HTTPClient.Progress

    /// The rest until `advance` can do more for the request under way.
    func rest(now: BootInstant) -> Rest

    /// Breaks off the request under way, and closes its connection.
    func cancel()

    /// Closes the kept connection.
    func disconnect()

    /// Other credentials are in use: the next request is made over another connection, with a full handshake. The one under
    /// way goes on.
    func forgetSessions()
}

/// By libcurl: nothing of the caller's runs inside of it.
package final class HTTPClient: HTTPTransport {
    /// How far a request has got.
    package enum Progress: Equatable, Sendable {
        case underway
        case ended(HTTPOutcome)
    }

    /// Holds the kept connection.
    private var multi: MultiHandle?
    private var easy: OpaquePointer?
    private var transfer: Transfer?
    private var sessions = TLSSessions()
    /// What libcurl's handles use; they are gone before it.
    private let connection = HTTPConnection()
    /// Where that leads.
    private var place: (url: String, proxy: String?)?
    package private(set) var unrequested = 0
    package private(set) var peer: String?

    /// - Returns: nil when libcurl cannot work here: no memory, or built without a resolver that can time out.
    package init?() {
        // Idempotent, and called on one thread before any other use.
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK,
            ccurl_resolves_asynchronously() != 0, let multi = MultiHandle()
        else { return nil }
        self.multi = multi
    }

    deinit {
        guard let easy = easy.map({ UnsafeMutableRawPointer($0) }) else { return }
        if let transfer, transfer.isAdded { multi?.remove(easy) }
        curl_easy_cleanup(easy)
    }

    package func begin(
        _ body: [UInt8], _ options: HTTPOptions, resumingAt now: BootInstant? = nil
    ) {
        cancel()
        var options = options
        if let now, let terms = SessionLifetime.Terms(options) {
            if sessions.begin(terms, now: now) { dropSessions() }
        } else {
            options.identity = nil
        }
        transfer = Transfer(body: body, options)
    }

    package var connectionNumber: Int { connection.number }

    /// What is kept is used once more only where there is nothing to be read on it: whatever comes before a request is no
    /// answer to it.
    private func checkConnection(_ options: HTTPOptions) {
        if let place, connection.isOpen, !isSamePlace(place, options) { disconnect() }
        place = (options.url, options.proxy)
        switch connection.unread(isOpaque: options.proxy?.lowercased().hasPrefix("https:") ?? false) {
        case .nothing: break
        case .data:
            unrequested += 1
            disconnect()
        case .end: disconnect()
        }
    }

    /// Scheme, host, port and proxy are the same. Of most requests so is the whole url, which costs less to find out.
    private func isSamePlace(_ place: (url: String, proxy: String?), _ options: HTTPOptions) -> Bool {
        place.proxy == options.proxy
            && (place.url == options.url
                || Settings.origin(of: place.url) == Settings.origin(of: options.url))
    }

    private func start(_ transfer: Transfer) {
        checkConnection(transfer.options)
        self.transfer = transfer
        easy = easy ?? makeHandle()
        multi = multi ?? MultiHandle()
        guard let easy, let multi else {
            transfer.fault = "no memory for libcurl"
            return
        }
        let handle = UnsafeMutableRawPointer(easy)
        configure(handle, transfer.options, transfer)
        connection.watch(handle)
        let (connection, size) = (connection, transfer.body.count)
        transfer.response.begin { connection.answerBegins(handle, size: size) }
        transfer.isAdded = multi.add(handle)
        if !transfer.isAdded { transfer.fault = "libcurl takes no request" }
    }

    package func advance() -> Progress {
        if let transfer, !transfer.hasStarted { start(transfer) }
        guard let transfer, transfer.fault == nil, let multi,
            let easy = easy.map({ UnsafeMutableRawPointer($0) })
        else {
            let fault = transfer?.fault ?? "no request was begun"
            end(keepsConnection: false)
            return .ended(.failure(TransportFailure(kind: .network, message: fault)))
        }
        transfer.hasStarted = true
        if multi.advance() { return .underway }
        let (outcome, handshake) = result(multi, easy, transfer)
        peer = address(easy)
        if transfer.options.identity != nil {
            switch sessions.end(handshake) {
            case .keep: break
            case .forget: dropSessions()
            case .forgetAndRepeat:
                dropSessions()
                transfer.rewind()
                self.transfer = transfer
                return .underway
            }
        }
        // After a fault nothing of the connection is used again.
        if case .answer = outcome { end(keepsConnection: true) } else { end(keepsConnection: false) }
        return .ended(outcome)
    }

    package func rest(now: BootInstant) -> Rest {
        guard let transfer, transfer.hasStarted, let multi else { return .none }
        return multi.rest(now: now)
    }

    package func cancel() {
        if transfer != nil { end(keepsConnection: false) }
    }

    /// A whole request, for who has nothing else to do.
    ///
    /// - Parameters:
    ///   - wakeup: makes `isCancelled` be asked at once.
    ///   - now: as in `begin`.
    ///   - isCancelled: ends the request when true; asked before the first byte is sent, too.
    package func post(
        _ body: [UInt8], _ options: HTTPOptions, wakeup: Wakeup, resumingAt now: BootInstant? = nil,
        isCancelled: () -> Bool
    ) -> HTTPOutcome {
        begin(body, options, resumingAt: now)
        while !isCancelled() {
            if case .ended(let outcome) = advance() { return outcome }
            let now = BootInstant(nanoseconds: Clock.boot())
            var rest = rest(now: now)
            rest.add(wakeup.descriptor)
            rest.wait(now: now)
        }
        cancel()
        return .cancelled
    }

    package func disconnect() {
        end(keepsConnection: false)
        multi = nil
    }

    package func forgetSessions() {
        sessions.expire()
    }

    private func dropSessions() {
        disconnect()
        sessions.drop()
    }

    /// A handle that shares the sessions with those before and after it.
    private func makeHandle() -> OpaquePointer? {
        guard let easy = curl_easy_init() else { return nil }
        if let share = sessions.handle() {
            _ = ccurl_set_pointer(easy, CURLOPT_SHARE, UnsafeMutableRawPointer(share))
        }
        return OpaquePointer(easy)
    }

    private func end(keepsConnection: Bool) {
        if let easy = easy.map({ UnsafeMutableRawPointer($0) }) {
            if let transfer, transfer.isAdded { multi?.remove(easy) }
            if !keepsConnection {
                curl_easy_cleanup(easy)
                self.easy = nil
            }
        }
        transfer = nil
    }

    private func result(
        _ multi: MultiHandle, _ easy: UnsafeMutableRawPointer, _ transfer: Transfer
    ) -> (HTTPOutcome, SessionLifetime.Handshake) {
        guard let code = multi.takeResult() else {
            let failure = TransportFailure(kind: .network, message: "libcurl gave no result")
            return (.failure(failure), .doubtful)
        }
        return (
            outcome(easy, code, transfer),
            SessionLifetime.Handshake(easy, code, isAnswered: transfer.response.hasBegun)
        )
    }

    private func address(_ handle: UnsafeMutableRawPointer) -> String? {
        var text: UnsafePointer<CChar>?
        guard ccurl_get_text(handle, CURLINFO_PRIMARY_IP, &text) == CURLE_OK, let text, text.pointee != 0
        else {
            return nil
        }
        return String(cString: text)
    }

    private func outcome(
        _ handle: UnsafeMutableRawPointer, _ code: CURLcode, _ transfer: Transfer
    ) -> HTTPOutcome {
        let response = transfer.response
        var status = 0
        _ = ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        // libcurl is content with an answer that ends within its headers; nothing may be deleted for one.
        if response.head.isComplete, response.head.fault == nil, response.head.status == status,
            code == CURLE_OK || code == CURLE_WRITE_ERROR && response.isCut
        {
            return .answer(
                Answer(
                    status: status, response.head, response.start, isCut: response.isCut,
                    isEarly: response.isEarly, text: response.body)
            )
        }
        var verification = 0
        _ = ccurl_get_long(handle, CURLINFO_SSL_VERIFYRESULT, &verification)
        // X509_V_ERR_CERT_NOT_YET_VALID of OpenSSL.
        let isClock = code == CURLE_PEER_FAILED_VERIFICATION && verification == 9
        let words =
            switch code {
            case CURLE_WRITE_ERROR where !response.isCut:
                "the answer has more than \(Response.headLimit / 1024) KiB of header lines"
            case CURLE_OK, CURLE_WRITE_ERROR: response.head.fault ?? "the answer ended within its headers"
            default: String(cString: curl_easy_strerror(code))
            }
        let detail = transfer.detail
        var sent = 0
        _ = ccurl_get_long(handle, CURLINFO_REQUEST_SIZE, &sent)
        return .failure(
            TransportFailure(
                kind: isClock ? .clock : .network,
                message: detail.isEmpty || detail == words ? words : "\(words): \(detail)",
                wasSent: sent > 0, isTimeout: code == CURLE_OPERATION_TIMEDOUT, isTLS: code.isTLS))
    }
}

extension CURLcode {
    /// TLS is what has failed.
    var isTLS: Bool {
        [
            CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED,
        ].contains { $0.rawValue == rawValue }
    }
}
