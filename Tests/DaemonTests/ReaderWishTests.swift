import Base
import DaemonConfiguration
import GPSD
import Linux
import Storage
import Synchronization
import Testing
import Tracking

@testable import Daemon

/// What persons, the server, the schedule and the ignition want of a real reader, one after the other.
@Suite("whose wish counts")
struct ReaderWishTests {
    private let workshop: Workshop
    private let reader: Reader
    private var hub: Hub { workshop.hub }

    init() throws {
        workshop = try Workshop()
        reader = try #require(Reader(hub: workshop.hub, settings: Settings()))
        reader.resume(now: instant(0))
        reader.endTurn()
        _ = hub.main.takeAll()
    }

    /// Has a command carried out; nil: that went well.
    private func ask(_ command: ReaderCommand) -> CommandFailure.Kind? {
        reader.perform(command, now: instant(1))
        reader.endTurn()
        var kind: CommandFailure.Kind?
        for case .completed(_, .failure(let failure)) in hub.main.takeAll() { kind = failure.kind }
        return kind
    }

    private func isRefused(_ command: ReaderCommand) -> Bool {
        if case .stoppedByPerson? = ask(command) { true } else { false }
    }

    private var intent: StoredIntent? { hub.files.read(StoredIntent.self).content }
    private var change: StateChange {
        reader.endTurn()
        return hub.board.readerSnapshot.change
    }

    /// A reader that takes up what this one has left.
    private func restarted() throws -> Reader {
        let reader = try #require(Reader(hub: workshop.hub, settings: Settings()))
        reader.resume(now: instant(2))
        reader.endTurn()
        return reader
    }

    @Test("the server starts and stops, and both are persisted as its own")
    func server() throws {
        #expect(ask(.start(1, by: .server)) == nil)
        #expect(change.state == .tracking && change.reason == .server && change.decidedBy == .server)
        #expect(intent?.wish.origin == .server && intent?.wish.tracks == true)
        #expect(try restarted().sessions.change.decidedBy == .server)
        #expect(ask(.stop(2, by: .server)) == nil)
        // A user's stop, though not a person's: the server may start again.
        #expect(change.stopReason == .user && change.decidedBy == .server)
        #expect(try restarted().sessions.holdsAgainstServer == false)
        #expect(ask(.start(3, by: .server)) == nil)
    }

    @Test("a person's stop holds against the server, also after a restart, until a person or an edge starts")
    func persons() throws {
        #expect(ask(.start(1, by: .server)) == nil)
        #expect(ask(.stop(2)) == nil)
        #expect(change.decidedBy == .person)
        #expect(isRefused(.start(3, by: .server)))
        #expect(ask(.stop(4, by: .server)) == nil)
        #expect(change.decidedBy == .person, "nobody takes the hold away by stopping once more")
        #expect(try restarted().sessions.holdsAgainstServer)
        for origin in [Wish.Origin.person, .schedule, .ignition] {
            let wish = Wish(tracks: true, origin: origin, time: start)
            try reader.take(wish, now: instant(2))
            #expect(change.state == .tracking && change.decidedBy == origin)
            #expect(change.reason == StateChange.Reason(origin))
            #expect(ask(.stop(5, by: .server)) == nil)
            #expect(ask(.start(6, by: .server)) == nil)
            #expect(ask(.stop(7)) == nil)
            #expect(isRefused(.start(8, by: .server)))
        }
    }

