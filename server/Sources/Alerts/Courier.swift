internal import CServerCurl
internal import Glibc
internal import ServerStore
internal import Synchronization

/// What is to be sent, and where.
package enum Parcel: Sendable {
    /// A request of HTTP; `headers` are whole lines, and `caFile` has the authorities that are believed in place of the system's.
    case post(url: String, headers: [String], body: [UInt8], caFile: String? = nil)
    /// A mail, to one of its recipients.
    case mail(String, to: MailAddress, by: MailServer)
}

/// What came of an attempt to send something.
package struct Attempt: Equatable, Sendable {
    package enum Outcome: Equatable, Sendable {
        case accepted
        /// Why not, for people.
        case failed(String)
        /// The server ends: what came of it is not known.
        case interrupted
    }

    package var outcome: Outcome
    /// Whether some of the message may have reached the other side.
    package var isHanded: Bool
    /// Status of HTTP; nil: there was no answer.
    package var status: Int?

    package init(_ outcome: Outcome, isHanded: Bool, status: Int? = nil) {
        self.outcome = outcome
        self.isHanded = isHanded
        self.status = status
    }
}

/// Sends by libcurl, many at once and none in another's way, on a thread of its own. Thread and libcurl begin with the first
/// parcel: a server without rules that send has neither.
package final class Courier: Sendable {
    fileprivate struct Job {
        let parcel: Parcel
        let reply: @Sendable (Attempt) -> Void
    }

    private struct State {
        var waiting: [Job] = []
        /// When what is under way is broken off; nil: it may go on.
        var end: ContinuousClock.Instant?
        /// nil: nothing was sent yet, or libcurl's handle is gone, or about to go.
        var handle: Handle?
        var thread: WorkerThread?
    }

    /// libcurl's handle. Other threads than its own call `curl_multi_wakeup` alone, which any may.
    private struct Handle: @unchecked Sendable {
        // Made before the thread, and freed after it.
        let multi: UnsafeMutableRawPointer
    }

    private let state = Mutex(State())
    private let userAgent: String

    package init(userAgent: String) {
        self.userAgent = userAgent
    }

    /// Sends it, once.
    package func send(_ parcel: Parcel) async -> Attempt {
        await withCheckedContinuation { continuation in
            let job = Job(parcel: parcel) { continuation.resume(returning: $0) }
            let refusal: Attempt.Outcome? = state.withLock { state in
                guard state.end == nil else { return .interrupted }
                guard begin(&state), let handle = state.handle else {
                    return .failed("libcurl cannot work here")
                }
                state.waiting.append(job)
                // With the lock held, as the handle goes once `end` is set.
                curl_multi_wakeup(handle.multi)
                return nil
            }
            if let refusal { job.reply(Attempt(refusal, isHanded: false)) }
        }
    }

    /// - Returns: whether there are a thread and a handle.
    private func begin(_ state: inout State) -> Bool {
        guard state.handle == nil else { return true }
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, let multi = curl_multi_init() else {
            return false
        }
        // OpenSSL writes to sockets that the other side has closed.
        signal(SIGPIPE, SIG_IGN)
        _ = cservercurl_set_connections(multi, Transfer.mostKept)
        let handle = Handle(multi: multi)
        state.handle = handle
        state.thread = WorkerThread { [self] in run(handle.multi) }
        return true
    }

    /// Takes nothing more. What is under way may go on for so long.
    package func end(within time: Duration) {
        state.withLock { state in
            let end = ContinuousClock.now + time
            state.end = min(state.end ?? end, end)
            if let handle = state.handle { curl_multi_wakeup(handle.multi) }
        }
    }

    /// Ends the thread; afterwards nothing is sent.
    package func close() {
        end(within: .zero)
        let worker = state.withLock { state in
            defer { state.thread = nil }
            return state.thread
        }
        guard let worker else { return }
        worker.join()
        let handle = state.withLock { state in
            defer { state.handle = nil }
            return state.handle
        }
        if let handle { curl_multi_cleanup(handle.multi) }
    }

    // MARK: On its thread

    private func run(_ multi: UnsafeMutableRawPointer) {
        var running: [UnsafeMutableRawPointer: Transfer] = [:]
        while true {
            let (new, end) = state.withLock { state in
                defer { state.waiting = [] }
                return (state.waiting, state.end)
            }
            for job in new {
                guard let transfer = Transfer(job, userAgent: userAgent) else {
                    job.reply(Attempt(.failed("no memory for libcurl"), isHanded: false))
                    continue
                }
                running[transfer.easy] = transfer
                curl_multi_add_handle(multi, transfer.easy)
            }
            advance(&running, multi)
            if let end, running.isEmpty || end <= .now { break }
            // Others end it with `curl_multi_wakeup`.
            curl_multi_poll(multi, nil, 0, end == nil ? 60_000 : 50, nil)
        }
        for transfer in running.values {
            curl_multi_remove_handle(multi, transfer.easy)
            transfer.interrupt()
        }
    }

    private func advance(
        _ running: inout [UnsafeMutableRawPointer: Transfer], _ multi: UnsafeMutableRawPointer
    ) {
        var count: Int32 = 0
        curl_multi_perform(multi, &count)
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = running.removeValue(forKey: easy)
            else { continue }
            let result = cservercurl_result(message)
            curl_multi_remove_handle(multi, easy)
            transfer.finish(result)
        }
    }
}

