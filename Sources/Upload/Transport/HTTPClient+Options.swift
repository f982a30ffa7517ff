internal import CCurl
internal import DaemonConfiguration

extension HTTPClient {
    /// Seconds for name, connection and handshake.
    private static let connectTimeout = 15
    /// A transfer slower than this many bytes per second …
    private static let lowSpeed = 10
    /// … for this many seconds is given up: a half-open mobile link looks like that.
    private static let lowSpeedTime = 45

    /// Sets every option anew: nothing of an earlier request may linger.
    func configure(_ handle: UnsafeMutableRawPointer, _ options: HTTPOptions, _ transfer: Transfer) {
        curl_easy_reset(handle)
        let isTLS = options.url.lowercased().hasPrefix("https:")
        let texts: [(CURLoption, String?)] = [
            (CURLOPT_URL, options.url), (CURLOPT_PROTOCOLS_STR, isTLS ? "https" : "http"),
            (CURLOPT_USERAGENT, options.userAgent), (CURLOPT_CAINFO, options.caFile),
            (CURLOPT_SSLCERT, options.clientCertificate), (CURLOPT_SSLKEY, options.clientKey),
            // An empty proxy also keeps libcurl from reading the environment.
            (CURLOPT_PROXY, options.proxy ?? ""), (CURLOPT_NOPROXY, ""),
        ]
        for (option, text) in texts {
            if let text { _ = ccurl_set_text(handle, option, text) }
        }
        // Of the methods that send a body libcurl knows this one by itself; the others have its request with their name.
        _ = ccurl_set_long(handle, CURLOPT_POST, 1)
        switch options.method {
        case .post: break
        case .put, .patch: _ = ccurl_set_text(handle, CURLOPT_CUSTOMREQUEST, options.method.rawValue)
        case .get: _ = ccurl_set_long(handle, CURLOPT_HTTPGET, 1)
        }
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_PATH_AS_IS, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NOSIGNAL, 1),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            (CURLOPT_CONNECTTIMEOUT, Self.connectTimeout),
            (CURLOPT_TIMEOUT_MS, milliseconds(options.timeout)),
            (CURLOPT_LOW_SPEED_LIMIT, Self.lowSpeed), (CURLOPT_LOW_SPEED_TIME, Self.lowSpeedTime),
            (CURLOPT_TCP_KEEPALIVE, 1), (CURLOPT_TCP_KEEPIDLE, 30), (CURLOPT_TCP_KEEPINTVL, 10),
            (CURLOPT_MAXAGE_CONN, 60),
            // Sessions are resumed from what all requests of this client share, if at all.
            (CURLOPT_SSL_SESSIONID_CACHE, options.identity == nil ? 0 : 1),
            // Only the server's own headers are looked at.
            (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            // A name that is still being looked up must not hold up the end of the process.
            (CURLOPT_QUICK_EXIT, 1),
        ]
        for (option, value) in numbers { _ = ccurl_set_long(handle, option, value) }
        // A body would make a POST of it.
        if options.method != .get {
            _ = ccurl_set_body(handle, transfer.body.baseAddress, curl_off_t(transfer.body.count))
        }
        _ = ccurl_set_headers(handle, transfer.headers)
        _ = ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, transfer.errorBuffer)
        let context = Unmanaged.passUnretained(transfer.response).toOpaque()
        _ = ccurl_set_write(handle, CURLOPT_WRITEFUNCTION, receiveBody, CURLOPT_WRITEDATA, context)
        _ = ccurl_set_write(handle, CURLOPT_HEADERFUNCTION, receiveHeader, CURLOPT_HEADERDATA, context)
    }

    private func milliseconds(_ seconds: Double) -> Int {
        Int(min(max(seconds, 0.001), 86_400) * 1000)
    }
}
