internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope
internal import Glibc
internal import Linux
internal import Tracking
internal import Upload

/// Checks the way to the backend step by step, as the uploader would go it.
enum BackendProbe {
    /// Seconds allowed for the whole request.
    private static let requestTimeout = 20.0

    /// Checks the connection, then posts an empty batch with the daemon's own headers and certificates, or logs in at the
    /// broker. Where a request has one location, nothing is sent.
    static func run(_ destination: Settings.Destination, installID: String?) -> BackendFacts {
        let sync = destination.sync
        var facts = checkConnection(url: sync.url, proxy: sync.proxy ?? "")
        facts.hasToken = sync.auth != nil || destination.sharesMainTokens
        facts.format = sync.format.name.rawValue
        guard facts.nameFailure == nil, facts.connectFailure == nil else { return facts }
        if sync.mqtt != nil {
            facts.answer = greet(destination, installID: installID)
        } else {
            (facts.answer, facts.reason) =
                sync.harmless == .emptyBatch ? post(sync, installID: installID) : (.unasked, nil)
        }
        return facts
    }

    /// Resolves the name and connects, without sending anything.
    static func checkConnection(url: String, proxy: String) -> BackendFacts {
        var facts = BackendFacts()
        facts.url = Settings.redacted(url: url)
        // A URL with masked secrets cannot be parsed; only its scheme, host and port matter here.
        guard let backend = Settings.target(of: unmasked(url)) else {
            facts.nameFailure = "the url cannot be read"
            return facts
        }
        facts.isTLS = ["https", "mqtts"].contains(backend.scheme)
        (facts.host, facts.port) = (backend.host, backend.port)
        if let proxy = Settings.target(of: unmasked(proxy)) {
            (facts.host, facts.port, facts.isProxy) = (proxy.host, proxy.port, true)
        }
        do throws(TCPConnection.Failure) {
            _ = try TCPConnection(host: facts.host, port: facts.port)
        } catch {
            switch error {
            case .name(let message): facts.nameFailure = message
            case .connect(let message): facts.connectFailure = message
            }
        }
        return facts
    }

    private static func unmasked(_ url: String) -> String {
        url.split(separator: Secret.mask, omittingEmptySubsequences: false).joined(separator: "set")
    }

    private static func post(
        _ sync: Settings.Sync, installID: String?
    ) -> (BackendFacts.Answer, reason: String?) {
        guard let (id, request) = harmless(sync, installID: installID, newest: nil),
            let outcome = exchange(request, id: id, sync)
        else { return (.failed("no memory for a request", isClock: false), nil) }
        switch outcome {
        case .judged(let judgement): return (answer(judgement), judgement.reason)
        case .failed(let failure):
            return (.failed(failure.message, isClock: failure.kind == .clock), nil)
        }
    }

    private static func answer(_ judgement: Judgement) -> BackendFacts.Answer {
        switch judgement.doubt {
        case .page: .page(judgement.status)
        case .phpError: .phpError(judgement.status)
        case .noAck: .noAck(judgement.status)
        case .refused: .refused(judgement.status)
        case .unread: .unread(judgement.status)
        case nil: judgement.isSilent ? .silent(judgement.status) : .status(judgement.status)
        }
    }

    private static func greet(_ destination: Settings.Destination, installID: String?) -> BackendFacts.Answer
    {
        guard let wakeup = try? Wakeup(),
            let found = MQTTEcho.greet(
                hurried(destination.sync), installID: installID ?? newID(), destination: destination.name,
                at: now(), wakeup: wakeup, isCancelled: { false })
        else { return .failed("no memory for a connection", isClock: false) }
        guard let verdict = found.verdict else { return .failed(found.words, isClock: found.isClock) }
        return .broker(isAccepted: verdict == .accepted, found.words, advice: found.advice)
    }

    /// Publishes a request, and waits for it to come back.
    ///
    /// - Returns: nil when there is no memory for it.
    static func echo(
        _ request: Request, _ destination: Settings.Destination, installID: String?
    ) -> MQTTEcho.Finding? {
        guard let wakeup = try? Wakeup() else { return nil }
        return MQTTEcho.run(
            request, to: hurried(destination.sync), installID: installID ?? newID(),
            destination: destination.name, at: now(), wakeup: wakeup, isCancelled: { false })
    }

    /// Somebody waits for the answer.
    private static func hurried(_ sync: Settings.Sync) -> Settings.Sync {
        var sync = sync
        sync.timeoutSeconds = min(sync.timeoutSeconds, requestTimeout)
        return sync
    }

    /// What became of a request.
    enum Outcome {
        case judged(Judgement)
        case failed(TransportFailure)
    }

    /// Sends a request as the daemon would, but for its tokens.
    ///
    /// - Parameter id: of the batch.
    /// - Returns: nil when there is no memory for it.
    static func exchange(_ request: Request, id: UUIDv7, _ sync: Settings.Sync) -> Outcome? {
        guard let client = HTTPClient(), let wakeup = try? Wakeup() else { return nil }
        let factory = RequestFactory(hurried(sync), version: Release.version)
        let outcome = client.post(
            request.body, factory.options(for: request, of: id, authorization: nil),
            wakeup: wakeup, isCancelled: { false })
        switch outcome {
        case .answer(let answer):
            var matching = AnswerMatching()
            if let fault = matching.fault(
                answer, to: id, in: request.format, .envelope, over: client.connectionNumber)
            {
                return .failed(
                    TransportFailure(
                        kind: .network, message: "the answer is not that to the request: \(fault)"))
            }
            var judgement = request.format.judge(
                answer, acknowledging: sync.requireAck ? id : nil, saying: Acceptance(sync), at: now())
            if judgement.verdict != .accepted {
                judgement.reason = answer.reason(
                    hiding: SecretTexts(sync.secretTexts, addresses: sync.addresses).hidden)
            }
            return .judged(judgement)
        case .failure(let failure): return .failed(failure)
        // Nobody does.
        case .cancelled: return nil
        }
    }

    /// A request that shows whether the destination works, and changes nothing there that matters.
    ///
    /// - Parameter newest: what a format of one row sends.
    /// - Returns: nil without a location where one is needed, or without memory.
    static func harmless(
        _ sync: Settings.Sync, installID: String?, newest: Location?
    ) -> (id: UUIDv7, request: Request)? {
        guard sync.harmless == .emptyBatch || newest != nil else { return nil }
        var random = RandomSource()
        var ids = UUIDv7Generator(using: &random)
        let id = ids.next(at: now())
        var requests = RequestMaker(installID: installID, model: nil, version: Release.version, sync)
        return requests.request(
            batch: id, session: newest?.session ?? ids.next(at: now()), sentAt: now(), extras: nil,
            locations: sync.harmless == .emptyBatch ? [] : newest.map { [$0] } ?? []
        ).map { (id, $0) }
    }

    /// For a broker, which needs a name for the connection; nothing is published under it.
    private static func newID() -> String {
        var random = RandomSource()
        var ids = UUIDv7Generator(using: &random)
        return ids.next(at: now()).description
    }

    private static func now() -> Timestamp {
        Timestamp(milliseconds: Clock.realtimeMilliseconds())
    }
}
