import Base
import Glibc
import Linux
import SQLite
import Storage
import Testing
import Tracking

@testable import Daemon

@Suite("whether to track")
struct SessionKeeperTests {
    private let workshop: Workshop
    private let hub: Hub
    private let recorder: Recorder
    private let keeper: SessionKeeper
    private let session: Session

    init() throws {
        workshop = try Workshop()
        hub = try workshop.hubWithFilesApart()
        recorder = Recorder(store: hub.store)
        keeper = SessionKeeper(hub: hub, recorder: recorder)
        session = Session(id: try workshop.location(0).session, startedAt: start)
    }

    private var intent: StoredIntent? { hub.files.read(StoredIntent.self).content }

    /// The daemon after a restart.
    private func restarted() -> SessionKeeper { SessionKeeper(hub: hub, recorder: recorder) }

    @Test("start and stop are durable, and known after a restart")
    func durable() throws {
        #expect(try keeper.stop(at: start) == nil)
        try keeper.start(.user, in: session, now: instant(0))
        #expect(keeper.session == session && keeper.change == StateChange(session, .tracking, .user, nil))
        #expect(try hub.store.openTrackingSession()?.id == session.id)
        let second = restarted()
        #expect(second.resume() == .tracking)
        #expect(second.change == StateChange(session, .tracking, .resumed))
        #expect(second.recall.next == .tail)
        #expect(try second.stop(at: start) == session)
        second.close(session, at: start, now: instant(1))
        #expect(try hub.store.openTrackingSession() == nil)
        let third = restarted()
        #expect(third.resume() == .stopped)
        #expect(third.change == StateChange(session, .stopped, .user) && third.recall.next == nil)
    }

    @Test("what somebody says the vehicle does is durable until a location goes by it, or tracking stops")
    func motion() throws {
        #expect(throws: CommandFailure.self) { try keeper.keep(.moving) }
        try keeper.start(.user, in: session, now: instant(0))
        try keeper.keep(.stationary)
        let second = restarted()
        #expect(second.resume() == .tracking && second.motion == .stationary)
        // Who decided is written beside it.
        let person = Wish(tracks: true, origin: .person, time: start)
        second.note(person)
        #expect(intent?.statedMotion == .stationary && intent?.wish == person)
        second.forgetMotion()
        let third = restarted()
        #expect(third.resume() == .tracking && third.motion == nil && third.wish == person)
        try third.keep(.moving)
        _ = try third.stop(for: Wish(tracks: false, origin: .person, time: start), at: start)
        #expect(third.motion == nil && intent?.motion == nil)
        // Of a person's stop the moment is kept, for what it ends.
        #expect(third.stoppedAt == start && intent?.stoppedAt == start.milliseconds)
        let stopped = restarted()
        #expect(stopped.resume() == .stopped && stopped.stoppedAt == start)
        let fourth = restarted()
        #expect(fourth.resume() == .stopped && fourth.motion == nil)
    }

    @Test("who decided, and when, is durable; a stop that the schedule made is the system's")
    func origin() throws {
        let opened = Wish(tracks: true, origin: .schedule, time: start)
        try keeper.start(.schedule, in: session, for: opened, now: instant(0))
        let second = restarted()
        #expect(second.resume() == .tracking && second.wish == opened)
        // A person has said the same since.
        let person = Wish(tracks: true, origin: .person, time: start.advanced(bySeconds: 60))
        second.note(person)
        #expect(intent?.wish == person && intent?.session == session.id)
        let closed = Wish(tracks: false, origin: .schedule, time: start.advanced(bySeconds: 3600))
        #expect(try second.stop(for: closed, at: start) == session)
        #expect(second.change == StateChange(session, .stopped, .system, .schedule))
        let third = restarted()
        #expect(third.resume() == .stopped && third.wish == closed)
        #expect(third.change == StateChange(session, .stopped, .system, .schedule))
        // An earlier version knew persons only.
        try hub.files.write(StoredIntent(state: .stopped, session: session.id, startedAt: start))
        let fourth = restarted()
        #expect(fourth.resume() == .stopped && fourth.change == StateChange(session, .stopped, .user))
        #expect(fourth.wish == Wish(tracks: false, origin: .person, time: nil))
    }

