import Support
import Testing

@testable import Base
@testable import Storage
@testable import Tracking

/// A destination is to have no entries and exits any more, and the power is cut: who was told of an entry is told of the exit all
/// the same, and nothing of other fences.
@Suite struct LeaveImageTests {
    private static let home = DestinationName("home") ?? .main
    private static func options(carriesCrossings: Bool) -> StoreOptions {
        StoreOptions(destinations: [
            .init(.main), .init(home, carriesCrossings: carriesCrossings, carriesVehicleEvents: false),
        ])
    }

    private func event(_ second: Int, _ fence: String, _ kind: Crossing.Kind) -> GeofenceEvent {
        let time = Timestamp(milliseconds: 1_700_000_000_000 + Int64(second) * 1000)
        return GeofenceEvent(
            id: UUIDv7(time: time, counter: (high: 1, low: UInt64(second))), session: session,
            crossing: Crossing(geofence: fence, kind: kind, time: time))
    }

    /// The mark at which the exit is stored.
    private static let stored = 100
    private let session = UUIDv7(time: Timestamp(milliseconds: 1_700_000_000_000), counter: (high: 1, low: 0))

    private func insert(_ store: Store, _ events: [GeofenceEvent]) throws {
        guard let time = events.first?.crossing.time else { return }
        _ = try store.insert(
            NewEvents(
                events: events, changes: [], session: session, sessionStartedAt: time, isTracking: true,
                extras: nil, time: time, prunesByAge: false))
    }

    /// Sends rows until there are none, and hands over each before it is acknowledged.
    private func drain(_ store: Store, _ tell: (String) -> Void) throws {
        while true {
            var batch = try store.nextFrozen(for: Self.home)
            if batch == nil, let draft = try store.draftBatch(for: Self.home, limit: 1, asOne: true),
                let event = draft.events.first
            {
                let words = "\(event.crossing.kind) \(event.crossing.geofence)"
                batch = try store.freeze(draft, id: event.id, StoredRequest(body: Array(words.utf8)))
            }
            guard let batch else { return }
            tell(String(decoding: batch.request.body, as: UTF8.self))
            _ = try store.acknowledge(batch)
        }
    }

    @Test func powerCuts() throws {
        let recorded = try Folder()
        let recording = try #require(Recording(directory: recorded.path))
        var told: [String] = []
        do {
            let store = try Store(directory: recorded.path, options: Self.options(carriesCrossings: true))
            try insert(store, [event(1, "home", .enter)])
            try drain(store) { words in
                told.append(words)
                recording.mark(told.count)
            }
            try insert(
                store, [event(2, "home", .exit), event(3, "mall", .enter), event(4, "mall", .exit)])
            recording.mark(Self.stored)
            store.configure(Self.options(carriesCrossings: false))
            try insert(store, [event(5, "dock", .enter), event(6, "dock", .exit)])
            try drain(store) { words in
                told.append(words)
                recording.mark(told.count)
            }
            store.close()
        }
        #expect(told == ["enter home", "exit home"])
        let events = recording.events()
        var disk = Disk(holding: [:])
        let folder = try Folder()
        let cuts = Effort.places(of: events.count, atMost: 8)
        var (known, isStored, images) = (0, false, 0)
        for (index, event) in events.enumerated() {
            if case .mark(let number) = event {
                isStored = isStored || number == Self.stored
                if number != Self.stored { known = number }
            }
            disk.apply(event)
            guard cuts.contains(index) else { continue }
            for loss in PowerLoss.allCases {
                let context = "BEEKOND_SEED=\(Effort.seed), event \(index) of \(events.count), loss \(loss)"
                var random = SeededGenerator(seed: Effort.seed &+ UInt64(index) << 20)
                try folder.clear()
                for (name, content) in disk.image(after: loss, using: &random) {
                    try folder.write(name, content.bytes)
                }
                var heard = Array(told.prefix(known))
                let store = try Store(
                    directory: folder.path, options: Self.options(carriesCrossings: false))
                try drain(store) { heard.append($0) }
                store.close()
                let all = Set(heard)
                #expect(
                    all == ["enter home", "exit home"] || !isStored && all.isSubset(of: ["enter home"]),
                    "\(heard): \(context)")
                #expect(heard.count <= all.count + 1, "\(heard), of which one may come twice: \(context)")
                images += 1
            }
        }
        print("leaves: \(events.count) events, \(images) images")
    }
}
