import Base
import FoundationEssentials
import Linux
import Support

@testable import DaemonConfiguration
@testable import Upload

/// A backend and all that lies before it: what it has been sent, and what it says to that.
final class SimulatedServer {
    /// What becomes of requests for a while.
    enum Mood: CaseIterable {
        /// All is taken.
        case good
        /// Requests, answers and time are lost.
        case flaky
        /// Nothing gets through.
        case away
        /// Whatever else a server may say.
        case refusing
    }

    /// What becomes of one request.
    enum Fate: String, CaseIterable {
        case taken, takenLate, takenAndLost, lost, unreachable, timeout, takenAndTimeout, page, unavailable,
            tooMany, internalError, notFound, unauthorised, tooLarge
        case badRequest, unprocessable, paymentRequired, forbidden, requestTimeout, redirect, phpError,
            takenWithPHPError
        /// An acceptance, or a refusal, of the batch before, on the same connection.
        case stray, strayRefusal
        /// An acceptance before the request has arrived.
        case early
        /// An acceptance without the batch's id, or one that is cut off, where it is demanded.
        case unnamed, cut
    }

    /// Seconds.
    static let longestAnswer = 60.0

    var mood = Mood.good
    /// Asked before each request: whether it goes out, and whether its answer is heard.
    var post: () -> (goes: Bool, isHeard: Bool) = { (true, true) }
    /// Told of each request, in words.
    var trace: (String) -> Void = { _ in }
    /// Told of each request with rows: its body, its head, and its body unpacked.
    var sent: ([UInt8], HTTPOptions, [UInt8]) -> Void = { _, _, _ in }
    /// How often each has happened.
    private(set) var fates: [Fate: Int] = [:]
    /// By the id of the batch: its body, unpacked.
    private(set) var batches: [String: [UInt8]] = [:]
    /// By the id of the row: the batches in which it was taken.
    private(set) var rows: [String: Set<String>] = [:]
    private(set) var requests = 0
    let name: DestinationName
    let format: Format
    /// Makes its tokens; nil: it takes requests without.
    var endpoint: SimulatedTokenEndpoint?
    /// The server names the batch in its answers, which is demanded of it (`require_ack`).
    let namesBatch: Bool
    /// What is to become of rows that it refuses; of no effect where it is a server for others.
    let onReject: Settings.OnReject
    private let seed: UInt64
    /// For the request under way.
    private var random: SeededGenerator
    /// Connections in a row that were closed without an answer.
    private var closes = 0
    private let laws: DeliveryLaws

    init(_ name: DestinationName, _ format: Format, seed: UInt64, _ laws: DeliveryLaws) {
        (self.name, self.format) = (name, format)
        var random = SeededGenerator(seed, 0)
        namesBatch = (format == .beekon || format == .template) && random.chance(0.4)
        onReject = Settings.OnReject.allCases.randomElement(using: &random) ?? .drop
        (self.seed, self.random, self.laws) = (seed, random, laws)
    }

    var url: String {
        endpoint.map { "https://\($0.host)/\(name.text)" } ?? "https://\(name.text).example/"
    }

    /// The first byte of a request has been sent, to it or to its token endpoint.
    ///
    /// - Parameter earlier: the batch before on the same connection; nil: none. Changed to that of this request.
    func answer(to body: [UInt8], _ options: HTTPOptions, after earlier: inout String?) -> SimulatedAnswer {
        if let endpoint, options.url == endpoint.url { return endpoint.answer(to: body, options) }
        requests += 1
        random = SeededGenerator(seed, requests)
        guard let sent = SentBatch(body, options, format) else {
            laws.broken("a request is none of \(format)")
            return SimulatedAnswer(.answered(500), after: 0)
        }
        self.sent(body, options, sent.text)
        // What comes again names itself.
        if earlier == sent.id { earlier = nil }
        let drawn = draw(after: earlier)
        let fate = isAdmitted(options) ? drawn : drawn.withoutToken
        if fate == .unauthorised || fate == .forbidden { endpoint?.laws.refused() }
        fates[fate, default: 0] += 1
        trace("request \(requests) to \(name.text) of \(body.count) bytes: \(fate)")
        take(sent, fate)
        let isStray = fate == .stray || fate == .strayRefusal
        let named = isStray ? earlier : namesBatch && fate != .unnamed ? sent.id : nil
        earlier = sent.id
        let outcome =
            fate == .page
            ? Self.pages.randomElement(using: &random) ?? .answered(200)
            : fate.outcome(format, naming: named)
        return SimulatedAnswer(outcome, after: delay(fate)) { [unowned self] in heard(fate, sent.id) }
    }