    @Test(
        "a stop of the server that still waits is over once a person starts, or the ignition is switched on")
    func superseded() throws {
        func stop(_ number: Int) -> NewCommand {
            NewCommand(id: "c-\(number)", name: "stop", digest: [0], text: "{}")
        }
        func waiting() -> Int { hub.store.counts().commands[.main]?.waiting ?? 0 }
        func journal(_ commands: NewCommand...) throws {
            let batch = try workshop.location(0).session
            _ = try hub.store.journal(CommandList(from: .main, answering: batch, at: start, commands))
        }
        let wishes: [(Wish.Origin, tracks: Bool, isOver: Bool)] = [
            (.person, true, true), (.ignition, true, true), (.server, true, false), (.schedule, true, false),
            (.person, false, false),
        ]
        for (number, row) in wishes.enumerated() {
            for isTracking in [true, false] {
                #expect(ask(isTracking ? .start(1, by: .server) : .stop(1, by: .server)) == nil)
                try journal(stop(2 * number + (isTracking ? 1 : 0)))
                try reader.take(Wish(tracks: row.tracks, origin: row.0, time: start), now: instant(2))
                reader.endTurn()
                let done = hub.main.takeAll().compactMap { message -> CommandRecord? in
                    if case .commandDone(let record) = message { record } else { nil }
                }
                #expect(done.map(\.outcome.error) == (row.isOver ? ["superseded"] : []), "\(row)")
                #expect(waiting() == (row.isOver ? 0 : 1), "\(row)")
                guard let left = try hub.store.nextCommand(of: .main) else { continue }
                try hub.store.finish(left, with: CommandOutcome(), at: start)
            }
        }
    }

    @Test("a person's stop counts when tracking has been stopped already, and before it has ever begun")
    func alreadyStopped() throws {
        #expect(ask(.stop(1)) == nil)
        #expect(change.state == .idle && reader.sessions.holdsAgainstServer)
        #expect(isRefused(.start(2, by: .server)))
        #expect(try restarted().sessions.holdsAgainstServer)
        #expect(ask(.start(3)) == nil)
        try reader.take(Wish(tracks: false, origin: .ignition, time: start), now: instant(1))
        #expect(change.stopReason == .system && change.decidedBy == .ignition)
        #expect(!reader.sessions.holdsAgainstServer)
        #expect(ask(.stop(4)) == nil)
        #expect(change.stopReason == .user && change.decidedBy == .person)
        #expect(intent?.wish.isPersonsStop == true)
        #expect(isRefused(.start(5, by: .server)))
    }

    @Test("a stop of which nobody knows whose it was counts as a person's")
    func unknown() throws {
        #expect(ask(.start(1)) == nil)
        try reader.take(Wish(tracks: false, origin: .schedule, time: start), now: instant(1))
        try StateDirectory(workshop.state).replace(SmallFiles.Name.intent, with: [0])
        try StateDirectory(workshop.state).replace(SmallFiles.Name.intent + ".copy", with: [0])
        let second = try restarted()
        #expect(second.sessions.state == .stopped && second.sessions.holdsAgainstServer)
    }

