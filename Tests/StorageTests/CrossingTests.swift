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
}
