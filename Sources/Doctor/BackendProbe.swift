internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Envelope
internal import Glibc
internal import Linux
internal import Upload

/// Checks the way to the backend step by step, as the uploader would go it.
enum BackendProbe {
    /// Seconds allowed for the whole request.
    private static let requestTimeout = 20.0

    /// Checks the connection, then posts an empty batch with the daemon's own headers and certificates. No other format
    /// than `beekon` has one.
    static func run(_ sync: Settings.Sync, installID: String?) -> BackendFacts {
        var facts = checkConnection(url: sync.url, proxy: sync.proxy ?? "")
        facts.hasToken = sync.auth != nil
        facts.format = sync.format.name.rawValue
        guard facts.nameFailure == nil, facts.connectFailure == nil, facts.format == BackendFacts.probed
        else {
            return facts
        }
        facts.answer = post(sync, installID: installID)
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

    private static func post(_ sync: Settings.Sync, installID: String?) -> BackendFacts.Answer {
        guard var client = HTTPClient(), let wakeup = try? Wakeup(),
            let (id, request) = emptyBatch(sync, installID: installID)
        else { return .failed("no memory for a request", isClock: false) }
        var factory = RequestFactory(sync, version: Release.version)
        factory.timeout = min(factory.timeout, requestTimeout)
        let outcome = client.post(
            request.body, factory.options(for: request, authorization: nil), keepsBody: sync.requireAck,
            wakeup: wakeup, isCancelled: { false })
        switch outcome {
        case .answer(let answer):
            let judgement = request.format.judge(answer, acknowledging: sync.requireAck ? id : nil, at: now())
            switch judgement.doubt {
            case .page: return .page(judgement.status)
            case .noAck: return .noAck(judgement.status)
            case .refused: return .refused(judgement.status)
            case nil: return .status(judgement.status)
            }
        case .failure(let failure): return .failed(failure.message, isClock: failure.kind == .clock)
        case .cancelled: return .failed("cancelled", isClock: false)
        }
    }

    /// A batch in the uploader's format, with no locations in it.
    private static func emptyBatch(
        _ sync: Settings.Sync, installID: String?
    ) -> (id: UUIDv7, request: Request)? {
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        let now = now()
        let install = installID ?? ids.next(at: now).description
        let device = Device(installID: install, platform: sync.platform, version: Release.version, model: nil)
        let id = ids.next(at: now)
        let params = if case .beekon(let own) = sync.format { own.params } else { BodyFields() }
        guard var format = BeekonFormat(device: device, params: params),
            let request = format.request(
                batch: id, session: ids.next(at: now), sentAt: now, extras: nil, locations: [])
        else { return nil }
        return (id, request)
    }

    private static func now() -> Timestamp {
        Timestamp(milliseconds: Clock.realtimeMilliseconds())
    }
}
