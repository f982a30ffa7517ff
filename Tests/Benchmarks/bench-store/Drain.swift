import Linux
import Storage
import Synchronization
import Tracking
import Upload

/// Uploads everything that is pending, on a thread of its own, with the calls that the daemon's uploader makes.
final class Drain: Sendable {
    private struct State {
        var hasEnded = false
        var failure: String?
    }

    private let store: Store
    private let options: HTTPOptions
    private let batch: Int
    private let session: UUIDv7
    private let state = Mutex(State())

    init(store: Store, url: String, batch: Int, session: UUIDv7) {
        self.store = store
        self.batch = batch
        self.session = session
        options = HTTPOptions(
            url: url, headers: ["Content-Type: application/json", "Content-Encoding: gzip"],
            userAgent: "beekond/bench", timeout: 60)
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    var failure: String? { state.withLock { $0.failure } }

    func start() throws {
        try startThread(named: "uploader") { [self] in
            do {
                try run()
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    private func run() throws {
        guard var client = HTTPClient(), let gzip = Gzip() else {
            throw BenchFailure(message: "libcurl or zlib cannot work here")
        }
        let wakeup = try Wakeup()
        var payload = Payload(
            sender: Sender(installID: session.description, platform: "linux", version: "bench", model: nil))
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        // Fixes go on coming in: the last batch is the first that is not full.
        while let draft = try store.draftBatch(limit: batch), draft.locations.count == batch {
            let time = draft.locations[0].fix.time
            let id = ids.next(at: time)
            let bytes = payload.encode(
                batch: id, session: draft.session, sentAt: time, extras: nil, locations: draft.locations)
            guard let body = gzip.compress(bytes), let frozen = try store.freeze(draft, id: id, body: body)
            else { throw BenchFailure(message: "a batch could not be frozen") }
            guard
                case .response(200, _) = client.post(
                    frozen.body, options, wakeup: wakeup, isCancelled: { false })
            else { throw BenchFailure(message: "a batch could not be sent") }
            _ = try store.acknowledge(frozen)
        }
    }
}
