import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// Geofence events beside the locations: in the same transactions, batches and rules.
@Suite("geofence events")
struct EventTests {
    private let workshop: Workshop
    private var store: Store { workshop.store }

    init() throws {
        workshop = try Workshop()
    }

    private func event(_ number: Int, at seconds: Double, session: Int = 1) -> GeofenceEvent {
        GeofenceEvent(
            id: uuid(5_000_000 + number), session: uuid(session),
            crossing: Crossing(
                geofence: "fence \(number)", kind: number % 2 == 0 ? .enter : .exit, time: time(seconds)))
    }

    private func crossings(
        _ events: [GeofenceEvent], changes: [Geofences.Change] = [], session: Int = 1,
        isTracking: Bool = true,
        extras: String? = nil, at seconds: Double = 0, prunesByAge: Bool = false
    ) -> NewEvents {
        NewEvents(
            events: events, changes: changes, session: uuid(session), sessionStartedAt: time(0),
            isTracking: isTracking, extras: extras, time: time(seconds), prunesByAge: prunesByAge)
    }

    /// Events without locations.
    @discardableResult
    private func insert(
        _ seconds: ClosedRange<Int>, session: Int = 1, isTracking: Bool = true, extras: String? = nil,
        prunesByAge: Bool = false
    ) throws -> [GeofenceEvent] {
        try seconds.map { second in
            let event = event(second, at: Double(second), session: session)
            _ = try store.insert(
                crossings(
                    [event], session: session, isTracking: isTracking, extras: extras, at: Double(second),
                    prunesByAge: prunesByAge))
            return event
        }
    }

    private func stored() throws -> [GeofenceEvent] {
        try workshop.events()
    }

    private func reject(limit: Int = 100) throws {
        let batch = try workshop.freeze(limit: limit)
        #expect(try store.reject(batch, status: 422, at: time(100)) == .deadLettered(batch.rows))
    }

