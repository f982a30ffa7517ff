import Base
import Glibc
import SQLite
import Storage
import Testing
import Tracking

@testable import Daemon

@Suite("what is kept of geofences")
struct FenceKeeperTests {
    private let workshop: Workshop
    private let hub: Hub
    private let recorder: Recorder
    private let keeper: FenceKeeper

    init() throws {
        workshop = try Workshop()
        hub = try workshop.hubWithFilesApart()
        recorder = Recorder(store: hub.store)
        keeper = FenceKeeper(hub: hub, recorder: recorder)
        keeper.resume(now: instant(0))
    }

    private func fence(_ id: String, radius: Double = 100) throws -> Geofence {
        try Geofence(id: id, latitude: 52.5, longitude: 13.25, radius: radius)
    }

    /// The daemon after a restart: the ids of the fences and whether the vehicle is inside.
    private func resumed() -> [String: Bool?] {
        let again = FenceKeeper(hub: hub, recorder: recorder)
        again.resume(now: instant(0))
        return Dictionary(uniqueKeysWithValues: again.geofences.items.map { ($0.fence.id, $0.isInside) })
    }

    /// The vehicle is found inside all fences, and it is stored.
    private func enter(_ seconds: ClosedRange<Int> = 0...30) throws {
        for second in seconds {
            let time = start.advanced(bySeconds: Double(second))
            let centre = try #require(Coordinate(latitude: 52.5, longitude: 13.25))
            let outcome = keeper.geofences.judge(Fix(time: time, mode: 3, coordinate: centre))
            guard !outcome.isEmpty else { continue }
            recorder.add(
                NewEvents(
                    events: [], changes: outcome.changes, session: try workshop.location(0).session,
                    sessionStartedAt: start, isTracking: true, extras: nil, time: time, prunesByAge: false))
        }
    }

    private func flush(_ second: Double) {
        if recorder.flush(now: instant(second), stopwatch()).hasStates {
            keeper.noteStoredStates()
        }
        keeper.keepChangedStates(now: instant(second))
    }

    private var keptInside: Set<Int64> { hub.files.read(StoredInside.self).map(\.keys).content ?? [] }

    @Test("what is added and removed is durable when the call returns")
    func durable() throws {
        try keeper.add([fence("a"), fence("b")], now: instant(0), recording: unheard)
        #expect(resumed() == ["a": nil, "b": nil])
        #expect(try keeper.remove(["a", "x"], now: instant(0), recording: unheard) == 1)
        #expect(try keeper.remove(["x"], now: instant(0), recording: unheard) == 0)
        #expect(resumed() == ["b": nil])
    }

    @Test("too many, or what cannot be written, changes nothing")
    func refused() throws {
        try keeper.add([fence("a")], now: instant(0), recording: unheard)
        let many = try (0..<Geofences.limit).map { try fence("\($0)") }
        #expect(throws: CommandFailure.self) { try keeper.add(many, now: instant(0), recording: unheard) }
        let path = workshop.filesApart + "/" + SmallFiles.Name.geofences
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        #expect(throws: CommandFailure.self) {
            try keeper.add([fence("b")], now: instant(0), recording: unheard)
        }
        #expect(throws: CommandFailure.self) { try keeper.remove(["a"], now: instant(0), recording: unheard) }
        #expect(keeper.geofences.items.map(\.fence.id) == ["a"])
    }

    @Test("states are known after a restart: from the database, or from the file beside it")
    func states() throws {
        try keeper.add([fence("a"), fence("b", radius: 200)], now: instant(0), recording: unheard)
        try enter()
        flush(0)
        #expect(keptInside == keeper.geofences.insideKeys && keptInside.count == 2)
        #expect(resumed() == ["a": true, "b": true])
        let database = try Connection(path: workshop.state + "/beekon.db", access: .readWrite)
        try database.execute("UPDATE geofence_states SET is_inside = 0 WHERE key = 1")
        #expect(resumed() == ["a": false, "b": true], "the database knows better")
        try hub.files.write(StoredInside([1]))
        try workshop.breakStorage()
        #expect(resumed() == ["a": true, "b": nil])
        try workshop.mendStorage()
    }

    @Test("the file does not run ahead of events that wait for the disk")
    func waiting() throws {
        try keeper.add([fence("a")], now: instant(0), recording: unheard)
        try workshop.breakStorage()
        try enter()
        flush(0)
        keeper.noteStoredStates()
        keeper.keepChangedStates(now: instant(0))
        #expect(recorder.waiting > 0 && !keeper.geofences.insideKeys.isEmpty && keptInside.isEmpty)
        try workshop.mendStorage()
        flush(1)
        #expect(recorder.waiting == 0 && keptInside == keeper.geofences.insideKeys)
    }

    @Test("a new database is told all states, and the files are written again")
    func newDatabase() throws {
        try keeper.add([fence("a")], now: instant(0), recording: unheard)
        try enter()
        flush(0)
        try hub.store.forget(geofences: [1])
        for name in [SmallFiles.Name.geofences, SmallFiles.Name.inside] {
            #expect(unlink(workshop.filesApart + "/" + name) == 0)
        }
        keeper.writeAgain()
        keeper.noteChangedDatabase()
        keeper.keepChangedStates(now: instant(1))
        #expect(try hub.store.geofenceStates()?.mapValues(\.isInside) == [1: true])
        #expect(keptInside == [1] && resumed() == ["a": true])
    }

    /// Nobody asks for exits here.
    private func unheard(_ left: [Geofences.Item], _ gone: [Int64]) {}

    @Test("exits from what is left are recorded first, and a failure changes nothing")
    func exits() throws {
        try keeper.add(
            [fence("a"), fence("b", radius: 200), fence("far")], now: instant(0), recording: unheard)
        try enter()
        flush(0)
        let inside = keeper.geofences.items.filter { $0.isInside == true }.map(\.fence.id)
        var asked: [(left: [String], gone: [Int64])] = []
        let before = keeper.geofences.items
        #expect(throws: CommandFailure.self) {
            try keeper.remove(["a", "b", "far"], now: instant(1)) { (left, gone) throws(CommandFailure) in
                asked.append((left.map(\.fence.id), gone))
                throw CommandFailure(reason: "the disk is full")
            }
        }
        #expect(keeper.geofences.items == before && asked.map(\.left) == [inside])
        #expect(Set(asked[0].gone) == keeper.geofences.insideKeys)
    }

    @Test("the state of a fence that is gone is forgotten, also when storage fails meanwhile")
    func forgotten() throws {
        try keeper.add([fence("a"), fence("b")], now: instant(0), recording: unheard)
        try enter()
        flush(0)
        _ = try keeper.remove(["a"], now: instant(0), recording: unheard)
        #expect(try hub.store.geofenceStates()?.mapValues(\.isInside) == [2: true])
        try workshop.breakStorage()
        _ = try keeper.remove(["b"], now: instant(1), recording: unheard)
        #expect(recorder.error != nil)
        try workshop.mendStorage()
        flush(2)
        #expect(try hub.store.geofenceStates()?.mapValues(\.isInside) == [:])
    }
}
