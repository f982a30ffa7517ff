internal import CCurl

/// What libcurl reads and writes while one request runs: its memory must stay where it is until then.
final class Transfer {
    /// A copy of the body.
    let body: UnsafeRawBufferPointer
    /// The list of header lines; nil when there was no memory for it.
    let headers: UnsafeMutablePointer<curl_slist>?
    let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private(set) var response: Response
    let options: HTTPOptions
    /// Why the request cannot even begin.
    var fault: String?
    /// libcurl has it.
    var isAdded = false
    /// libcurl has been given control once.
    var hasStarted = false

    init(body: [UInt8], _ options: HTTPOptions) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: body.count, alignment: 1)
        copy.copyBytes(from: body)
        self.body = UnsafeRawBufferPointer(copy)
        var list: UnsafeMutablePointer<curl_slist>?
        // A name without a value keeps libcurl from adding that header: "Accept: */*" says nothing, and a round trip before
        // the body ("Expect") gains nothing for bodies this small. A configured Accept stays.
        for line in options.headers + ["Accept:", "Expect:"] { list = curl_slist_append(list, line) }
        headers = list
        self.options = options
        response = Response()
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        body.deallocate()
        curl_slist_free_all(headers)
        errorBuffer.deallocate()
    }

    /// Prepares the request for being made once more, by another handle of libcurl.
    func rewind() {
        (hasStarted, isAdded) = (false, false)
        response = Response()
        errorBuffer.update(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    /// libcurl's more detailed words on what went wrong.
    var detail: String { String(cString: errorBuffer) }
}

/// What has arrived of an answer. libcurl's callbacks write into it, on the thread that advances the request.
final class Response {
    /// Bytes of the body that are read; the rest does not matter.
    static let bodyLimit = 65_536
    /// Bytes of header lines, trailers included, of which libcurl keeps each and bounds only those before the body.
    static let headLimit = 300 * 1024

    fileprivate(set) var head = AnswerHead()
    /// What the first bytes of the body say.
    fileprivate(set) var start = AnswerBody()
    /// The body exceeds the limit.
    fileprivate(set) var isCut = false
    /// The answer began before the peer had all of the request.
    fileprivate(set) var isEarly = false
    /// The body so far.
    fileprivate(set) var body: [UInt8] = []
    /// Asked at the status line: whether the peer has all of the request.
    fileprivate var hasArrived: () -> Bool = { true }
    fileprivate var bodyCount = 0
    fileprivate var headCount = 0

    /// Something of it has arrived.
    var hasBegun: Bool { headCount > 0 }

    /// - Parameter hasArrived: the peer has all of the request; asked when an answer begins.
    func begin(hasArrived: @escaping () -> Bool) {
        self.hasArrived = hasArrived
    }

    fileprivate func append(_ bytes: UnsafeRawBufferPointer) {
        bodyCount += bytes.count
        start.append(bytes)
        if bodyCount <= Self.bodyLimit { body.append(contentsOf: bytes) }
    }
}

/// Stops the transfer when the body exceeds the limit.
let receiveBody: ccurl_write = { start, size, count, context in
    guard let context else { return 0 }
    let response = Unmanaged<Response>.fromOpaque(context).takeUnretainedValue()
    let bytes = size * count
    response.append(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : bytes))
    guard response.bodyCount <= Response.bodyLimit else {
        response.isCut = true
        return 0
    }
    return bytes
}

/// Called once for each header line; fails the transfer when there are too many.
let receiveHeader: ccurl_write = { bytes, size, count, context in
    guard let bytes, let context else { return 0 }
    let response = Unmanaged<Response>.fromOpaque(context).takeUnretainedValue()
    response.headCount += size * count
    guard response.headCount <= Response.headLimit else { return 0 }
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    // The status line of the final answer is the last: others (100, 103) only announce it.
    if response.head.read(line) { response.isEarly = !response.hasArrived() }
    return size * count
}