    @Test("an event is written with the location of its fix, or alone, and read back in order")
    func writing() throws {
        let new = NewLocation(
            location: location(5, id: uuid(7)), session: uuid(1), sessionStartedAt: time(0), odometer: 0,
            extras: nil, prunesByAge: false)
        let together = [event(2, at: 4), event(3, at: 5)]
        #expect(
            try store.insert(
                new, with: crossings(together, changes: [.init(key: 9, isInside: true)], at: 5)) == 1)
        let alone = try insert(6...9)
        #expect(try stored() == together + alone)
        #expect(try workshop.stored().map(\.id) == [uuid(7)])
        #expect(store.counts().locations == 1 && store.counts().pending == 7)
        #expect(store.counts().oldestPending == time(4))
        // Events are no locations of their session.
        #expect(try workshop.sessions().map(\.locations) == [1])
        let before = store.counts()
        try workshop.reopen()
        #expect(store.counts() == before)
        let history = try History(directory: workshop.directory.path)
        var cursor = EventCursor(from: time(5), to: time(7))
        #expect(try history.next(&cursor) == ([together[1]] + alone[...1]).map { .crossing($0) })
    }

    @Test("a row that was written although its COMMIT seemed to fail is not written twice")
    func writtenTwice() throws {
        let new = crossings([event(2, at: 4)])
        _ = try store.insert(new)
        // What the store does after any failure.
        try store.perform("insert") { (writer) throws(SQLiteError) in try writer.insert(new, mayExist: true) }
        #expect(try stored().count == 1)
    }

    @Test("states are kept in the transaction of their event, and a new database says that it knows none")
    func states() throws {
        #expect(try store.geofenceStates() == nil)
        try store.adopt([.init(key: 1, isInside: true), .init(key: 2, isInside: false)])
        _ = try store.insert(crossings([event(2, at: 4)], changes: [.init(key: 2, isInside: true)]))
        _ = try store.insert(crossings([], changes: [.init(key: 3, isInside: false)]))
        try workshop.reopen()
        #expect(try store.geofenceStates()?.mapValues(\.isInside) == [1: true, 2: true, 3: false])
        try store.forget(geofences: [1, 3, 99])
        #expect(try store.geofenceStates()?.mapValues(\.isInside) == [2: true])
        try store.adopt([])
        #expect(try store.geofenceStates()?.mapValues(\.isInside) == [:])
        #expect(try stored().count == 1)
    }

    @Test("the session of events outside of tracking lasts until the next start, and is not listed")
    func ownSession() throws {
        try insert(1...2, session: 50, isTracking: false)
        #expect(try store.openEventSession()?.id == uuid(50))
        try workshop.reopen()
        #expect(try store.openEventSession()?.id == uuid(50))
        #expect(try workshop.sessions() == [])
        _ = try store.enter(session: uuid(51), startedAt: time(10))
        #expect(try store.openEventSession() == nil)
        #expect(try workshop.sessions().map(\.id) == [uuid(51)])
        #expect(try stored().map(\.session) == [uuid(50), uuid(50)])
    }

    // MARK: Batches

    @Test("one row at a time, by time, and at the same time the location first, whichever was written first")
    func oneByOne() throws {
        // Its number among the events is lower than those of the locations at its time, and the next one's is higher.
        try insert(3...3)
        _ = try workshop.insert(1...4)
        try insert(1...2)
        var order: [String] = []
        while let draft = try store.draftBatch(limit: 1, asOne: true) {
            let batch = try #require(try workshop.freeze(draft))
            #expect(batch.rows == 1)
            order += draft.locations.map { "L\($0.fix.time.seconds(since: time(0)))" }
            order += draft.events.map { "E\($0.crossing.time.seconds(since: time(0)))" }
            #expect(try store.acknowledge(batch) == 1)
        }
        #expect(order == ["L1.0", "E1.0", "L2.0", "E2.0", "L3.0", "E3.0", "L4.0"])
    }

    @Test("a batch holds one session and one version of the extras, and as many events as locations at most")
    func drafting() throws {
        try insert(1...5, session: 1)
        _ = try workshop.insert(1...5, session: 1)
        try insert(6...7, session: 1, extras: #"{"a":1}"#)
        try insert(8...8, session: 2)
        var shapes: [[Int]] = []
        while let draft = try store.draftBatch(limit: 3) {
            let batch = try #require(try workshop.freeze(draft))
            #expect(batch.locations == draft.locations.count && batch.events == draft.events.count)
            #expect(try store.nextFrozen() == batch)
            shapes.append([draft.locations.count, draft.events.count, draft.extras == nil ? 0 : 1])
            #expect(try store.acknowledge(batch) == batch.rows)
        }
        #expect(shapes == [[3, 3, 0], [2, 2, 0], [0, 2, 1], [0, 1, 0]])
        #expect(store.counts() == StoreCounts())
        #expect(try stored() == [])
    }

    @Test("a late event does not slip into a batch that is frozen already")
    func lateEvents() throws {
        let events = try insert(10...12)
        let batch = try workshop.freeze()
        try workshop.reopen()
        let late = event(11, at: 11.5)
        _ = try store.insert(crossings([late]))
        #expect(try store.acknowledge(try #require(try store.nextFrozen())) == 3)
        #expect(batch.events == events.count)
        #expect(try stored() == [late])
        #expect(try store.draftBatch(limit: 10)?.events == [late])
    }

    @Test("events deleted between draft and freeze make a new draft")
    func deletedDraft() throws {
        try insert(1...3)
        let draft = try #require(try store.draftBatch(limit: 10))
        _ = try workshop.delete(before: 1)
        #expect(try workshop.freeze(draft) == nil)
        #expect(try store.draftBatch(limit: 10)?.events.count == 2)
    }

    @Test("kept uploaded events are marked, and never pending again")
    func keeping() throws {
        workshop.options.keepsUploaded = true
        let events = try insert(1...3)
        #expect(try store.acknowledge(try workshop.freeze()) == 3)
        #expect(try stored() == events)
        #expect(store.counts().pending == 0)
        #expect(try store.draftBatch(limit: 10) == nil)
        try workshop.reopen()
        #expect(store.counts().pending == 0)
    }

    @Test("a batch that a new endpoint dissolves gives its events back")
    func dissolving() throws {
        let events = try insert(1...3)
        try store.adopt(endpoint: 1)
        try store.markPermanent(try workshop.freeze())
        try store.adopt(endpoint: 2)
        #expect(try store.nextFrozen() == nil)
        #expect(try store.draftBatch(limit: 10)?.events == events)
    }

    @Test("isolation halves a batch until the event at fault is alone")
    func isolation() throws {
        _ = try workshop.insert(1...4)
        let events = try insert(1...3)
        var sizes: [[Int]] = []
        var good = 0
        _ = try workshop.freeze()
        while let batch = try store.nextFrozen() {
            sizes.append([batch.locations, batch.events])
            let holdsPoison =
                try workshop.count("events WHERE subject = 'fence 2' AND seq IN (\(batch.eventSeqs))") > 0
            if !holdsPoison {
                good += try store.acknowledge(batch)
            } else if batch.rows == 1 {
                #expect(try store.reject(batch, status: 400, at: time(9)) == .deadLettered(1))
            } else {
                let halves = try store.halves(of: batch)
                #expect(halves.map { $0.locations.count + $0.events.count }.reduce(0, +) == batch.rows)
                try store.split(
                    batch,
                    into: halves.enumerated().map {
                        ($1, uuid(6_000_000 + sizes.count * 10 + $0), StoredRequest(body: [1, 2]))
                    })
            }
        }
        #expect(sizes == [[4, 3], [4, 0], [0, 3], [0, 1], [0, 2], [0, 1], [0, 1]])
        #expect(good == 6)
        #expect(store.counts().rejected == 1 && store.counts().pending == 0)
        let history = try History(directory: workshop.directory.path)
        var cursor = RejectedCursor()
        #expect(try history.next(&cursor).map(\.event) == [.crossing(events[1])])
    }

    // MARK: Dead letters, deletion, retention

    @Test("rejected events are listed behind the locations, re-queued under their ids, and purged")
    func deadLetters() throws {
        let ids = try workshop.insert(1...2)
        let events = try insert(1...3)
        try reject()
        #expect(store.counts().rejected == 5 && store.counts().pending == 0)
        let history = try History(directory: workshop.directory.path)
        for limit in 1...6 {
            var cursor = RejectedCursor()
            var rows: [RejectedRow] = []
            while !cursor.isAtEnd { rows += try history.next(&cursor, limit: limit) }
            #expect(
                rows.compactMap(\.location?.id) == ids
                    && rows.compactMap(\.event) == events.map { .crossing($0) })
            #expect(rows.allSatisfy { $0.httpStatus == 422 && $0.rejectedAt == time(100) })
        }
        try workshop.reopen()
        #expect(store.counts().rejected == 5)
        #expect(try work(.requeue) == 5)
        #expect(store.counts().rejected == 0 && store.counts().pending == 5)
        #expect(try store.draftBatch(limit: 10)?.events == events)
        try reject()
        #expect(try work(.purge) == 5)
        #expect(store.counts() == StoreCounts())
        #expect(try workshop.count("rejected_events") == 0)
    }

    private func work(_ act: RejectedWork.Act) throws -> Int {
        var work = try store.begin(act)
        while !work.isFinished { try store.proceed(with: &work) }
        return work.done
    }

    @Test("dead letters that are events go after seven days as well")
    func expiry() throws {
        try insert(1...3)
        try reject()
        try insert(9...9)
        _ = try store.acknowledge(try workshop.freeze())
        try insert(4...4)
        let late = time(100).advanced(bySeconds: 7 * 86_400 + 1)
        _ = try store.reject(try workshop.freeze(), status: 422, at: late, trusted: late)
        #expect(store.counts().rejected == 1)
        #expect(store.counts().losses == Losses(expired: 3))
    }

    @Test("a deletion takes events and dead letters up to the cutoff, and dissolves their batch")
    func deletion() throws {
        try insert(1...3)
        try reject()
        let events = try insert(2...6)
        _ = try workshop.insert(1...2)
        let batch = try workshop.freeze()
        // Those that come later are none of its business, whatever their time.
        var deletion = try store.beginDeletion(before: time(2))
        let later = event(90, at: 1)
        _ = try store.insert(crossings([later]))
        while !deletion.isFinished { try store.proceed(with: &deletion) }
        #expect(deletion.removed == 2 + 1 + 2)
        #expect(deletion.dissolved == [batch.id])
        #expect(try stored() == [later] + events[1...])
        #expect(store.counts().rejected == 1 && store.counts().pending == 5)
        #expect(try store.draftBatch(limit: 10)?.events == [later] + events[1...])
        #expect(try workshop.delete().removed == 6)
        #expect(store.counts() == StoreCounts())
    }

    @Test("a deletion of many events goes in steps of a thousand rows")
    func largeDeletion() throws {
        let many = (0..<2500).map { event($0, at: Double($0)) }
        _ = try store.insert(crossings(many))
        var deletion = try store.beginDeletion(before: nil)
        var steps = 0
        while !deletion.isFinished {
            let before = deletion.removed
            try store.proceed(with: &deletion)
            if deletion.removed > before { steps += 1 }
        }
        #expect(deletion.removed == 2500 && steps == 3)
    }

    @Test("without an upload events go by age; with one only those that were uploaded")
    func age() throws {
        let week = 7 * 86_400
        workshop.options.destinations = []
        try insert(1...3)
        try insert(week + 2...week + 2, prunesByAge: true)
        #expect(try stored().map(\.crossing.time) == [2, 3, Double(week) + 2].map(time))
        // A location prunes events as well.
        try workshop.insert(Double(week) + 5, prunesByAge: true)
        #expect(try stored().count == 1)
        workshop.options.destinations = .main
        try workshop.insert(3 * Double(week), prunesByAge: true)
        #expect(try stored().count == 1)
        workshop.options.keepsUploaded = true
        while let draft = try store.draftBatch(limit: 100) {
            _ = try store.acknowledge(try #require(try workshop.freeze(draft)))
        }
        try workshop.insert(3 * Double(week) + 1, prunesByAge: true)
        #expect(try stored().isEmpty)
        #expect(store.counts().losses.dropped == 0)
    }

    @Test("above 10,000 events the oldest go, members of a batch excepted, and unsent ones are counted")
    func cap() throws {
        let many = (0..<Events.limit).map { event($0, at: Double($0)) }
        _ = try store.insert(crossings(many))
        let batch = try workshop.freeze(limit: 4)
        #expect(batch.events == 4)
        try insert(20_000...20_002)
        let left = try stored()
        #expect(left.count == Events.limit)
        #expect(left.prefix(5).map(\.crossing.time) == [0, 1, 2, 3, 7].map(time))
        #expect(store.counts().losses.dropped == 3)
        #expect(try store.acknowledge(batch) == 4)
        let counts = store.counts()
        try workshop.reopen()
        #expect(store.counts().pending == counts.pending)
    }

    @Test("sessions whose events are still here are not forgotten")
    func sessionsStay() throws {
        try insert(1...1, session: 1)
        for number in 2...(Sessions.limit + 5) {
            _ = try store.enter(session: uuid(number), startedAt: time(Double(number)))
        }
        #expect(try stored().map(\.session) == [uuid(1)])
        #expect(try store.draftBatch(limit: 5)?.session == uuid(1))
    }

    @Test("events of a damaged database come into the new one")
    func salvage() throws {
        let events = try insert(1...20, session: 4, isTracking: false)
        _ = try workshop.insert(1...3, session: 5)
        // A table of no consequence.
        try workshop.damage(table: "counters")
        #expect(Set(try stored().map(\.id)) == Set(events.map(\.id)))
        #expect(try stored().allSatisfy { $0.session == uuid(4) })
        // The states are not believed: a file beside the database has them.
        #expect(try store.geofenceStates() == nil)
    }
}
