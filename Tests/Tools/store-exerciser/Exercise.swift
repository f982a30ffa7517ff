import Base
import Storage
import Tracking

/// Goes on after failures as the daemon does: what could not be stored waits and is tried again, in order.
struct Exercise {
    private static let fixes = 24
    /// A fault that lasts ends the exercise; what waits then is lost, and was never called stored.
    private static let attempts = 5

    private let directory: String
    private let session: UUIDv7
    private var ids: UUIDv7Generator
    private var waiting: [NewLocation] = []
    private var number = 0
    /// Sent, but its acknowledgement could not be committed: that is tried again, and may find it done.
    private var unacknowledged: FrozenBatch?

    init(_ directory: String) {
        self.directory = directory
        var random = SystemRandomNumberGenerator()
        ids = UUIDv7Generator(using: &random)
        session = ids.next(at: Timestamp(milliseconds: 1_700_000_000_000))
    }

    mutating func run() {
        guard let store = open() else { return say("gave up") }
        for number in 1...Self.fixes {
            waiting.append(fix(number))
            flush(store)
            if number % 8 == 0 { upload(store) }
        }
        for _ in 0..<Self.attempts where !waiting.isEmpty { flush(store) }
        for _ in 0..<Self.attempts where unacknowledged != nil { upload(store) }
        // The last connection folds the WAL into the database.
        store.close()
        say("done")
    }

    private func open() -> Store? {
        for _ in 0..<Self.attempts {
            do throws(StorageError) {
                let store = try Store(directory: directory, options: StoreOptions(destinations: .main))
                for case .notOpened(let error) in store.takeEvents() { say("cannot open \(error)") }
                return store
            } catch {
                say("cannot open \(error)")
            }
        }
        return nil
    }

    private mutating func fix(_ number: Int) -> NewLocation {
        let time = Timestamp(milliseconds: 1_700_000_000_000 + Int64(number) * 1000)
        // The literals are in range.
        let coordinate = Coordinate(latitude: 47, longitude: 8).unsafelyUnwrapped
        let location = Location(
            id: ids.next(at: time), session: session, fix: Fix(time: time, mode: 3, coordinate: coordinate),
            trigger: .interval, motion: .moving)
        return NewLocation(
            location: location, session: session, sessionStartedAt: time, odometer: Double(number),
            extras: nil,
            prunesByAge: false)
    }

    private mutating func flush(_ store: Store) {
        while let next = waiting.first {
            let id = next.location.id
            say("try \(id)")
            do throws(StorageError) {
                _ = try store.insert(next)
            } catch {
                return say("failed \(id) \(error)")
            }
            say("stored \(id)")
            waiting.removeFirst()
        }
    }

    /// Half of what is pending goes; a batch whose acknowledgement could not be committed is acknowledged again.
    private mutating func upload(_ store: Store) {
        do throws(StorageError) {
            if let batch = unacknowledged { try acknowledge(batch, store) }
            if let draft = try store.draftBatch(limit: 4) {
                let id = ids.next(at: Timestamp(milliseconds: 1_700_000_000_000))
                let body = [UInt8](draft.locations.map(\.id.description).joined(separator: "\n").utf8)
                _ = try store.freeze(draft, id: id, StoredRequest(body: body))
            }
            guard let batch = try store.nextFrozen() else { return }
            unacknowledged = batch
            try acknowledge(batch, store)
        } catch {
            say("failed upload \(error)")
        }
    }

    private mutating func acknowledge(_ batch: FrozenBatch, _ store: Store) throws(StorageError) {
        let members = String(decoding: batch.request.body, as: UTF8.self).split(separator: "\n")
        for id in members { say("leaving \(id)") }
        _ = try store.acknowledge(batch)
        unacknowledged = nil
        for id in members { say("gone \(id)") }
    }
}