    @Test("what cannot be written does not happen")
    func unwritable() throws {
        let path = workshop.filesApart + "/" + SmallFiles.Name.intent
        #expect(mkdir(path, 0o700) == 0)
        #expect(throws: CommandFailure.self) { try keeper.start(.user, in: session, now: instant(0)) }
        #expect(keeper.state == .idle && keeper.session == nil)
        #expect(rmdir(path) == 0)
        try keeper.start(.user, in: session, now: instant(0))
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        #expect(throws: CommandFailure.self) { try keeper.stop(at: start) }
        #expect(keeper.session == session)
    }

    @Test("a start while storage fails tracks, and notes the failure")
    func failingStorage() throws {
        try workshop.breakStorage()
        try keeper.start(.user, in: session, now: instant(0))
        #expect(keeper.session == session && recorder.error != nil)
        try workshop.mendStorage()
        #expect(intent?.session == session.id)
    }

    @Test(
        "without the file the database tells what was intended",
        arguments: [
            (isOpen: nil, autostarts: false, inference: .nothing, state: .idle),
            (isOpen: nil, autostarts: true, inference: .autostart, state: .idle),
            (isOpen: true, autostarts: true, inference: .resumed, state: .tracking),
            (isOpen: true, autostarts: false, inference: .resumed, state: .tracking),
            (isOpen: false, autostarts: true, inference: .stopped, state: .stopped),
            (isOpen: false, autostarts: false, inference: .stopped, state: .stopped),
        ] as [(Bool?, Bool, SessionKeeper.Inference, ReaderSnapshot.State)])
    func inference(
        isOpen: Bool?, autostarts: Bool, inference: SessionKeeper.Inference, state: ReaderSnapshot.State
    ) throws {
        #expect(keeper.resume() == .unknown)
        #expect(keeper.infer(from: isOpen.map { (session, $0) }, autostarts: autostarts) == inference)
        #expect(keeper.state == state && (keeper.session != nil) == (state == .tracking))
        #expect((intent != nil) == (isOpen != nil), "the file is written again")
        #expect(keeper.recall.isMissing(.tail) == (state == .tracking))
    }

    @Test("what somebody has said meanwhile counts more than the database")
    func meanwhile() throws {
        keeper.recall.add(.intent, .tail)
        try keeper.stopUnknown(session, at: start)
        #expect(keeper.state == .stopped && intent?.state == .stopped && !keeper.recall.isMissing(.intent))
        #expect(keeper.infer(from: (session, true), autostarts: true) == .nothing)
        try keeper.start(.user, in: session, now: instant(0))
        #expect(!keeper.recall.isMissing(.tail), "rows of the session before may still wait")
    }

    @Test("rows that wait are older than the session that goes on, and come first")
    func waiting() throws {
        try workshop.breakStorage()
        recorder.add(try workshop.location(0))
        _ = recorder.flush(now: instant(0), stopwatch())
        #expect(keeper.infer(from: (session, true), autostarts: false) == .resumed)
        #expect(!keeper.recall.isMissing(.tail))
        try workshop.mendStorage()
    }

    @Test("a session that a cut stop left open is closed, not before it began", arguments: [-5.0, 0, 5])
    func leftOpen(latest: Double) throws {
        _ = try hub.store.enter(session: session.id, startedAt: start)
        keeper.closeLeftOpen(latest: start.advanced(bySeconds: latest))
        #expect(try hub.store.openTrackingSession() == nil)
        let database = try Connection(path: workshop.state + "/beekon.db", access: .readOnly)
        let end = start.advanced(bySeconds: max(latest, 0)).milliseconds
        #expect(try database.value("SELECT stopped_at FROM sessions") == "\(end)")
    }

    @Test("what is missing is read in order, each once")
    func order() {
        var recall = Recall()
        #expect(recall.next == nil)
        recall.add(.tail, .latest, .deletion, .intent)
        recall.add(.latest)
        var order: [Recall.Item] = []
        while let item = recall.next {
            order.append(item)
            recall.remove(item)
        }
        #expect(order == [.deletion, .latest, .intent, .tail])
    }
}

extension StateChange {
    fileprivate init(
        _ session: Session, _ state: ReaderSnapshot.State, _ reason: Reason,
        _ origin: Wish.Origin? = .person
    ) {
        self.init(state: state, reason: reason, session: session.id, decidedBy: origin)
    }
}
