import SQLite
import Support
import Testing

@testable import Base
@testable import Storage
@testable import Tracking

/// What the reader could not know when it admitted a fix, the store does.
@Suite("instants within a session")
struct InstantTests {
    private let workshop: Workshop

    init() throws {
        workshop = try Workshop()
    }

    private func new(_ seconds: Double, run: Int?, session: Int = 1) -> NewLocation {
        NewLocation(
            location: location(seconds, id: uuid(Int(seconds * 10) + 4_000_000)), session: uuid(session),
            sessionStartedAt: time(0), odometer: 0, extras: nil, prunesByAge: false, run: run)
    }

    /// Whether the location is stored.
    private func store(_ seconds: Double, run: Int?, session: Int = 1) throws -> Bool {
        try workshop.store.insert(new(seconds, run: run, session: session)) != nil
    }

    @Test("in one run they ascend; what lies further back than a minute was told by another clock")
    func ascending() throws {
        for (seconds, run, isStored) in [
            (100, 0, true), (100, 0, false), (99.999, 0, false), (101, 0, true), (41, 0, false),
            (40.999, 0, true),
            (40.999, 0, false), (41, 0, true), (100, 0, true), (70, 1, true), (69, 1, false), (71, 1, true),
            (70, nil, true),
        ] as [(Double, Int?, Bool)] {
            #expect(try store(seconds, run: run) == isStored, "\(seconds) in run \(run ?? -1)")
        }
        #expect(try workshop.stored().count == 8)
        // Another session is another matter.
        #expect(try store(50, run: 1, session: 2))
        #expect(try !store(50, run: 1, session: 2))
    }

    @Test("also after a restart, and when the row is gone")
    func afterRestart() throws {
        #expect(try store(100, run: 3))
        #expect(try workshop.store.acknowledge(workshop.freeze()) == 1)
        #expect(try workshop.stored().isEmpty)
        try workshop.reopen()
        #expect(try !store(100, run: 0) && !store(60, run: 0))
        #expect(try store(39, run: 0))
        try workshop.reopen()
        #expect(try !store(39, run: 0) && store(40, run: 0))
    }

    @Test("what the fix has decided is written all the same, and once")
    func events() throws {
        #expect(try store(100, run: 0))
        let event = GeofenceEvent(
            id: uuid(5_000_000), session: uuid(1),
            crossing: Crossing(geofence: "home", kind: .enter, time: time(90)))
        let crossings = NewEvents(
            events: [event], changes: [.init(key: 9, isInside: true)], session: uuid(1),
            sessionStartedAt: time(0),
            isTracking: true, extras: nil, time: time(90), prunesByAge: false)
        let late = new(90, run: 0)
        for _ in 0..<2 {
            let isStored = try workshop.store.perform("insert") { (writer) throws(SQLiteError) in
                try writer.insert(late, crossings, mayExist: true)
            }
            #expect(!isStored)
        }
        #expect(workshop.store.counts().events == 1 && workshop.store.counts().locations == 1)
    }

    @Test("a row that was written although its COMMIT seemed to fail is not refused")
    func writtenTwice() throws {
        let new = new(100, run: 0)
        for _ in 0..<2 {
            let isStored = try workshop.store.perform("insert") { (writer) throws(SQLiteError) in
                try writer.insert(new, mayExist: true)
            }
            #expect(isStored)
        }
        #expect(try workshop.stored().count == 1)
    }
}