/// One parcel on its way: what libcurl reads and writes meanwhile must stay where it is.
private final class Transfer {
    /// Connections that are kept for what comes next.
    static let mostKept = 32
    /// Bytes of an answer that are read.
    private static let longestAnswer = 4096
    /// Bytes of what the other side says that are told.
    private static let longestReason = 200
    /// Milliseconds for name, connection and handshake, and for all together.
    private static let webTimes = (connect: 5000, whole: 15_000)
    private static let mailTimes = (connect: 15_000, whole: 30_000)

    let easy: UnsafeMutableRawPointer
    private let job: Courier.Job
    private let bytes: UnsafeMutableRawBufferPointer
    private let errors = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var list: UnsafeMutablePointer<curl_slist>?
    /// Bytes of the mail that libcurl has taken.
    fileprivate var taken = 0
    fileprivate var isHanded = false
    /// Bytes of the answer.
    fileprivate var answered = 0
    /// The last line with which a mail server has refused something.
    private var refusal = ""
    /// With these, libcurl tells that something was refused.
    private static let refusals = [CURLE_SEND_ERROR, CURLE_WEIRD_SERVER_REPLY, CURLE_LOGIN_DENIED]

    /// - Returns: nil when there is no memory.
    init?(_ job: Courier.Job, userAgent: String) {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = UnsafeMutableRawPointer(easy)
        self.job = job
        switch job.parcel {
        case .post(_, _, let body, _): bytes = Self.copy(body)
        case .mail(let message, _, _): bytes = Self.copy(Array(message.utf8))
        }
        errors.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        switch job.parcel {
        case .post(let url, let headers, _, let caFile): preparePost(url, headers, caFile, userAgent)
        case .mail(_, let recipient, let server): prepareMail(recipient, server)
        }
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(list)
        bytes.deallocate()
        errors.deallocate()
    }