    /// docs/upload.md, "What an answer means": pages.
    private static let pages: [HTTPOutcome] = [
        .answered(200, "<!DOCTYPE html><html><body>Sign in</body></html>"),
        .answered(200, " <!-- portal -->\n<html><body>Sign in</body></html>"),
        .answered(200, "\u{FEFF}<html><body>Sign in</body></html>"),
        .answered(200, #"<?xml version="1.0"?><!DOCTYPE html PUBLIC "x"><html></html>"#),
        .answered(200, "<h1>Sign in</h1>", headers: ["Content-Type: text/html; charset=utf-8"]),
        .answered(200, String(repeating: " ", count: 65_536), isCut: true),
    ]

    /// Seconds.
    private func delay(_ fate: Fate) -> Double {
        switch fate {
        case .takenLate: Double.random(in: 1...50, using: &random)
        case .timeout, .takenAndTimeout: Self.longestAnswer
        default: Double.random(in: 0.01...2, using: &random)
        }
    }

    private func isAdmitted(_ options: HTTPOptions) -> Bool {
        if let endpoint { return endpoint.admits(options) }
        // docs/authentication.md, "Where tokens and secrets may go".
        if SimulatedTokenEndpoint.bearer(options) != nil {
            laws.broken("\(name.text) gets a token of another's")
        }
        return true
    }

    private func draw(after earlier: String?) -> Fate {
        let drawn = drawn
        let chance =
            switch mood {
            case .good: 0.01
            case .flaky: 0.1
            case .away: 0.0
            case .refusing: 0.5
            }
        guard random.chance(chance) else { return drawn }
        let choices = mood == .good ? [.stray, .strayRefusal, .early, .unnamed] : Self.oddities
        let fate = choices.randomElement(using: &random) ?? drawn
        return switch fate {
        case .stray where earlier == nil, .strayRefusal where earlier == nil: .early
        case .unnamed where !namesBatch, .cut where !namesBatch: .early
        default: fate
        }
    }

    private static let oddities: [Fate] = [
        .badRequest, .unprocessable, .paymentRequired, .forbidden, .requestTimeout, .redirect, .phpError,
        .takenWithPHPError, .stray, .strayRefusal, .early, .unnamed, .cut,
    ]

    private var drawn: Fate {
        let choices: [Fate] =
            switch mood {
            case .good: [.taken, .taken, .taken, .takenLate]
            case .flaky: [.taken, .takenLate, .takenAndLost, .lost, .unreachable, .timeout, .takenAndTimeout]
            case .away: [.unreachable, .timeout]
            case .refusing:
                [.taken, .page, .unavailable, .tooMany, .internalError, .notFound, .unauthorised, .tooLarge]
            }
        return choices.randomElement(using: &random) ?? .taken
    }

    /// The process has heard what has become of it.
    private func heard(_ fate: Fate, _ batch: String) {
        if fate == .taken || fate == .takenLate { laws.accepted(batch) }
    }

    private func take(_ batch: SentBatch, _ fate: Fate) {
        trace("batch \(batch.id) with \(batch.rows.count) rows")
        laws.sent(batch, before: batches[batch.id])
        closes = fate.isClose ? closes + 1 : fate.isSilence ? closes : 0
        // docs/upload.md, "Refusals by other servers": ten in a row are one.
        let isClosed = format.traits.isForeign && closes >= 10
        if fate.isRefusal(of: format) || isClosed { laws.refused(batch) }
        if fate.isFinal || isClosed { laws.reopened(batch) }
        guard fate.isTaken else { return }
        batches[batch.id] = batch.text
        for row in batch.rows { rows[row, default: []].insert(batch.id) }
    }
}

/// What a request comes to, and when.
struct SimulatedAnswer {
    let outcome: HTTPOutcome
    /// Seconds.
    let delay: Double
    /// Called when the process hears of it.
    let heard: () -> Void

    init(_ outcome: HTTPOutcome, after delay: Double, heard: @escaping () -> Void = {}) {
        (self.outcome, self.delay, self.heard) = (outcome, delay, heard)
    }
}

/// The way to that server, and to its token endpoint, from one process.
final class SimulatedTransport: HTTPTransport {
    private let server: SimulatedServer
    /// The time by now.
    private let clock: () -> BootInstant
    /// Called before an answer is taken. A request goes out at once: what it says of tokens may not be older than what another has
    /// said meanwhile.
    private let seam: () -> Void
    private var request: (body: [UInt8], options: HTTPOptions)?
    /// Nothing is heard any more: the process has died.
    private var isDeaf = false
    private var answer: (SimulatedAnswer, at: BootInstant)?
    private(set) var connectionNumber = 0
    private var isConnected = false
    /// The batch before on this connection.
    private var earlier: String?

    init(_ server: SimulatedServer, clock: @escaping () -> BootInstant, seam: @escaping () -> Void) {
        (self.server, self.clock, self.seam) = (server, clock, seam)
    }

    var unrequested: Int { 0 }
    var peer: String? { "192.0.2.1" }

    func begin(_ body: [UInt8], _ options: HTTPOptions, resumingAt now: BootInstant?) {
        if answer != nil { disconnect() }
        (request, answer) = ((body, options), nil)
        guard !isConnected else { return }
        isConnected = true
        connectionNumber += 1
    }

