import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

@Suite("entries into geofences and exits")
struct CrossingTests {
    private let workshop: Workshop
    private var store: Store { workshop.store }

    init() throws {
        workshop = try Workshop()
    }

    private func exit(_ seconds: Double, _ reason: GeofenceEvent.Reason?) -> GeofenceEvent {
        GeofenceEvent(
            id: uuid(7_000_000 + Int(seconds)), session: uuid(1),
            crossing: Crossing(geofence: "home", kind: .exit, time: time(seconds)), reason: reason)
    }

    private func new(_ events: [GeofenceEvent], forgotten: [Int64] = []) -> NewEvents {
        var new = NewEvents(
            events: events, changes: [], session: uuid(1), sessionStartedAt: time(0), isTracking: true,
            extras: nil, time: time(0), prunesByAge: false)
        new.forgotten = forgotten
        return new
    }

    @Test("why an exit is told is kept with it, and its state is forgotten in the same transaction")
    func reason() throws {
        try store.adopt([.init(key: 1, isInside: true), .init(key: 2, isInside: true)])
        _ = try store.insert(new([exit(1, .removed), exit(2, nil)], forgotten: [1]))
        try workshop.reopen()
        #expect(try store.geofenceStates()?.keys.sorted() == [2])
        let draft = try #require(try store.draftBatch(limit: 10))
        #expect(draft.events.map(\.reason) == [.removed, nil])
        // A later version may know others.
        try Connection(path: workshop.directory.file("beekon.db"), access: .readWrite).execute(
            "UPDATE events SET data = '{\"reason\":\"sold\"}'")
        #expect(try store.draftBatch(limit: 10)?.events.map(\.reason) == [nil, nil])
    }

    @Test("a destination that is to have none is owed none, and still the vehicle's")
    func silent() throws {
        let other = try #require(DestinationName("other"))
        workshop.options.uploadedEvents = [.ignition]
        workshop.options.destinations = [
            .init(.main, carriesCrossings: false), .init(other, carriesVehicleEvents: false),
        ]
        store.configure(workshop.options)
        var both = new([exit(1, nil)])
        both.vehicleEvents = [
            VehicleEvent(
                id: uuid(8_000_001), session: uuid(1), happening: .ignitionOn,
                time: .known(time(2), isEstimated: false))
        ]
        _ = try store.insert(both)
        #expect(try store.draftBatch(for: .main, limit: 10)?.vehicleEvents.count == 1)
        #expect(try store.draftBatch(for: .main, limit: 10)?.events == [])
        #expect(try store.draftBatch(for: other, limit: 10)?.events.count == 1)
        // Without anybody who is to have them they wait for nobody.
        workshop.options.destinations = [.init(.main, carriesCrossings: false)]
        store.configure(workshop.options)
        _ = try store.insert(new([exit(3, nil)]))
        let before = store.counts()[.main]?.pending
        #expect(before == 1)
        try workshop.reopen()
        #expect(store.counts()[.main]?.pending == before)
    }

    @Test("nothing but geofence events of a draft", arguments: [true, false])
    func part(hasVehicle: Bool) throws {
        var both = new([exit(1, nil)])
        if hasVehicle {
            workshop.options.uploadedEvents = [.ignition]
            store.configure(workshop.options)
            both.vehicleEvents = [
                VehicleEvent(
                    id: uuid(8_000_001), session: uuid(1), happening: .ignitionOn,
                    time: .known(time(2), isEstimated: false))
            ]
        }
        _ = try store.insert(both)
        _ = try workshop.insert(5)
        let draft = try #require(try store.draftBatch(limit: 10))
        let part = try #require(draft.ofGeofences)
        #expect(part.events.count == 1 && part.vehicleEvents.isEmpty && part.locations.isEmpty)
        #expect(try store.drop(part) == 1)
        let left = try #require(try store.draftBatch(limit: 10))
        #expect(left.ofGeofences == nil && left.locations.count == 1)
        #expect(left.vehicleEvents.count == (hasVehicle ? 1 : 0))
    }

    private func crossing(_ second: Int, _ fence: String, _ kind: Crossing.Kind) -> GeofenceEvent {
        GeofenceEvent(
            id: uuid(9_000_000 + second), session: uuid(1),
            crossing: Crossing(geofence: fence, kind: kind, time: time(Double(second))))
    }

    /// Sends what a destination is owed, a row at a time, until there is nothing left.
    private func drain(_ name: DestinationName) throws -> [String] {
        var told: [String] = []
        while let batch = try next(of: name) {
            told.append(String(decoding: batch.request.body, as: UTF8.self))
            _ = try store.acknowledge(batch)
        }
        return told
    }

    private func next(of name: DestinationName) throws -> FrozenBatch? {
        if let frozen = try store.nextFrozen(for: name) { return frozen }
        guard let draft = try store.draftBatch(for: name, limit: 1, asOne: true),
            let event = draft.events.first
        else { return nil }
        let words = "\(event.crossing.kind) \(event.crossing.geofence)"
        return try store.freeze(draft, id: event.id, StoredRequest(body: Array(words.utf8)))
    }

    @Test("who is to have none any more still gets exits from fences that it may have been told of entering")
    func leaves() throws {
        let other = try #require(DestinationName("other"))
        func configure(_ carriesCrossings: Bool) {
            workshop.options.destinations = [
                .init(.main), .init(other, carriesCrossings: carriesCrossings, carriesVehicleEvents: false),
            ]
        }
        configure(true)
        _ = try store.insert(
            new([crossing(1, "home", .enter), crossing(2, "yard", .enter), crossing(3, "home", .exit)]))
        _ = try store.acknowledge(try #require(try next(of: other)))
        // It may have arrived.
        #expect(try next(of: other) != nil)
        _ = try store.insert(
            new([
                crossing(4, "home", .enter), crossing(5, "home", .exit), crossing(6, "yard", .exit),
                crossing(7, "mall", .enter), crossing(8, "mall", .exit), crossing(9, "dock", .enter),
            ]))
        configure(false)
        _ = try store.insert(new([crossing(10, "dock", .exit), crossing(11, "pier", .exit)]))
        for _ in 0..<2 { try workshop.reopen() }
        #expect(store.counts()[other]?.pending == 3)
        #expect(try drain(other) == ["enter yard", "exit home", "exit yard"])
        #expect(store.counts()[other]?.pending == 0)
        #expect(store.counts()[other]?.losses.dropped == 5)
        configure(true)
        _ = try store.insert(new([crossing(12, "home", .enter)]))
        #expect(try drain(other) == ["enter home"])
        #expect(try store.draftBatch(for: .main, limit: 100)?.events.count == 12)
    }
}
