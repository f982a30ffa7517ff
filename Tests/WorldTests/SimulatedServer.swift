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
    }

    /// Seconds.
    static let longestAnswer = 60.0

    var mood = Mood.good
    /// Asked before each request: whether it goes out, and whether its answer is heard.
    var post: () -> (goes: Bool, isHeard: Bool) = { (true, true) }
    /// Told of each request.
    var trace: (String) -> Void = { _ in }
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
    private var random: SeededGenerator
    private let laws: DeliveryLaws

    init(_ name: DestinationName, _ format: Format, seed: UInt64, _ laws: DeliveryLaws) {
        (self.name, self.format) = (name, format)
        random = SeededGenerator(seed: seed)
        self.laws = laws
    }

    var url: String {
        endpoint.map { "https://\($0.host)/\(name.text)" } ?? "https://\(name.text).example/"
    }

    /// The first byte of a request has been sent, to it or to its token endpoint.
    func answer(to body: [UInt8], _ options: HTTPOptions) -> SimulatedAnswer {
        if let endpoint, options.url == endpoint.url { return endpoint.answer(to: body, options) }
        let (fate, delay, batch) = fate(of: body, options)
        return SimulatedAnswer(fate.outcome(format), after: delay) { [unowned self] in heard(fate, batch) }
    }

    /// - Returns: also the id of the batch.
    private func fate(of body: [UInt8], _ options: HTTPOptions) -> (Fate, delay: Double, batch: String) {
        requests += 1
        let drawn = draw()
        let fate = isAdmitted(options) ? drawn : drawn.withoutToken
        if fate == .unauthorised { endpoint?.laws.refused() }
        fates[fate, default: 0] += 1
        trace("request \(requests) to \(name.text) of \(body.count) bytes: \(fate)")
        let batch = read(body, options, fate)
        switch fate {
        case .takenLate: return (fate, Double.random(in: 1...50, using: &random), batch)
        case .timeout, .takenAndTimeout: return (fate, 60, batch)
        default: return (fate, Double.random(in: 0.01...2, using: &random), batch)
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

    private func draw() -> Fate {
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

    private func read(_ body: [UInt8], _ options: HTTPOptions, _ fate: Fate) -> String {
        guard let batch = SentBatch(body, options, format) else {
            laws.broken("a request is none of \(format)")
            return ""
        }
        trace("batch \(batch.id) with \(batch.rows.count) rows")
        laws.sent(batch, before: batches[batch.id])
        if fate.isFinal { laws.refused(batch) }
        guard fate.isTaken else { return batch.id }
        batches[batch.id] = batch.text
        for row in batch.rows { rows[row, default: []].insert(batch.id) }
        return batch.id
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
    private var request: (body: [UInt8], options: HTTPOptions)?
    /// Nothing is heard any more: the process has died.
    private var isDeaf = false
    private var answer: (SimulatedAnswer, at: BootInstant)?

    init(_ server: SimulatedServer, clock: @escaping () -> BootInstant) {
        self.server = server
        self.clock = clock
    }

    var connectionNumber: Int { 1 }
    var unrequested: Int { 0 }
    var peer: String? { "192.0.2.1" }

    func begin(_ body: [UInt8], _ options: HTTPOptions, resumingAt now: BootInstant?) {
        (request, answer) = ((body, options), nil)
    }

    func advance() -> HTTPClient.Progress {
        if let request {
            self.request = nil
            let (goes, isHeard) = server.post()
            isDeaf = !isHeard
            guard goes else { return .underway }
            let answer = server.answer(to: request.body, request.options)
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
        return .ended(answer.0.outcome)
    }

    func rest(now: BootInstant) -> Rest { Rest(until: answer?.at ?? now) }

    func cancel() { (request, answer) = (nil, nil) }
    func disconnect() {}
    func forgetSessions() {}
}

extension SimulatedServer.Fate {
    /// The rows are the server's.
    fileprivate var isTaken: Bool {
        switch self {
        case .taken, .takenLate, .takenAndLost, .takenAndTimeout: true
        case .lost, .unreachable, .timeout, .page, .unavailable, .tooMany, .internalError, .notFound,
            .unauthorised,
            .tooLarge:
            false
        }
    }

    /// Sending the same again to the same place is of no use.
    fileprivate var isFinal: Bool { self == .page || self == .notFound || self == .tooLarge }

    /// What a server says instead that gets no good token with the request.
    fileprivate var withoutToken: Self {
        switch self {
        case .taken, .takenLate: .unauthorised
        case .takenAndLost: .lost
        case .takenAndTimeout: .timeout
        default: self
        }
    }

    fileprivate func outcome(_ format: Format) -> HTTPOutcome {
        switch self {
        // The app Overland demands that of its servers.
        case .taken, .takenLate: .answered(200, format == .overland ? #"{"result":"ok"}"# : "{}")
        case .takenAndLost, .lost: .failed("the connection was lost", wasSent: true)
        case .unreachable: .failed("no route to host", wasSent: false)
        case .timeout, .takenAndTimeout: .failed("the time is over", wasSent: true, isTimeout: true)
        case .page: .answered(200, "<!DOCTYPE html><html><body>Sign in</body></html>")
        case .unavailable: .answered(503, headers: ["Retry-After: 120"])
        case .tooMany: .answered(429)
        case .internalError: .answered(500)
        case .notFound: .answered(404)
        case .unauthorised: .answered(401)
        case .tooLarge: .answered(413)
        }
    }
}

extension HTTPOutcome {
    static func failed(_ message: String, wasSent: Bool, isTimeout: Bool = false) -> HTTPOutcome {
        .failure(
            TransportFailure(kind: .network, message: message, wasSent: wasSent, isTimeout: isTimeout))
    }

    static func answered(_ status: Int, _ body: String = "{}", headers: [String] = []) -> HTTPOutcome {
        var head = AnswerHead()
        for line in ["HTTP/1.1 \(status) Words"] + headers + [""] {
            Array((line + "\r\n").utf8).withUnsafeBytes { _ = head.read($0) }
        }
        let text = Array(body.utf8)
        var start = AnswerBody()
        text.withUnsafeBytes { start.append($0) }
        return .answer(Answer(status: status, head, start, isCut: false, text: text))
    }
}
