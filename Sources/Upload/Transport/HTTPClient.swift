internal import CCurl
package import Linux

/// How requests are made.
package struct HTTPOptions: Equatable, Sendable {
    /// Used verbatim.
    package var url: String
    /// Complete lines, `Name: value`.
    package var headers: [String]
    /// Names the program and its version.
    package var userAgent: String
    /// Seconds for the whole request.
    package var timeout: Double
    /// PEM, instead of the system's authorities; nil for those.
    package var caFile: String?
    /// PEM, for mutual TLS; nil for none.
    package var clientCertificate: String?
    /// PEM, the key of the client certificate.
    package var clientKey: String?
    /// nil for none: the environment is never asked.
    package var proxy: String?

    /// Without files and proxy: the system's authorities, a direct connection.
    package init(
        url: String, headers: [String], userAgent: String, timeout: Double, caFile: String? = nil,
        clientCertificate: String? = nil, clientKey: String? = nil, proxy: String? = nil
    ) {
        self.url = url
        self.headers = headers
        self.userAgent = userAgent
        self.timeout = timeout
        self.caFile = caFile
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.proxy = proxy
    }
}

/// Makes one POST at a time, on one connection that is kept between them, and can be told to stop at any moment.
package struct HTTPClient: ~Copyable {
    /// Holds the connection that is kept.
    private var multi: OpaquePointer?
    private var easy: OpaquePointer?

    /// - Returns: nil when libcurl cannot work here: no memory, or built without a resolver that can time out.
    package init?() {
        // Idempotent, and called on one thread before any other use.
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK,
            ccurl_resolves_asynchronously() != 0, let multi = curl_multi_init()
        else { return nil }
        self.multi = OpaquePointer(multi)
    }

    deinit {
        if let easy { curl_easy_cleanup(UnsafeMutableRawPointer(easy)) }
        if let multi { curl_multi_cleanup(UnsafeMutableRawPointer(multi)) }
    }

    /// Sends `body` and waits for the answer.
    ///
    /// - Parameters:
    /// - acknowledging: the `batch_id` that the body of a 2xx must contain to be believed; nil: none is demanded.
    ///   - wakeup: makes `isCancelled` be asked at once.
    ///   - isCancelled: ends the request when true.
    package mutating func post(
        _ body: [UInt8], _ options: HTTPOptions, acknowledging id: String? = nil, wakeup: Wakeup,
        isCancelled: () -> Bool
    ) -> HTTPOutcome {
        let response = Response(keepsBody: id != nil)
        let outcome = post(body, options, response, wakeup, isCancelled)
        guard case .response(let status, let retryAfter, _) = outcome, (200...299).contains(status) else {
            return outcome
        }
        let doubt = Belief(acknowledging: id).doubt(
            response.head, response.start, isCut: response.isCut, text: response.isCut ? [] : response.body)
        return .response(status: status, retryAfter: retryAfter, doubt: doubt)
    }

    /// The same, with the body of the answer; nothing of one that has more than 64 KiB can be used.
    package mutating func exchange(
        _ body: [UInt8], _ options: HTTPOptions, wakeup: Wakeup, isCancelled: () -> Bool
    ) -> (outcome: HTTPOutcome, body: [UInt8]) {
        let response = Response(keepsBody: true)
        let outcome = post(body, options, response, wakeup, isCancelled)
        return (outcome, response.isCut ? [] : response.body)
    }

    private mutating func post(
        _ body: [UInt8], _ options: HTTPOptions, _ response: Response, _ wakeup: Wakeup,
        _ isCancelled: () -> Bool
    ) -> HTTPOutcome {
        guard let handle = easy.map({ UnsafeMutableRawPointer($0) }) ?? curl_easy_init(),
            let pool = multi.map({ UnsafeMutableRawPointer($0) }) ?? curl_multi_init()
        else {
            return .failure(TransportFailure(kind: .network, message: "no memory for libcurl"))
        }
        easy = OpaquePointer(handle)
        multi = OpaquePointer(pool)
        let outcome = withExtendedLifetime(response) {
            body.withUnsafeBytes { bytes -> HTTPOutcome in
                let lists = configure(handle, options, bytes, response)
                defer { curl_slist_free_all(lists) }
                return transfer(pool, handle, response, wakeup: wakeup, isCancelled: isCancelled)
            }
        }
        if case .response = outcome { return outcome }
        // After a fault nothing of the connection is used again.
        curl_easy_cleanup(handle)
        easy = nil
        return outcome
    }

    /// Closes the connection that is kept.
    package mutating func disconnect() {
        if let easy { curl_easy_cleanup(UnsafeMutableRawPointer(easy)) }
        if let multi { curl_multi_cleanup(UnsafeMutableRawPointer(multi)) }
        easy = nil
        multi = nil
    }

    private func transfer(
        _ multi: UnsafeMutableRawPointer, _ handle: UnsafeMutableRawPointer, _ response: Response,
        wakeup: Wakeup,
        isCancelled: () -> Bool
    ) -> HTTPOutcome {
        guard curl_multi_add_handle(multi, handle) == CURLM_OK else {
            return .failure(TransportFailure(kind: .network, message: "libcurl takes no request"))
        }
        defer { curl_multi_remove_handle(multi, handle) }
        // What came before the first byte must keep it from going out.
        if isCancelled() { return .cancelled }
        var running: Int32 = 1
        while running > 0 {
            guard curl_multi_perform(multi, &running) == CURLM_OK else { break }
            if running == 0 { break }
            if isCancelled() { return .cancelled }
            var extra = curl_waitfd(fd: wakeup.descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
            // Bounded, because a wake-up may be taken by another reader between the question and the poll.
            curl_multi_poll(multi, &extra, 1, 1000, nil)
        }
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            if message.pointee.msg == CURLMSG_DONE {
                return result(handle, ccurl_message_result(message), response)
            }
        }
        return .failure(TransportFailure(kind: .network, message: "libcurl gave no result"))
    }

    private func result(
        _ handle: UnsafeMutableRawPointer, _ code: CURLcode, _ response: Response
    ) -> HTTPOutcome {
        var status = 0
        _ = ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
        // libcurl is content with an answer that ends within its headers; nothing may be deleted for one.
        if response.head.isComplete, code == CURLE_OK || code == CURLE_WRITE_ERROR && response.isCut {
            return .response(status: status, retryAfter: response.head.retryAfter)
        }
        var verification = 0
        _ = ccurl_get_long(handle, CURLINFO_SSL_VERIFYRESULT, &verification)
        // X509_V_ERR_CERT_NOT_YET_VALID of OpenSSL.
        let isClock = code == CURLE_PEER_FAILED_VERIFICATION && verification == 9
        let words =
            switch code {
            case CURLE_OK: "the answer ended within its headers"
            default: String(cString: curl_easy_strerror(code))
            }
        let detail = response.detail
        var sent = 0
        _ = ccurl_get_long(handle, CURLINFO_REQUEST_SIZE, &sent)
        return .failure(
            TransportFailure(
                kind: isClock ? .clock : .network,
                message: detail.isEmpty || detail == words ? words : "\(words): \(detail)",
                wasSent: sent > 0, isTimeout: code == CURLE_OPERATION_TIMEDOUT))
    }
}
