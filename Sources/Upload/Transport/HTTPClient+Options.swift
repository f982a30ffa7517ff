internal import CCurl

/// What an answer leaves behind. libcurl's callbacks write into it while the request runs, on the same thread.
final class Response {
    /// Bytes of the body that are read; the rest does not matter.
    static let bodyLimit = 65_536

    fileprivate(set) var head = AnswerHead()
    /// What its first bytes say.
    fileprivate(set) var start = AnswerBody()
    /// The body passed the limit.
    fileprivate(set) var isCut = false
    /// What was read of the body, when it matters.
    fileprivate(set) var body: [UInt8] = []
    private let keepsBody: Bool
    fileprivate var bodyCount = 0
    fileprivate let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    init(keepsBody: Bool) {
        self.keepsBody = keepsBody
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        errorBuffer.deallocate()
    }

    fileprivate func take(_ bytes: UnsafeRawBufferPointer) {
        bodyCount += bytes.count
        start.take(bytes)
        if keepsBody, bodyCount <= Self.bodyLimit { body.append(contentsOf: bytes) }
    }

    /// libcurl's more exact words on what went wrong.
    var detail: String { String(cString: errorBuffer) }
}

extension HTTPClient {
    /// Seconds for name, connection and handshake.
    private static let connectTimeout = 15
    /// A transfer slower than this many bytes per second …
    private static let lowSpeed = 10
    /// … for this many seconds is given up: a half-open mobile link looks like that.
    private static let lowSpeedTime = 45

    /// Sets every option anew: nothing of an earlier request may linger.
    ///
    /// - Returns: the list of headers, to be freed after the transfer.
    func configure(
        _ handle: UnsafeMutableRawPointer, _ options: HTTPOptions, _ body: UnsafeRawBufferPointer,
        _ response: Response
    ) -> UnsafeMutablePointer<curl_slist>? {
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
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_POST, 1), (CURLOPT_PATH_AS_IS, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_NOSIGNAL, 1),
            (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            (CURLOPT_CONNECTTIMEOUT, Self.connectTimeout),
            (CURLOPT_TIMEOUT_MS, milliseconds(options.timeout)),
            (CURLOPT_LOW_SPEED_LIMIT, Self.lowSpeed), (CURLOPT_LOW_SPEED_TIME, Self.lowSpeedTime),
            (CURLOPT_TCP_KEEPALIVE, 1), (CURLOPT_TCP_KEEPIDLE, 30), (CURLOPT_TCP_KEEPINTVL, 10),
            (CURLOPT_MAXAGE_CONN, 60),
            // A name that is still being looked up must not hold up the end of the process.
            (CURLOPT_QUICK_EXIT, 1),
        ]
        for (option, value) in numbers { _ = ccurl_set_long(handle, option, value) }
        _ = ccurl_set_body(handle, body.baseAddress, curl_off_t(body.count))
        _ = ccurl_set_pointer(handle, CURLOPT_ERRORBUFFER, response.errorBuffer)
        let context = Unmanaged.passUnretained(response).toOpaque()
        _ = ccurl_set_write(handle, CURLOPT_WRITEFUNCTION, takeBody, CURLOPT_WRITEDATA, context)
        _ = ccurl_set_write(handle, CURLOPT_HEADERFUNCTION, takeHeader, CURLOPT_HEADERDATA, context)
        var list: UnsafeMutablePointer<curl_slist>?
        // "Expect:" without a value: a round trip before the body gains nothing for bodies this small.
        for line in options.headers + ["Expect:"] { list = curl_slist_append(list, line) }
        _ = ccurl_set_headers(handle, list)
        return list
    }

    private func milliseconds(_ seconds: Double) -> Int {
        Int(min(max(seconds, 0.001), 86_400) * 1000)
    }
}

/// Counts the body and stops the transfer when it passes the limit.
private let takeBody: ccurl_write = { start, size, count, context in
    guard let context else { return 0 }
    let response = Unmanaged<Response>.fromOpaque(context).takeUnretainedValue()
    let bytes = size * count
    response.take(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : bytes))
    guard response.bodyCount <= Response.bodyLimit else {
        response.isCut = true
        return 0
    }
    return bytes
}

/// Keeps the one header that matters, and notes the end of them all.
private let takeHeader: ccurl_write = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    let response = Unmanaged<Response>.fromOpaque(context).takeUnretainedValue()
    response.head.take(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
}
