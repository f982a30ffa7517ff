import Base
import DaemonConfiguration
import GPSD
import Linux
import Storage
import Testing
import Tracking
import Upload

@testable import Daemon

@Suite("what a thread says, and when")
struct OutboxTests {
    @Test("nothing is sent before it is told to send; then everything, once, in order")
    func order() throws {
        let workshop = try Workshop()
        let (hub, outbox) = (workshop.hub, Outbox(hub: workshop.hub))
        for token in 1...100 { outbox.complete(token, .success(.done)) }
        outbox.deliver(.trigger(.change), to: hub.uploaders.main)
        outbox.deliver(toUploaders: .storageRecovered)
        #expect(hub.main.isEmpty && hub.uploaders.main.commands.isEmpty)
        outbox.send()
        outbox.send()
        let tokens = hub.main.takeAll().map { if case .completed(let token, _) = $0 { token } else { 0 } }
        #expect(tokens == Array(1...100))
        #expect(hub.uploaders.main.commands.takeAll().count == 2)
    }

    @Test("a reader has said nothing before its turn has ended, and then the board shows it")
    func reader() throws {
        let workshop = try Workshop()
        let hub = workshop.hub
        let reader = try #require(Reader(hub: hub, settings: Settings()))
        reader.resume(now: instant(0))
        #expect(hub.main.isEmpty && hub.board.fences == nil)
        reader.endTurn()
        #expect(!hub.main.takeAll().isEmpty && hub.board.fences == [])
        reader.perform(.start(1), now: instant(1))
        reader.perform(.setExtras(["driver": "7"], 2), now: instant(1))
        reader.apply(NewSettings(revision: 3, settings: Settings()), now: instant(1))
        #expect(hub.main.isEmpty && hub.board.readerSnapshot.state == .idle && hub.board.extras.isEmpty)
        reader.endTurn()
        #expect(hub.main.takeAll().count == 4)
        #expect(hub.board.readerSnapshot.state == .tracking && hub.board.extras == ["driver": "7"])
        #expect(hub.board.readerSnapshot.revision == 3)
    }

    @Test(
        "a turn ends with the next commit when somebody waits; what gpsd has said goes first in the next one")
    func share() throws {
        let workshop = try Workshop()
        var settings = Settings()
        settings.tracking.distanceMeters = 0
        settings.tracking.intervalSeconds = 0
        let reader = try #require(Reader(hub: workshop.hub, settings: settings))
        reader.resume(now: instant(0))
        reader.perform(.start(1), now: instant(0))
        let coordinate = try #require(Coordinate(latitude: 52.5, longitude: 13.25))
        let fixes = (0..<9).map { second in
            Source.Event.fix(
                Fix(time: start.advanced(bySeconds: Double(second)), mode: 3, coordinate: coordinate))
        }
        // The time settles with the first of them.
        for fix in fixes[..<5] { reader.follow(fix, readAt: instant(1), now: instant(1)) }
        let before = reader.recorder.stored
        reader.backlog = SourceBacklog(Array(fixes[5...]), readAt: instant(1))
        #expect(workshop.hub.reader.post(.forget(7)))
        for turn in 1...4 {
            #expect(!reader.backlog.isEmpty)
            reader.followSource(now: .current())
            #expect(reader.recorder.stored == before + turn)
        }
        #expect(reader.backlog.isEmpty)
    }

    @Test("what has been read before a stop belongs to the session")
    func stop() throws {
        let workshop = try Workshop()
        var settings = Settings()
        settings.tracking.distanceMeters = 0
        settings.tracking.intervalSeconds = 0
        let reader = try #require(Reader(hub: workshop.hub, settings: settings))
        reader.resume(now: instant(0))
        reader.perform(.start(1), now: instant(0))
        let coordinate = try #require(Coordinate(latitude: 52.5, longitude: 13.25))
        reader.backlog = SourceBacklog(
            (0..<300).map { second in
                let time = start.advanced(bySeconds: Double(second))
                return .fix(Fix(time: time, mode: 3, coordinate: coordinate, speed: 10))
            }, readAt: instant(1))
        reader.perform(.stop(2), now: .current())
        while reader.recorder.waiting > 0 { reader.flush(now: .current()) }
        #expect(reader.backlog.isEmpty && reader.recorder.refused == 0)
        #expect(try workshop.stored().count > 290)
    }

    @Test("what has been read before a deletion is deleted")
    func deletion() throws {
        let workshop = try Workshop()
        let reader = try #require(Reader(hub: workshop.hub, settings: Settings()))
        reader.resume(now: instant(0))
        reader.perform(.start(1), now: instant(0))
        let coordinate = try #require(Coordinate(latitude: 52.5, longitude: 13.25))
        reader.backlog = SourceBacklog(
            (0..<9).map { second in
                .fix(
                    Fix(time: start.advanced(bySeconds: Double(second)), mode: 3, coordinate: coordinate))
            }, readAt: instant(1))
        reader.perform(.delete(before: nil, 2), now: .current())
        #expect(reader.backlog.isEmpty && reader.recorder.stored > 0)
        for step in 0..<1000 where reader.work.isDeleting {
            reader.runSteps(now: instant(1e6 + Double(step)))
        }
        #expect(try workshop.stored().isEmpty)
    }

    @Test("an uploader tells which settings it goes by, with its first snapshot and whenever that changes")
    func uploader() throws {
        let workshop = try Workshop()
        let port = workshop.hub.uploaders.main
        let tokens = TokenStore(directory: try StateDirectory(workshop.state), credentials: nil)
        let uploader = try #require(
            Uploader(
                port: port, hub: workshop.hub, inForce: SettingsInForce(settings: Settings()), installID: "i",
                tokens: tokens, now: instant(0)))
        func adopted() -> Int {
            workshop.hub.main.takeAll().count { if case .settingsAdopted(.main) = $0 { true } else { false } }
        }
        #expect(port.snapshot.revision == nil)
        uploader.endTurn()
        #expect(port.snapshot.revision == 0 && adopted() == 1)
        uploader.endTurn()
        #expect(adopted() == 0)
        port.settings.put(SettingsInForce(revision: 1, settings: Settings()))
        uploader.runCommands(now: instant(1))
        #expect(port.snapshot.revision == 0 && adopted() == 0)
        uploader.endTurn()
        #expect(port.snapshot.revision == 1 && adopted() == 1)
    }
}
