import SQLite
import Support
import Testing

@testable import Base
@testable import Storage
@testable import Tracking

/// What a power cut leaves in the midst of a salvage: the next start completes it, and comes to the same.
@Suite struct SalvageImageTests {
    private static let fleet = DestinationName("fleet") ?? .main
    private static let options = StoreOptions(destinations: [.init(.main), .init(fleet)])
    private static let aside = "beekon.db.corrupt-1"

    /// What matters of a database, whatever numbers its rows have.
    private struct Outcome: Equatable {
        var rows: Set<String> = []
        var batches: [DestinationName: FrozenBatch] = [:]
        var pending: [DestinationName: Int] = [:]
    }

    private func id(_ number: Int) -> UUIDv7 {
        UUIDv7(time: time(number), counter: (high: 1, low: UInt64(number)))
    }

    private func time(_ second: Int) -> Timestamp {
        Timestamp(milliseconds: 1_700_000_000_000 + Int64(second) * 1000)
    }

    /// Two destinations of formats of their own, each with a frozen batch, and dead letters of one; three pages are lost.
    private func damaged() throws -> [UInt8] {
        let folder = try Folder()
        let store = try Store(directory: folder.path, options: Self.options)
        for name in [DestinationName.main, Self.fleet] { try store.adopt(endpoint: 5, format: 7, of: name) }
        for number in 1...400 {
            _ = try store.insert(
                NewLocation(at: time(number), id: id(number), session: id(0), odometer: Double(number)))
        }
        try reject(store, limit: 20)
        for name in [DestinationName.main, Self.fleet] { _ = try freeze(store, name, limit: 30) }
        store.close()
        var bytes = try folder.read("beekon.db")
        let db = try Connection(path: folder.database, access: .readOnly)
        let found = try db.prepare(
            "SELECT pageno FROM dbstat WHERE name = 'locations' AND pagetype = 'leaf' ORDER BY path")
        var leaves: [Int] = []
        while try found.step() { leaves.append(Int(found.integer(0))) }
        for part in 1...3 {
            let page = leaves[leaves.count * part / 4]
            for offset in (page - 1) * 1024..<page * 1024 { bytes[offset] = 0xA5 }
        }
        return bytes
    }

    private func freeze(_ store: Store, _ name: DestinationName, limit: Int) throws -> FrozenBatch {
        let draft = try #require(try store.draftBatch(for: name, limit: limit))
        let body = StoredRequest(format: "osmand", head: [1], body: draft.locations.flatMap(\.id.bytes))
        let number = name == .main ? 1001 : 1002
        return try #require(try store.freeze(draft, id: id(number), body))
    }

    private func reject(_ store: Store, limit: Int) throws {
        let batch = try freeze(store, Self.fleet, limit: limit)
        let rejection = try store.reject(batch, status: 422, at: time(500))
        #expect(rejection == .deadLettered(limit))
    }

    private func outcome(_ folder: Folder) throws -> Outcome {
        var outcome = Outcome()
        do {
            let store = try Store(directory: folder.path, options: Self.options)
            for name in [DestinationName.main, Self.fleet] {
                // A number of its format that is lost dissolves them.
                try store.adopt(endpoint: 5, format: 7, of: name)
                if var batch = try store.nextFrozen(for: name) {
                    batch = FrozenBatch(
                        destination: name, id: batch.id, session: batch.session, request: batch.request,
                        isPiece: batch.isPiece, key: 0,
                        members: BatchMembers(session: 0, extras: 0, runs: []))
                    outcome.batches[name] = batch
                }
                outcome.pending[name] = store.counts()[name]?.pending
            }
            store.close()
        }
        let db = try Connection(path: folder.database, access: .readOnly)
        try #require(try Contents.fault(db) == nil)
        let rows = try db.prepare("SELECT hex(id) FROM locations")
        while try rows.step() { outcome.rows.insert(rows.text(0) ?? "") }
        return outcome
    }

    @Test func powerCuts() throws {
        let bytes = try damaged()
        let unread = Self.aside + ".unread"
        let recorded = try Folder()
        try recorded.write(unread, bytes)
        let recording = try #require(Recording(directory: recorded.path))
        let expected = try outcome(recorded)
        #expect(expected.rows.count > 350 && expected.batches.count == 2)
        let events = recording.events()
        var disk = Disk(holding: [unread: bytes])
        let folder = try Folder()
        let cuts = Effort.places(of: events.count, atMost: 8)
        var images = 0
        for (index, event) in events.enumerated() {
            disk.apply(event)
            guard cuts.contains(index) else { continue }
            for loss in PowerLoss.allCases {
                let context = "BEEKOND_SEED=\(Effort.seed), event \(index) of \(events.count), loss \(loss)"
                var random = SeededGenerator(seed: Effort.seed &+ UInt64(index) << 20)
                try folder.clear()
                for (name, content) in disk.image(after: loss, using: &random) {
                    try folder.write(name, content.bytes)
                }
                #expect(try outcome(folder) == expected, "\(context)")
                #expect(try folder.read(Self.aside) == bytes, "\(context)")
                images += 1
            }
        }
        print("salvage: \(events.count) events, \(images) images")
    }
}