    private static func copy(_ source: [UInt8]) -> UnsafeMutableRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: source.count, alignment: 1)
        copy.copyBytes(from: source)
        return copy
    }

    private func preparePost(
        _ url: String, _ headers: [String], _ caFile: String?, _ userAgent: String
    ) {
        set([
            (CURLOPT_URL, url), (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_USERAGENT, userAgent),
            (CURLOPT_CAINFO, caFile),
        ])
        set([
            (CURLOPT_POST, 1), (CURLOPT_FOLLOWLOCATION, 0),
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)), (CURLOPT_MAXAGE_CONN, 60),
        ])
        setCommon(Self.webTimes)
        // A name without a value keeps libcurl from adding that header.
        for line in headers + ["Content-Type: application/json", "Accept:", "Expect:"] {
            list = curl_slist_append(list, line)
        }
        _ = cservercurl_set_list(easy, CURLOPT_HTTPHEADER, list)
        _ = cservercurl_set_body(easy, bytes.baseAddress, curl_off_t(bytes.count))
        isHanded = true
    }

    private func prepareMail(_ recipient: MailAddress, _ server: MailServer) {
        set([
            (CURLOPT_URL, server.url), (CURLOPT_PROTOCOLS_STR, "smtp,smtps"),
            (CURLOPT_MAIL_FROM, "<\(server.from.text)>"), (CURLOPT_USERNAME, server.user),
            (CURLOPT_PASSWORD, server.password), (CURLOPT_CAINFO, server.caFile),
        ])
        set([
            (CURLOPT_USE_SSL, server.isEncrypted ? cservercurl_all_tls : cservercurl_no_tls),
            (CURLOPT_UPLOAD, 1),
            // What a refusal leaves behind on a connection is nobody's next mail.
            (CURLOPT_FORBID_REUSE, 1), (CURLOPT_FRESH_CONNECT, 1),
        ])
        setCommon(Self.mailTimes)
        list = curl_slist_append(nil, "<\(recipient.text)>")
        _ = cservercurl_set_list(easy, CURLOPT_MAIL_RCPT, list)
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = cservercurl_set_callback(
            easy, CURLOPT_READFUNCTION, readMessage, CURLOPT_READDATA, context)
    }

    private func setCommon(_ times: (connect: Int, whole: Int)) {
        // An empty proxy keeps libcurl from reading the environment.
        set([(CURLOPT_PROXY, ""), (CURLOPT_NOPROXY, "")])
        set([
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_SSL_VERIFYPEER, 1), (CURLOPT_SSL_VERIFYHOST, 2),
            (CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)), (CURLOPT_CONNECTTIMEOUT_MS, times.connect),
            (CURLOPT_TIMEOUT_MS, times.whole),
            // A name that is still being looked up must not hold up the end of the process.
            (CURLOPT_QUICK_EXIT, 1),
        ])
        _ = cservercurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errors)
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = cservercurl_set_callback(easy, CURLOPT_WRITEFUNCTION, takeAnswer, CURLOPT_WRITEDATA, context)
        _ = cservercurl_set_callback(easy, CURLOPT_HEADERFUNCTION, takeLine, CURLOPT_HEADERDATA, context)
    }

    private func set(_ texts: [(CURLoption, String?)]) {
        for (option, text) in texts {
            if let text { _ = cservercurl_set_text(easy, option, text) }
        }
    }

    private func set(_ numbers: [(CURLoption, Int)]) {
        for (option, number) in numbers { _ = cservercurl_set_long(easy, option, number) }
    }

    // MARK: While it runs

    fileprivate func read(into room: UnsafeMutableRawBufferPointer) -> Int {
        isHanded = true
        let count = min(room.count, bytes.count - taken)
        room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + count]))
        taken += count
        return count
    }

    /// - Returns: whether more of it is read.
    fileprivate func take(_ count: Int) -> Bool {
        answered += count
        return answered <= Self.longestAnswer
    }

    fileprivate func note(_ line: UnsafeRawBufferPointer) {
        guard case .mail = job.parcel, line.first == UInt8(ascii: "4") || line.first == UInt8(ascii: "5")
        else { return }
        let bytes = line.prefix(Self.longestReason).map { (32...126).contains($0) ? $0 : 32 }
        refusal = String(decoding: bytes, as: UTF8.self).split(separator: " ").joined(separator: " ")
    }

    // MARK: Its end

    func interrupt() {
        job.reply(Attempt(.interrupted, isHanded: isHanded))
    }

    func finish(_ result: CURLcode) {
        let isAccepted: Bool
        var status = 0
        _ = cservercurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
        switch job.parcel {
        // Whatever comes behind the status, and whether it comes at all: it was accepted.
        case .post: isAccepted = (200..<300).contains(status)
        case .mail: isAccepted = result == CURLE_OK
        }
        job.reply(
            Attempt(
                isAccepted ? .accepted : .failed(reason(result, status)), isHanded: isHanded,
                status: status > 0 ? status : nil))
    }

    private func reason(_ result: CURLcode, _ status: Int) -> String {
        if case .post = job.parcel, status >= 200 {
            return (300..<400).contains(status)
                ? "answered \(status): redirects are not followed" : "answered \(status)"
        }
        // What a mail server says itself is more than libcurl makes of it.
        if !refusal.isEmpty, Self.refusals.contains(result) { return refusal }
        let text = String(cString: errors)
        return text.isEmpty ? String(cString: curl_easy_strerror(result)) : text
    }
}

/// For libcurl: more of the mail.
private let readMessage: cservercurl_transfer = { start, size, count, context in
    guard let start, let context else { return 0 }
    return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().read(
        into: UnsafeMutableRawBufferPointer(start: start, count: size * count))
}

/// For libcurl: some of the answer, which ends the transfer where it is too long.
private let takeAnswer: cservercurl_transfer = { _, size, count, context in
    guard let context else { return 0 }
    return Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().take(size * count) ? size * count : 0
}

/// For libcurl: a line of a head, or what a mail server says.
private let takeLine: cservercurl_transfer = { start, size, count, context in
    guard let start, let context else { return 0 }
    Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue().note(
        UnsafeRawBufferPointer(start: start, count: size * count))
    return size * count
}
