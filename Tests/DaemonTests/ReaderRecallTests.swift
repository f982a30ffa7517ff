import Base
import DaemonConfiguration
import GPSD
import Linux
import Storage
import Synchronization
import Testing
import Tracking

@testable import Daemon

/// What the reader must know of the time before the start, when storage fails at the start.
@Suite("what the reader recalls")
struct ReaderRecallTests {
    private let workshop: Workshop
    private let session: UUIDv7

    init() throws {
        workshop = try Workshop()
        let stored = try workshop.location(0)
        session = stored.session
        var known = stored
        known.odometer = 5000
        known.ages = AgeTrust.Memory(latest: start)
        _ = try workshop.hub.store.enter(session: session, startedAt: start)
        _ = try workshop.hub.store.insert(known)
    }

    private func reader() throws -> Reader {
        var settings = Settings()
        settings.tracking.distanceMeters = 0
        let reader = try #require(Reader(hub: workshop.hub, settings: settings))
        // What is written of the intent is beside the database, which fails.
        try workshop.hub.files.write(
            StoredIntent(state: .tracking, session: session, startedAt: start))
        #expect(reader.sessions.resume() == .tracking)
        return reader
    }

    private func recall(_ items: Recall.Item..., by reader: Reader) {
        for item in items { reader.sessions.recall.add(item) }
        reader.recall(now: instant(0))
    }

    private func fix(_ second: Double) throws -> Fix {
        let coordinate = try #require(Coordinate(latitude: 52.6, longitude: 13.25))
        return Fix(time: start.advanced(bySeconds: second), mode: 3, coordinate: coordinate)
    }

    private func follow(_ second: Int, by reader: Reader) throws {
        let now = instant(Double(second))
        reader.follow(.fix(try fix(Double(second))), readAt: now, now: now)
    }

    @Test("once storage works again, the gate knows the last admitted fix, and the clock how late it is")
    func recovery() throws {
        let reader = try reader()
        try workshop.breakStorage()
        recall(.latest, .tail, .ages, by: reader)
        #expect(reader.recorder.latest == nil)
        #expect(reader.recorder.error != nil)
        try workshop.mendStorage()
        for second in 1...20 { try follow(second, by: reader) }
        #expect(reader.recorder.latest?.fix.time == start, "nothing else was admitted within the interval")
        #expect(reader.recorder.stored == 0)
        #expect(reader.pipeline.dropped.tooSoon > 0)
        #expect(workshop.hub.clock.earliest(now: instant(20)) > start)
        #expect(workshop.hub.ages.withLock { $0?.memory.lines.isEmpty } == false)
        reader.flush(now: instant(20))
        #expect(reader.recorder.error == nil)
        for second in 21...31 { try follow(second, by: reader) }
        #expect(reader.recorder.stored == 1)
        #expect(reader.pipeline.admission.odometer > 15_000)
    }

    @Test("fixes that were admitted without it are stored with the way before them")
    func meanwhile() throws {
        let reader = try reader()
        try workshop.breakStorage()
        recall(.latest, .tail, .ages, by: reader)
        for second in 40...45 { try follow(second, by: reader) }
        #expect(reader.recorder.waiting == 1)
        #expect(reader.recorder.stored == 0, "counted is what is stored")
        try workshop.mendStorage()
        reader.flush(now: instant(46))
        #expect(reader.recorder.waiting == 0)
        #expect(reader.recorder.stored == 1)
        #expect(reader.pipeline.admission.odometer == 5000)
        #expect(try workshop.stored().count == 2)
    }

    @Test("a lost intent is known once storage answers; until then nothing tracks", arguments: [false, true])
    func lostIntent(isOpen: Bool) throws {
        if !isOpen { try workshop.hub.store.close(session: session, at: start) }
        let reader = try autostarting()
        #expect(reader.sessions.state == .idle)
        try workshop.mendStorage()
        reader.flush(now: instant(2))
        #expect(reader.sessions.state == (isOpen ? .tracking : .stopped))
        #expect(reader.sessions.session?.id == (isOpen ? session : nil))
        #expect(workshop.hub.files.read(StoredIntent.self).content?.session == session)
    }

    @Test("an intent that the disk does not give for a while is read again, whatever the database holds")
    func unreadableIntent() throws {
        // As a power cut leaves it at `durability = "normal"`: the file has a session that the database never had.
        try workshop.hub.store.close(session: session, at: start)
        let newer = try workshop.location(5).location.id
        let (reader, files) = try unreadable(
            StoredIntent(state: .tracking, session: newer, startedAt: start))
        for second in 1...5 { reader.flush(now: instant(Double(second))) }
        #expect(reader.sessions.state == .idle && reader.recorder.error?.kind == .io)
        #expect(reader.recorder.retryAt != nil, "it is tried again without a fix, too")
        files.fail(false)
        reader.flush(now: instant(6))
        #expect(reader.sessions.session?.id == newer && reader.recorder.error == nil)
        #expect(reader.hub.board.damagedFiles.isEmpty, "it was whole")
    }

