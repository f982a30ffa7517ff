import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// Events of the vehicle: in the table of those of geofences, with a time that may come later, and owed only if their kind is
/// uploaded and a format carries it.
@Suite("vehicle events")
struct VehicleEventTests {
    private let workshop: Workshop
    private var store: Store { workshop.store }

    private static let boot = BootID(high: 1, low: 2)
    private static let earlierBoot = BootID(high: 3, low: 4)

    init() throws {
        workshop = try Workshop()
    }

    private func event(
        _ number: Int, _ happening: VehicleEvent.Happening, at time: EventTime, session: Int = 1
    ) -> VehicleEvent {
        VehicleEvent(
            id: uuid(6_000_000 + number), session: uuid(session), happening: happening,
            subject: "subject \(number)", data: #"{"number":\#(number)}"#, time: time,
            place: time.isKnown
                ? Coordinate(latitude: 1, longitude: Double(number % 90)).map { .init($0, accuracy: 3) } : nil
        )
    }

    private func known(_ seconds: Double, isEstimated: Bool = false) -> EventTime {
        .known(time(seconds), isEstimated: isEstimated)
    }

    private func booted(_ seconds: Double) -> BootInstant { BootInstant(nanoseconds: Int64(seconds * 1e9)) }

    @discardableResult
    private func insert(_ events: [VehicleEvent], session: Int = 1) throws -> Int {
        try store.insert(
            NewEvents(
                events: [], changes: [], session: uuid(session), sessionStartedAt: time(0), isTracking: true,
                extras: nil, time: time(0), prunesByAge: false, vehicleEvents: events))
    }

    private func options(
        _ kinds: Set<VehicleEvent.Kind>, _ destinations: [StoreOptions.Destination] = .main
    ) {
        workshop.options.uploadedEvents = kinds
        workshop.options.destinations = destinations
        store.configure(workshop.options)
    }

    private func stored(
        crossings: Bool = true, kinds: Set<VehicleEvent.Kind> = Set(VehicleEvent.Kind.allCases)
    )
        throws -> [RecordedEvent]
    {
        let history = try History(directory: workshop.directory.path)
        var cursor = EventCursor(from: nil, to: nil, crossings: crossings, kinds: kinds)
        var all: [RecordedEvent] = []
        while !cursor.isAtEnd { all += try history.next(&cursor, limit: 3) }
        return all
    }