    @Test("while it holds, the server neither learns where the vehicle is nor plants fences; the rest it may")
    func shown() throws {
        let fence = try Geofence(id: "a", latitude: 52, longitude: 13, radius: 100)
        let asked: [(ReaderCommand, Wish.ServerRequest)] = [
            (.locate(.init(id: 1, timeout: 0)), .locate), (.addGeofences([fence], 1), .addGeofences),
        ]
        #expect(ask(.stop(1)) == nil)
        for (command, request) in asked { #expect(isRefused(.ofServer(request, command, 1))) }
        #expect(reader.fences.geofences.isEmpty && reader.pipeline.oneShots.isEmpty)
        #expect(ask(.removeGeofences(nil, 1)) == nil)
        // Persons may, and after their start the server.
        #expect(ask(.addGeofences([fence], 1)) == nil)
        #expect(ask(.start(2)) == nil)
        #expect(ask(.ofServer(.addGeofences, .addGeofences([fence], 1), 1)) == nil)
    }

    @Test("a person who stops also ends a search that the server has begun, and no other")
    func search() {
        #expect(ask(.start(1)) == nil)
        var request = OneShots.Request(id: 7, timeout: 600, isServers: true)
        reader.perform(.ofServer(.locate, .locate(request), 7), now: instant(1))
        (request.id, request.isServers) = (8, false)
        reader.perform(.locate(request), now: instant(1))
        reader.endTurn()
        _ = hub.main.takeAll()
        reader.perform(.stop(2), now: instant(2))
        reader.endTurn()
        var refused: [Token] = []
        for case .completed(let token, .failure(let failure)) in hub.main.takeAll() {
            if case .stoppedByPerson = failure.kind { refused.append(token) }
        }
        #expect(refused == [7])
        #expect(!reader.pipeline.oneShots.isEmpty)
    }

    @Test("a stop from before its time was kept ends what a server's fences tell at the next start, once")
    func fencesOfServer() throws {
        let coordinate = try #require(Coordinate(latitude: 52.5, longitude: 13.25))
        let fences = try ["a", "b"].map {
            try Geofence(id: $0, latitude: 52.5, longitude: 13.25, radius: 100, notifiesOnExit: $0 == "a")
        }
        #expect(ask(.start(1)) == nil)
        #expect(ask(.ofServer(.addGeofences, .addGeofences(fences, 2, by: .server), 2)) == nil)
        for second in 0..<6 {
            let (time, now) = (start.advanced(bySeconds: Double(second)), instant(Double(second)))
            reader.follow(
                .fix(Fix(time: time, mode: 3, coordinate: coordinate)), readAt: now, now: now)
        }
        #expect(reader.fences.geofences.items.map(\.isInside) == [true, true])
        let latest = try #require(reader.recorder.latest)
        let session = try #require(reader.sessions.session)
        try hub.files.write(
            StoredIntent(state: .stopped, session: session.id, startedAt: session.startedAt))
        hub.board.hasListeners.store(true, ordering: .relaxed)
        for expected in [["a", "b"], []] {
            _ = hub.main.takeAll()
            let next = try restarted()
            var events: [GeofenceEvent] = []
            for case .crossed(let event) in hub.main.takeAll() { events.append(event) }
            #expect(events.map(\.crossing.geofence).sorted() == expected)
            for event in events {
                #expect(event.reason == .stopped && event.session == session.id)
                #expect(event.crossing.time >= latest.fix.time && event.coordinate == latest.fix.coordinate)
            }
            #expect(next.fences.geofences.items.map(\.isInside) == [nil, nil])
            #expect(!next.fences.geofences.needFixes)
            #expect(try hub.store.geofenceStates()?.isEmpty == true)
        }
    }

    @Test("settings with which tracking would begin by itself are not for the server while it holds")
    func settings() throws {
        var new = NewSettings(settings: Settings())
        new.settings.tracking.schedule = ["mon 07:00-08:00"]
        new.serverRequest = .setSchedule
        #expect(ask(.stop(1)) == nil)
        reader.apply(new, now: instant(1))
        reader.endTurn()
        guard case .settingsApplied(.failure(let failure))? = hub.main.takeAll().last,
            case .stoppedByPerson = failure.kind
        else {
            Issue.record("they were applied")
            return
        }
        #expect(reader.settings.tracking.schedule.isEmpty)
        new.serverRequest = .harmless
        reader.apply(new, now: instant(1))
        #expect(!reader.settings.tracking.schedule.isEmpty)
    }

    @Test("a repeated stop needs no disk; one that must hold and cannot be written is refused")
    func failing() throws {
        let path = workshop.state + "/" + SmallFiles.Name.intent
        #expect(ask(.start(1)) == nil)
        #expect(ask(.stop(2, by: .server)) == nil)
        try workshop.breakStorage()
        guard case .storage? = ask(.stop(3)) else {
            Issue.record("the stop does not hold and is not refused: \(path)")
            return
        }
        #expect(change.decidedBy == .server)
        try workshop.mendStorage()
        #expect(ask(.stop(4)) == nil)
        try workshop.breakStorage()
        #expect(ask(.stop(5)) == nil)
        try workshop.mendStorage()
    }

    @Test("what somebody says of the vehicle's motion holds for the next fix, while it is tracked")
    func motion() throws {
        guard case .notTracking? = ask(.setMotion(.moving, 1)) else {
            Issue.record("there is nothing to be said")
            return
        }
        #expect(ask(.start(2)) == nil)
        #expect(ask(.setMotion(.stationary, 3)) == nil)
        #expect(reader.pipeline.admission.motion == .unknown)
        let coordinate = try #require(Coordinate(latitude: 52.5, longitude: 13.25))
        for second in 0..<6 {
            let (time, now) = (start.advanced(bySeconds: Double(second)), instant(Double(second)))
            reader.follow(
                .fix(Fix(time: time, mode: 3, coordinate: coordinate, speed: 0)), readAt: now, now: now)
        }
        #expect(reader.pipeline.admission.motion == .stationary)
    }
}
