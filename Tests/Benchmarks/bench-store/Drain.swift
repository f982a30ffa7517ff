import Base
import Envelope
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
    private let name: DestinationName
    private let options: HTTPOptions
    private let batch: Int
    private let state = Mutex(State())

    init(store: Store, name: DestinationName = .main, url: String, batch: Int) {
        self.store = store
        self.name = name
        self.batch = batch
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

    /// On the calling thread.
    func run() throws {
        let wakeup = try Wakeup()
        var random = SystemRandomNumberGenerator()
        var ids = UUIDv7Generator(using: &random)
        let installation = ids.next(at: Timestamp(milliseconds: 0)).description
        let device = Device(installID: installation, platform: "linux", version: "bench", model: nil)
        var format = BeekonFormat(device: device)
        guard let client = HTTPClient() else {
            throw BenchFailure(message: "libcurl cannot work here")
        }
        func encode(_ draft: BatchDraft) throws -> (id: UUIDv7, body: [UInt8]) {
            let time = draft.locations.first?.fix.time ?? Timestamp(milliseconds: 0)
            let id = ids.next(at: time)
            guard
                let request = format.request(
                    batch: id, session: draft.session, sentAt: time, extras: nil, locations: draft.locations)
            else { throw BenchFailure(message: "zlib failed") }
            return (id, request.body)
        }
        guard let first = try store.draftBatch(for: name, limit: batch) else { return }
        let (id, body) = try encode(first)
        var frozen = try store.freeze(first, id: id, StoredRequest(body: body))
        while let sent = frozen {
            guard
                case .answer(let answer) = client.post(
                    sent.request.body, options, wakeup: wakeup, isCancelled: { false }),
                answer.status == 200
            else { throw BenchFailure(message: "a batch could not be sent") }
            // Fixes go on coming in: the last batch is the first that is not full.
            guard let draft = try store.draftBatch(limit: batch, after: sent), draft.locations.count == batch
            else {
                _ = try store.acknowledge(sent)
                return
            }
            let (id, body) = try encode(draft)
            _ = try store.acknowledge(sent, freezing: draft, id: id, StoredRequest(body: body))
            frozen = try store.nextFrozen(for: name)
        }
    }
}