    @Test(
        "one that is never given again keeps nobody from tracking: the database tells",
        arguments: [false, true])
    func lostForGood(isOpen: Bool) throws {
        if !isOpen { try workshop.hub.store.close(session: session, at: start) }
        let intent = StoredIntent(
            state: isOpen ? .tracking : .stopped, session: session, startedAt: start)
        let (reader, files) = try unreadable(intent)
        for second in 1...12 { reader.flush(now: instant(Double(second))) }
        #expect(reader.sessions.state == (isOpen ? .tracking : .stopped) && reader.recorder.error == nil)
        files.fail(false)
        #expect(reader.hub.files.read(StoredIntent.self).content == intent, "it is not written over")
    }

    @Test("who starts meanwhile need not wait for it")
    func startMeanwhile() throws {
        let intent = StoredIntent(state: .stopped, session: session, startedAt: start)
        let (reader, files) = try unreadable(intent)
        files.fail(false)
        reader.perform(.start(1), now: instant(1))
        reader.flush(now: instant(2))
        #expect(reader.sessions.state == .tracking && reader.recorder.error == nil)
    }

    /// A reader that has begun while the disk does not give the file of the intent.
    private func unreadable(_ intent: StoredIntent) throws -> (Reader, UnreadableFiles) {
        let files = UnreadableFiles("intent.json")
        let hub = try Hub(
            store: workshop.hub.store,
            files: SmallFiles(try StateDirectory(workshop.filesApart, on: files)), clock: wallClock())
        try hub.files.write(intent)
        files.fail(true)
        let reader = try #require(Reader(hub: hub, settings: Settings()))
        reader.resume(now: instant(0))
        #expect(reader.sessions.state == .idle)
        return (reader, files)
    }

    @Test("a stop before storage answers is one")
    func stopMeanwhile() throws {
        let reader = try autostarting()
        try workshop.mendStorage()
        reader.perform(.stop(1), now: instant(1))
        reader.flush(now: instant(2))
        #expect(reader.sessions.state == .stopped)
        #expect(workshop.hub.files.read(StoredIntent.self).content?.state == .stopped)
        #expect(try workshop.hub.store.openTrackingSession() == nil)
    }

    /// A reader that has begun while storage fails, without any intent.
    private func autostarting() throws -> Reader {
        var settings = Settings()
        settings.tracking.autostart = true
        let reader = try #require(Reader(hub: workshop.hub, settings: settings))
        try workshop.breakStorage()
        reader.resume(now: instant(0))
        return reader
    }

    @Test("while everything is being deleted, only the length of the session comes back")
    func deleting() throws {
        var parked = try workshop.location(1)
        parked.location.motion = .stationary
        parked.odometer = 5000
        parked.memory = Admission.Memory(motion: .stationary, spot: parked.location.fix.coordinate)
        _ = try workshop.hub.store.insert(parked)
        _ = try workshop.hub.store.beginDeletion(before: nil)
        let reader = try reader()
        recall(.deletion, .tail, by: reader)
        #expect(reader.work.isDeleting)
        #expect(reader.pipeline.admission.memory == Admission.Memory())
        #expect(reader.pipeline.admission.odometer == 5000)
    }

    @Test("while all up to a time is being deleted, what came later comes back", arguments: [0.5, 1, 2])
    func deletingUpTo(second: Double) throws {
        var parked = try workshop.location(1)
        parked.location.motion = .stationary
        parked.memory = Admission.Memory(motion: .stationary, spot: parked.location.fix.coordinate)
        _ = try workshop.hub.store.insert(parked)
        _ = try workshop.hub.store.beginDeletion(before: start.advanced(bySeconds: second))
        let reader = try reader()
        recall(.deletion, .tail, .latest, by: reader)
        #expect((reader.pipeline.admission.memory == Admission.Memory()) == (second >= 1))
        #expect((reader.recorder.latest == nil) == (second >= 1))
    }

    @Test("a deletion forgets at once what is in memory, and keeps the length of the session")
    func forgetting() throws {
        let reader = try reader()
        recall(.tail, .latest, by: reader)
        #expect(reader.recorder.latest != nil)
        reader.perform(.delete(before: start.advanced(bySeconds: -1), 1), now: instant(1))
        #expect(reader.recorder.latest != nil, "it came later")
        for second in 1..<1000 where reader.work.isDeleting { reader.runSteps(now: instant(Double(second))) }
        reader.perform(.delete(before: nil, 2), now: instant(1000))
        #expect(reader.recorder.latest == nil)
        #expect(reader.pipeline.admission.memory == Admission.Memory())
        #expect(reader.pipeline.admission.odometer == 5000)
    }
}
