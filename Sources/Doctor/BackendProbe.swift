internal import Configuration
internal import ControlProtocol
internal import Glibc
internal import Linux
internal import Tracking
internal import Upload

/// Goes the way to the backend that the uploader goes, step by step.
enum BackendProbe {
    /// Seconds for the whole request.
    private static let patience = 20.0

    /// Looks, and posts an empty batch with the daemon's own headers and certificates.
    static func ask(_ sync: Settings.Sync, installID: String?) -> BackendFacts {
        var facts = look(url: sync.url, proxy: sync.proxy ?? "")
        facts.hasToken = sync.auth != nil
        guard facts.nameFailure == nil, facts.connectFailure == nil else { return facts }
        facts.answer = post(sync, installID: installID)
        return facts
    }

    /// Asks for the name and connects, and sends nothing.
    static func look(url: String, proxy: String) -> BackendFacts {
        var facts = BackendFacts()
        facts.url = Settings.redacted(url: url)
        // With its secrets masked it is no URL any more: only scheme, host and port are of interest here.
        guard let backend = Settings.target(of: withoutMask(url)) else {
            facts.nameFailure = "the url cannot be read"
            return facts
        }
        facts.isTLS = backend.scheme == "https"
        (facts.host, facts.port) = (backend.host, backend.port)
        if let proxy = Settings.target(of: withoutMask(proxy)) {
            (facts.host, facts.port, facts.isProxy) = (proxy.host, proxy.port, true)
        }
        do throws(Link.Failure) {
            _ = try Link(host: facts.host, port: facts.port)
        } catch {
            switch error {
            case .name(let words): facts.nameFailure = words
            case .connect(let words): facts.connectFailure = words
            }
        }
        return facts
    }

    private static func withoutMask(_ url: String) -> String {
        url.split(separator: Secret.mask, omittingEmptySubsequences: false).joined(separator: "set")
    }

    private static func post(_ sync: Settings.Sync, installID: String?) -> BackendFacts.Answer {
        let (id, batch) = emptyBatch(sync, installID: installID)
        guard var client = HTTPClient(), let gzip = Gzip(), let wakeup = try? Wakeup(),
            let body = gzip.compress(batch)
        else { return .failed("no memory for a request", isClock: false) }
        let options = HTTPOptions(
            url: sync.url,
            headers: ["Content-Type: application/json", "Content-Encoding: gzip"]
                // libcurl takes "Name:" for a header to be left out, and "Name;" for an empty one.
                + sync.headers.map { $0.value.text.isEmpty ? $0.name + ";" : "\($0.name): \($0.value.text)" },
            userAgent: "beekond/" + Release.version, timeout: min(sync.timeoutSeconds, patience),
            caFile: sync.caFile, clientCertificate: sync.clientCertificate, clientKey: sync.clientKey,
            proxy: sync.proxy)
        let acknowledging = sync.requireAck ? id.description : nil
        switch client.post(
            body, options, acknowledging: acknowledging, wakeup: wakeup, isCancelled: { false })
        {
        case .response(let status, _, nil): return .status(status)
        case .response(let status, _, .page): return .page(status)
        case .response(let status, _, .noAck): return .noAck(status)
        case .failure(let failure): return .failed(failure.message, isClock: failure.kind == .clock)
        case .cancelled: return .failed("cancelled", isClock: false)
        }
    }

    /// A batch as the uploader sends it, with nothing in it.
    private static func emptyBatch(
        _ sync: Settings.Sync, installID: String?
    ) -> (id: UUIDv7, bytes: [UInt8]) {
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        let now = Timestamp(milliseconds: Clock.realtimeMilliseconds())
        let install = installID ?? ids.next(at: now).description
        var payload = Payload(
            sender: Sender(installID: install, platform: sync.platform, version: Release.version, model: nil))
        let id = ids.next(at: now)
        let bytes = payload.encode(
            batch: id, session: ids.next(at: now), sentAt: now, extras: nil, locations: [])
        return (id, bytes)
    }
}
