internal import Base
internal import ControlProtocol
internal import Envelope
internal import Upload

/// A request that has ended, for subscribers.
struct RequestRecord: Equatable, Sendable {
    /// nil: a token exchange.
    var batch: UUIDv7?
    /// How many times this batch has been sent since the start.
    var attempt: Int?
    /// HTTP status of the answer, if there was one.
    var status: Int?
    var milliseconds: Int
    /// Bytes of the body.
    var bytes: Int
    /// In the words of the control interface.
    var outcome: String
    /// What was sent, if somebody wants to see it.
    var body: String?
    /// What the server said of its refusal.
    var reason: String?
}

/// The request under way, from its first byte to its end. A value: it knows no clock and tells nobody.
struct RequestWatch {
    private struct Request {
        var batch: UUIDv7
        var attempt: Int
        var bytes: Int
        var body: String?
        var began: BootInstant
    }

    private var request: Request?
    /// The batch that was sent last, and how often.
    private var latest: (batch: UUIDv7, attempts: Int)?

    /// - Parameter body: for subscribers; nil when none wants it.
    /// - Returns: how many times the batch has been sent, this time included.
    mutating func begin(_ batch: UUIDv7, bytes: Int, body: String?, now: BootInstant) -> Int {
        let attempt = latest?.batch == batch ? (latest?.attempts ?? 0) + 1 : 1
        latest = (batch, attempt)
        request = Request(batch: batch, attempt: attempt, bytes: bytes, body: body, began: now)
        return attempt
    }

    /// - Returns: nil when none was under way.
    mutating func end(
        _ outcome: String, status: Int? = nil, reason: String? = nil, now: BootInstant
    ) -> RequestRecord? {
        guard let ended = request.take() else { return nil }
        return RequestRecord(
            batch: ended.batch, attempt: ended.attempt, status: status,
            milliseconds: now.milliseconds(since: ended.began), bytes: ended.bytes, outcome: outcome,
            body: ended.body, reason: reason)
    }
}

extension BootInstant {
    /// Whole milliseconds; 0 at least.
    func milliseconds(since earlier: BootInstant) -> Int {
        Int(max(nanoseconds - earlier.nanoseconds, 0) / 1_000_000)
    }
}

extension Request {
    /// Bytes of a body that are shown at most.
    static let shownBytes = 4096

    /// What it carries, for people: unpacked, cut, and without control characters. A request without a body carries its
    /// query.
    var shown: String {
        if body.isEmpty { return Self.shown(Array(query.utf8)) }
        guard encoding == "gzip" else { return Self.shown(body) }
        return Self.shown(Gunzip.beginning(of: body, limit: Self.shownBytes) ?? [])
    }

    private static func shown(_ bytes: [UInt8]) -> String {
        let text = Log.escaped(String(decoding: bytes.prefix(shownBytes), as: UTF8.self))
        // Escapes, and what is no UTF-8, may have made it longer; a character is not cut in two.
        var size = 0
        return String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix {
                    size += UTF8.width($0)
                    return size <= shownBytes
                }))
    }
}

extension Verdict {
    /// In the words of the control interface.
    var word: String {
        switch self {
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .unauthorised: "unauthorised"
        case .transient: "transient"
        case .permanent: "permanent"
        }
    }
}

extension Wire.Event {
    init(_ record: RequestRecord, of destination: DestinationName) {
        self.init(
            kind: "http",
            http: Wire.HttpRequest(
                batch: record.batch?.description, attempt: record.attempt, status: record.status,
                milliseconds: record.milliseconds, bytes: record.bytes, outcome: record.outcome,
                body: record.body, reason: record.reason),
            destination: destination.text)
    }
}