    func advance() -> HTTPClient.Progress {
        if request == nil { seam() }
        if let request {
            self.request = nil
            let (goes, isHeard) = server.post()
            isDeaf = !isHeard
            guard goes else { return .underway }
            let answer = server.answer(to: request.body, request.options, after: &earlier)
            self.answer = (answer, clock().advanced(bySeconds: answer.delay))
            return .underway
        }
        if isDeaf { return .underway }
        guard let answer else {
            return .ended(.failure(TransportFailure(kind: .network, message: "no request was begun")))
        }
        guard answer.at <= clock() else { return .underway }
        self.answer = nil
        answer.0.heard()
        if case .failure = answer.0.outcome { disconnect() }
        return .ended(answer.0.outcome)
    }

    func rest(now: BootInstant) -> Rest { Rest(until: answer?.at ?? now) }

    func cancel() {
        if request != nil || answer != nil || isDeaf { disconnect() }
        (request, answer) = (nil, nil)
    }

    func disconnect() { (isConnected, earlier) = (false, nil) }
    func forgetSessions() { disconnect() }
}

extension SimulatedServer.Fate {
    /// The rows are the server's.
    fileprivate var isTaken: Bool {
        switch self {
        case .taken, .takenLate, .takenAndLost, .takenAndTimeout, .takenWithPHPError: true
        default: false
        }
    }

    /// Sending the same again to the same place is of no use, and the batch was surely not taken: another configuration may make
    /// it anew.
    fileprivate var isFinal: Bool {
        switch self {
        case .page, .notFound, .tooLarge, .badRequest, .unprocessable, .paymentRequired, .redirect: true
        default: false
        }
    }

    /// The answer may be about the rows (docs/upload.md, "What an answer means", "Refusals by other servers").
    fileprivate func isRefusal(of format: Format) -> Bool {
        switch self {
        case .badRequest, .unprocessable: true
        // One row that is never taken.
        case .notFound, .paymentRequired, .tooLarge, .redirect, .phpError, .takenWithPHPError:
            format.traits.isForeign
        default: false
        }
    }

    /// The connection was closed without an answer.
    fileprivate var isClose: Bool { self == .lost || self == .takenAndLost }

    /// The silence says nothing about the server.
    fileprivate var isSilence: Bool { self == .unreachable || self == .timeout || self == .takenAndTimeout }

    /// What a server says instead that gets no good token with the request.
    fileprivate var withoutToken: Self {
        switch self {
        case .taken, .takenLate: .unauthorised
        case .takenAndLost: .lost
        case .takenAndTimeout: .timeout
        case .takenWithPHPError: .phpError
        default: self
        }
    }

    /// - Parameter batch: the id in an acceptance; nil: none.
    fileprivate func outcome(_ format: Format, naming batch: String?) -> HTTPOutcome {
        switch self {
        case .taken, .takenLate, .unnamed, .stray: .answered(200, Self.acceptance(format, naming: batch))
        case .early: .answered(200, Self.acceptance(format, naming: batch), isEarly: true)
        case .cut: .answered(200, Self.acceptance(format, naming: batch), isCut: true)
        case .takenAndLost, .lost: .failed("the connection was lost", wasSent: true)
        case .unreachable: .failed("no route to host", wasSent: false)
        case .timeout, .takenAndTimeout: .failed("the time is over", wasSent: true, isTimeout: true)
        case .strayRefusal: .answered(400, Self.acceptance(format, naming: batch))
        case .phpError, .takenWithPHPError:
            .answered(200, "<br />\n<b>Warning</b>: mysqli::query(): MySQL server has gone away")
        case .unavailable: .answered(503, headers: ["Retry-After: 120"])
        case .tooMany: .answered(429)
        case .page, .internalError: .answered(500)
        case .notFound: .answered(404)
        case .unauthorised: .answered(401)
        case .tooLarge: .answered(413)
        case .badRequest: .answered(400)
        case .unprocessable: .answered(422)
        case .paymentRequired: .answered(402)
        case .forbidden: .answered(403)
        case .requestTimeout: .answered(408)
        case .redirect: .answered(302, headers: ["Location: https://elsewhere.example/"])
        }
    }

    private static func acceptance(_ format: Format, naming batch: String?) -> String {
        // The app Overland demands that of its servers.
        let members = [
            format == .overland ? #""result":"ok""# : nil, batch.map { #""batch_id":"\#($0)""# },
        ]
        return "{\(members.compactMap { $0 }.joined(separator: ","))}"
    }
}

extension HTTPOutcome {
    static func failed(_ message: String, wasSent: Bool, isTimeout: Bool = false) -> HTTPOutcome {
        .failure(
            TransportFailure(kind: .network, message: message, wasSent: wasSent, isTimeout: isTimeout))
    }

    static func answered(
        _ status: Int, _ body: String = "{}", headers: [String] = [], isCut: Bool = false,
        isEarly: Bool = false
    ) -> HTTPOutcome {
        var head = AnswerHead()
        for line in ["HTTP/1.1 \(status) Words"] + headers + [""] {
            Array((line + "\r\n").utf8).withUnsafeBytes { _ = head.read($0) }
        }
        let text = Array(body.utf8)
        var start = AnswerBody()
        text.withUnsafeBytes { start.append($0) }
        return .answer(Answer(status: status, head, start, isCut: isCut, isEarly: isEarly, text: text))
    }
}
