import Base
import SQLite
import Storage
import Testing
import Tracking

@testable import Daemon

@Suite("the recorder")
struct RecorderTests {
    private let workshop: Workshop
    private var recorder: Recorder

    init() throws {
        workshop = try Workshop()
        recorder = Recorder(store: workshop.hub.store)
    }

    @Test("what is added is stored at once, and returned when COMMIT has returned")
    mutating func stores() throws {
        for second in 0..<3 {
            let new = try workshop.location(Double(second))
            recorder.add(new)
            let result = recorder.flush(now: instant(0), stopwatch())
            #expect(result.stored == [new.location])
            #expect(result.pending == second + 1)
            #expect(recorder.waiting == 0 && recorder.retryAt == nil && recorder.error == nil)
        }
        #expect(try workshop.stored().count == 3)
    }

    @Test("what the store refuses, because its session has come further, is counted and not published")
    mutating func repetitions() throws {
        for (second, stored) in [(10.0, 1), (9, 0), (11, 1)] {
            var new = try workshop.location(second)
            new.run = 0
            recorder.add(new)
            #expect(recorder.flush(now: instant(0), stopwatch()).stored.count == stored)
            #expect(recorder.waiting == 0)
        }
        #expect(recorder.stored == 2 && recorder.repeated == 1 && recorder.refused == 0)
        #expect(recorder.latest?.fix.time == start.advanced(bySeconds: 11))
    }

    @Test("nothing to write is nothing to publish")
    mutating func empty() {
        let result = recorder.flush(now: instant(0), stopwatch())
        #expect(result.stored.isEmpty)
        #expect(result.pending == nil)
    }

    @Test("while storage fails 256 wait, further ones are refused and counted, and all come in order")
    mutating func outage() throws {
        let all = try (0..<300).map { try workshop.location(Double($0)) }
        recorder.add(all[0])
        _ = recorder.flush(now: instant(0), stopwatch())
        try workshop.breakStorage()
        for (index, location) in all.enumerated().dropFirst() {
            recorder.add(location)
            #expect(recorder.flush(now: instant(Double(index)), stopwatch()).stored.isEmpty)
            #expect(recorder.waiting == min(index, 256))
            #expect(recorder.refused == max(0, index - 256))
        }
        #expect(recorder.error?.kind == .io)
        #expect(recorder.retryAt == instant(300))
        try workshop.mendStorage()
        let result = recorder.flush(now: instant(301), stopwatch())
        #expect(result.stored == all[1...256].map(\.location))
        #expect(result.pending == 257)
        #expect(recorder.waiting == 0 && recorder.refused == 43)
        #expect(recorder.error == nil && recorder.retryAt == nil)
        #expect(try workshop.stored() == all[0...256].map(\.location.id))
        recorder.add(all[299])
        #expect(recorder.flush(now: instant(302), stopwatch()).stored == [all[299].location])
    }

    @Test("what else has failed is tried again after the fixes, and storage works when it has succeeded")
    mutating func repair() throws {
        let store = workshop.hub.store
        let session = try workshop.location(0).session
        try workshop.breakStorage()
        do {
            try store.close(session: session, at: start)
            Issue.record("nothing is broken")
        } catch {
            recorder.note(error, now: instant(0)) { () throws(StorageError) in
                try store.close(session: session, at: start)
            }
        }
        #expect(recorder.isRetryDue(instant(1)))
        recorder.add(try workshop.location(1))
        _ = recorder.flush(now: instant(1), stopwatch())
        #expect(recorder.error != nil && recorder.isRetryDue(instant(2)))
        try workshop.mendStorage()
        #expect(recorder.flush(now: instant(2), stopwatch()).stored.count == 1)
        #expect(recorder.error == nil && recorder.retryAt == nil)
        let sessions = try History(directory: workshop.state).allSessions()
        #expect(sessions.map(\.stoppedAt) == [start])
    }

    @Test("a slow disk is given one fix at a time, and the rest is due at once")
    mutating func slow() throws {
        var all: [NewLocation] = []
        try workshop.breakStorage()
        for second in 0..<3 {
            all.append(try workshop.location(Double(second)))
            recorder.add(all[second])
            _ = recorder.flush(now: instant(0), stopwatch())
        }
        try workshop.mendStorage()
        for (index, location) in all.enumerated() {
            let now = Double(index) * 60
            #expect(recorder.isRetryDue(instant(now + 1)))
            let result = recorder.flush(now: instant(now), stopwatch(60))
            #expect(result.stored == [location.location])
            #expect(recorder.waiting == 2 - index)
        }
        #expect(recorder.retryAt == nil && recorder.error == nil)
        #expect(try workshop.stored() == all.map(\.location.id))
    }

    @Test("what is discarded is not written, but what fixes have decided about geofences is")
    mutating func discard() throws {
        let all = try (0..<4).map { try workshop.location(Double($0)) }
        try workshop.breakStorage()
        for (second, location) in all.enumerated() {
            let time = location.location.fix.time
            let event = GeofenceEvent(
                id: location.location.id, session: location.session,
                crossing: Crossing(geofence: "Tor", kind: second % 2 == 0 ? .enter : .exit, time: time))
            recorder.add(
                location,
                with: NewEvents(
                    events: [event], changes: [.init(key: 1, isInside: second % 2 == 0)],
                    session: location.session, sessionStartedAt: start, isTracking: true, extras: nil,
                    time: time,
                    prunesByAge: false))
        }
        _ = recorder.flush(now: instant(0), stopwatch())
        #expect(recorder.discard(upTo: start.advanced(bySeconds: 1)) == 4)
        try workshop.mendStorage()
        let result = recorder.flush(now: instant(1), stopwatch())
        #expect(result.stored == all[2...].map(\.location) && result.events.count == 2)
        #expect(try workshop.stored() == all[2...].map(\.location.id))
        let states = try Connection(path: workshop.state + "/beekon.db", access: .readOnly)
        #expect(try states.value("SELECT is_inside FROM geofence_states WHERE key = 1") == "0")
        try workshop.breakStorage()
        recorder.add(try workshop.location(9))
        _ = recorder.flush(now: instant(2), stopwatch())
        #expect(recorder.discard(upTo: nil) == 1 && recorder.waiting == 0)
    }

    @Test("a retry is due a second after the failure, not before, and without one never")
    mutating func retry() throws {
        #expect(!recorder.isRetryDue(instant(1e6)))
        try workshop.breakStorage()
        recorder.add(try workshop.location(0))
        _ = recorder.flush(now: instant(10), stopwatch())
        #expect(!recorder.isRetryDue(instant(10.9)))
        #expect(recorder.isRetryDue(instant(11)))
        try workshop.mendStorage()
        #expect(recorder.flush(now: instant(11), stopwatch()).stored.count == 1)
        #expect(!recorder.isRetryDue(instant(1e6)))
    }

    @Test("a fault that another operation met is over with the next location stored")
    mutating func noted() throws {
        recorder.note(
            StorageError(operation: "close session", kind: .io, message: "disk on fire"), now: instant(0))
        _ = recorder.flush(now: instant(0), stopwatch())
        #expect(recorder.error?.message == "disk on fire")
        recorder.add(try workshop.location(0))
        _ = recorder.flush(now: instant(0), stopwatch())
        #expect(recorder.error == nil)
    }
}