    @Test("every kind is read back as it was written, in the order of time, also by kind")
    func writing() throws {
        let events = VehicleEvent.Happening.allCases.enumerated().map {
            event($0.offset, $0.element, at: known(Double($0.offset), isEstimated: $0.offset % 2 == 1))
        }
        let crossing = try workshop.insertEvent(3.5)
        try insert(events)
        #expect(try stored().map(\.id) == events[...3].map(\.id) + [crossing] + events[4...].map(\.id))
        #expect(try stored(crossings: false) == events.map { .vehicle($0) })
        #expect(
            try stored(crossings: false, kinds: [.power, .trip])
                == events.filter { [.power, .trip].contains($0.happening.kind) }.map { .vehicle($0) })
        #expect(try stored(kinds: []).map(\.id) == [crossing])
        #expect(store.counts().events == events.count + 1)
        let before = store.counts()
        try workshop.reopen()
        #expect(store.counts() == before)
    }

    @Test("a kind that is not uploaded is kept, and nobody is owed it")
    func localKinds() throws {
        options([.ignition])
        try insert([event(1, .ignitionOn, at: known(1)), event(2, .powerLost, at: known(2))])
        #expect(store.counts().pending == 1)
        let batch = try workshop.freeze()
        _ = try store.acknowledge(batch)
        #expect(try stored().map(\.id) == [uuid(6_000_002)])
        // Not even what is to be sent again.
        var work = Resend(from: time(0), to: nil)
        while !work.isFinished { try store.proceed(with: &work) }
        #expect(work.done == 0 && store.counts().pending == 0)
        try workshop.reopen()
        #expect(store.counts().pending == 0 && store.counts().events == 1)
        // Until it is old.
        _ = try workshop.insert(30 * 86_400, prunesByAge: true)
        #expect(try stored().isEmpty)
        #expect(store.counts().losses == Losses())
    }

    @Test("a destination whose format does not carry them is not owed them; without any that does, nobody is")
    func formats() throws {
        let plain = StoreOptions.Destination(.main, carriesVehicleEvents: false)
        options([.ignition], [plain])
        try insert([event(1, .ignitionOn, at: known(1))])
        #expect(store.counts().pending == 0)
        let other = try #require(DestinationName("other"))
        options([.ignition], [plain, StoreOptions.Destination(other)])
        try insert([event(2, .ignitionOff, at: known(2))])
        let crossing = try workshop.insertEvent(3)
        #expect(store.counts().pending == 1 && store.counts()[other]?.pending == 2)
        let draft = try #require(try store.draftBatch(for: .main, limit: 10))
        #expect(draft.events.map(\.id) == [crossing] && draft.vehicleEvents.isEmpty)
        let full = try #require(try store.draftBatch(for: other, limit: 10))
        #expect(full.events.map(\.id) == [crossing] && full.vehicleEvents.map(\.id) == [uuid(6_000_002)])
        let before = store.counts()
        try workshop.reopen()
        #expect(store.counts() == before)
    }

    @Test(
        "an event without a time is owed, but nobody is sent it until it has one; then it is stamped for good"
    )
    func untimed() throws {
        options([.ignition])
        try insert([
            event(1, .ignitionOn, at: .pending(Self.earlierBoot, booted(5))),
            event(2, .ignitionOff, at: .pending(Self.boot, booted(7))),
            event(3, .powerLost, at: .pending(Self.boot, booted(8))),
        ])
        #expect(store.counts().pending == 0 && store.counts().untimedEvents == 3)
        #expect(try store.draftBatch(limit: 10) == nil)
        #expect(try stored().map(\.time.isKnown) == [false, false, false])
        try workshop.reopen()
        #expect(store.counts().untimedEvents == 3)
        // The latest that is known from before.
        _ = try workshop.insert(50)
        _ = try store.acknowledge(try workshop.freeze())
        let anchor = EventTime.Anchor(boot: Self.boot, now: booted(107), time: time(1000))
        #expect(try store.stampEvents(by: anchor) == 3)
        #expect(try store.stampEvents(by: anchor) == 0)
        #expect(
            try stored().map(\.time) == [known(50, isEstimated: true), known(900), known(901)])
        #expect(store.counts().pending == 2 && store.counts().untimedEvents == 0)
        let batch = try workshop.freeze()
        #expect(batch.events == 2)
        let before = store.counts()
        try workshop.reopen()
        #expect(store.counts() == before)
        #expect(try store.nextFrozen() == batch)
    }

    @Test("what has no time yet goes with everything, and not up to a time")
    func deletion() throws {
        options([.ignition])
        try insert([
            event(1, .ignitionOn, at: .pending(Self.boot, booted(5))), event(2, .ignitionOff, at: known(7)),
        ])
        #expect(try workshop.delete(before: 1e6).removed == 1)
        #expect(try stored().map(\.id) == [uuid(6_000_001)])
        #expect(store.counts().untimedEvents == 1)
        #expect(try workshop.delete().removed == 1)
        #expect(store.counts().untimedEvents == 0 && store.counts().events == 0)
    }

    @Test("dead letters keep all of an event, and give it back")
    func deadLetters() throws {
        options([.trip])
        let trip = event(1, .tripEnded, at: known(7, isEstimated: true))
        try insert([trip])
        let batch = try workshop.freeze()
        #expect(try store.reject(batch, status: 422, at: time(10)) == .deadLettered(1))
        let history = try History(directory: workshop.directory.path)
        var cursor = RejectedCursor()
        #expect(try history.next(&cursor).map(\.event) == [.vehicle(trip)])
        var work = try store.begin(.requeue, of: .main)
        while !work.isFinished { try store.proceed(with: &work) }
        #expect(try stored() == [.vehicle(trip)])
        #expect(try store.draftBatch(limit: 5)?.vehicleEvents == [trip])
    }

    @Test("above the cap those go first that nobody waits for, and last those without a time")
    func cap() throws {
        options([.ignition])
        try insert([event(1, .ignitionOn, at: .pending(Self.boot, booted(5)))])
        for first in stride(from: 2, through: Events.limit, by: 100) {
            try insert(
                (first..<min(first + 100, Events.limit + 1)).map {
                    event($0, $0 % 1000 == 0 ? .powerLost : .ignitionOff, at: known(Double($0)))
                })
        }
        #expect(store.counts().events == Events.limit && store.counts().losses.dropped == 0)
        for number in 1...10 { try insert([event(20_000 + number, .powerBack, at: known(1e5))]) }
        #expect(store.counts().events == Events.limit && store.counts().losses.dropped == 0)
        #expect(try workshop.count("events WHERE kind = 5") == 0)
        for number in 1...30 {
            try insert([event(30_000 + number, .ignitionOn, at: known(2e5 + Double(number)))])
        }
        #expect(store.counts().losses.dropped == 20)
        #expect(store.counts().untimedEvents == 1 && store.counts().events == Events.limit)
    }

    @Test("a damaged database gives back all of them: without a time, owed to nobody, and with what they say")
    func salvage() throws {
        options([.ignition])
        let events = [
            event(1, .ignitionOn, at: known(1, isEstimated: true)), event(2, .powerLost, at: known(2)),
            event(3, .ignitionOff, at: .pending(Self.boot, booted(5))),
            event(4, .powerBack, at: .pending(Self.earlierBoot, booted(6))),
        ]
        try insert(events)
        // A table of no consequence.
        try workshop.damage(table: "counters")
        #expect(try stored() == events.map { .vehicle($0) })
        #expect(store.counts().pending == 1 && store.counts().untimedEvents == 2)
        #expect(try workshop.lines("SELECT uploaded FROM events ORDER BY id") == ["0", "2", "0", "2"])
    }
}
