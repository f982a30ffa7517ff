import Base
import ControlProtocol
import Linux
import Storage
import Support
import Testing
import Tracking
import Upload

@testable import Daemon
@testable import DaemonConfiguration

@Suite("the way of commands")
struct DispatcherTests {
    private let workshop: Workshop
    private let dispatcher: Dispatcher
    private var hub: Hub { workshop.hub }
    private let now = instant(1000)

    init() throws {
        (workshop, dispatcher) = try Self.make("")
    }

    private static func make(_ configuration: String) throws -> (Workshop, Dispatcher) {
        let workshop = try Workshop()
        var options = Daemon.Options { _ in nil }
        options.configuration = workshop.directory.file("beekond.toml")
        try workshop.directory.write("beekond.toml", Array(configuration.utf8))
        let configurator = try Configurator(options, try StateDirectory(workshop.state))
        return (workshop, Dispatcher(hub: workshop.hub, configurator: configurator))
    }

    private func token(_ answer: Dispatcher.Answer) throws -> Token {
        guard case .later(let token) = answer else { throw SetUpFailed(operation: "answer at once", code: 0) }
        return token
    }

    private func error(_ dispatcher: Dispatcher, _ command: Command, _ origin: Command.Origin = .admin)
        -> ControlError?
    {
        do throws(CommandFailure) {
            _ = try dispatcher.dispatch(command, by: Caller(origin), now: now)
            return nil
        } catch {
            return ControlError(error)
        }
    }

    @Test("each goes to the thread that carries it out, under the token of the answer")
    func routes() throws {
        let commands: [(Command, String)] = [
            (.start, "start(1, by: Tracking.Wish.Origin.person)"),
            (.stop, "stop(2, by: Tracking.Wish.Origin.person)"),
            (.delete(before: nil), "delete(before: nil, 3)"),
            (.purgeRejected(of: .main), "rejected(Storage.RejectedWork.Act.purge, of: main, 4)"),
            (.requeueRejected(of: .main), "rejected(Storage.RejectedWork.Act.requeue, of: main, 5)"),
            (.setExtras(try .init(["a": "b"])), "setExtras([\"a\": \"b\"], 6)"),
            (.addGeofences([]), "addGeofences([], 7, by: Tracking.Geofences.Origin.person)"),
            (.removeGeofences(["a"]), "removeGeofences(Optional([\"a\"]), 8)"),
            (.listGeofences(after: "a", limit: 5), "listGeofences(after: Optional(\"a\"), limit: 5, 9)"),
        ]
        for (number, (command, expected)) in commands.enumerated() {
            let answer = try dispatcher.dispatch(command, by: Caller(.root), now: now)
            #expect(try token(answer) == number + 1)
            #expect(
                hub.reader.takeAll().map { "\($0)" }.map { $0.replacing("Daemon.", with: "") } == [expected])
        }
        _ = try dispatcher.dispatch(.rebatch(of: .main), by: Caller(.root), now: now)
        guard case .rebatch(10)? = hub.uploaders.main.commands.takeAll().first else {
            Issue.record("the uploader has not been asked")
            return
        }
        _ = try dispatcher.dispatch(.reload, by: .hangup, now: now)
        #expect(hub.readerSettings.take() != nil)
    }

    @Test("whoever waits is given the result, once")
    func waiters() throws {
        var results: [String] = []
        let tokens = try ["a", "b"].map { name in
            try token(
                dispatcher.dispatch(.start, by: Caller(.member), now: now) { result, _ in
                    results.append(name + (((try? result.get()) == nil) ? " failed" : ""))
                })
        }
        #expect(!dispatcher.complete(tokens[1], .failure(CommandFailure(reason: "disk")), now: now))
        #expect(!dispatcher.complete(tokens[0], .success(.done), now: now))
        #expect(!dispatcher.complete(tokens[0], .success(.done), now: now))
        #expect(results == ["b failed", "a"])
    }

    @Test("of one that has gone the reader hears, and nobody is given the result")
    func gone() throws {
        let token = try token(
            dispatcher.dispatch(.start, by: Caller(.member), now: now) { _, _ in
                Issue.record("there is nobody")
            })
        _ = hub.reader.takeAll()
        dispatcher.forget(token)
        guard case .forget(token)? = hub.reader.takeAll().first else {
            Issue.record("the reader has not heard of it")
            return
        }
        #expect(!dispatcher.complete(token, .success(.done), now: now))
    }

    @Test("what is refused reaches nobody")
    func refused() throws {
        #expect(error(dispatcher, .delete(before: nil), .server) == .permissionDenied)
        #expect(error(dispatcher, .start, .signal) == .permissionDenied)
        let seed = try Command.Seed(access: "a", refresh: nil, expiresAt: nil)
        guard case .invalidConfiguration(key: "sync.auth", _) = error(dispatcher, .seedAuth(seed, of: .main))
        else {
            Issue.record("tokens without a use are accepted")
            return
        }
        #expect(hub.reader.isEmpty && hub.uploaders.main.commands.isEmpty)
    }

    @Test("a full mailbox refuses; the end of the daemon still gets through")
    func full() {
        while hub.reader.post(.forget(0)) {}
        while hub.uploaders.main.commands.post(.sync(0)) {}
        #expect(error(dispatcher, .start) == .rateLimited(retryAfterSeconds: 1))
        #expect(error(dispatcher, .rebatch(of: .main)) == .rateLimited(retryAfterSeconds: 1))
        // Settings have room of their own.
        #expect(error(dispatcher, .reload) == nil)
        #expect(hub.readerSettings.take() != nil)
    }

    @Test("attempts to upload are limited, whichever command asks for them")
    func attempts() throws {
        let (workshop, dispatcher) = try Self.make("[sync]\nurl = \"https://example.com/\"\n")
        for _ in 0..<20 {
            #expect(error(dispatcher, .sync(nil, isAwaited: true)) == nil)
            #expect(error(dispatcher, .requeueRejected(of: .main)) == nil)
            #expect(error(dispatcher, .resend(Resend(from: start, to: nil))) == nil)
        }
        for command in [Command.sync(nil, isAwaited: false), .requeueRejected(of: .main)] {
            #expect(error(dispatcher, command) == .rateLimited(retryAfterSeconds: 1))
        }
        #expect(error(dispatcher, .rebatch(of: .main)) == nil)
        #expect(workshop.hub.uploaders.main.commands.takeAll().count == 21)
    }

    @Test("a sync that nobody waits for is answered at once")
    func sync() throws {
        func outcome(_ dispatcher: Dispatcher) throws -> SyncResult.Outcome? {
            let answer = try dispatcher.dispatch(.sync(nil, isAwaited: false), by: Caller(.member), now: now)
            guard case .now(.synced(let result)) = answer else { return nil }
            return result.outcome
        }
        #expect(try outcome(dispatcher) == .disabled)
        #expect(hub.uploaders.main.commands.isEmpty)
        let (other, syncing) = try Self.make("[sync]\nurl = \"https://example.com/\"\n")
        #expect(try outcome(syncing) == .nothingPending)
        _ = try other.hub.store.insert(other.location(0))
        #expect(try outcome(syncing) == .transient)
        #expect(other.hub.uploaders.main.commands.takeAll().count == 2)
    }

    @Test("fences under way are counted until the reader has them, even when their client has gone")
    func fences() throws {
        let many = try (0..<Geofences.limit).map {
            try Geofence(id: "\($0)", latitude: 0, longitude: 0, radius: 9)
        }
        let token = try token(dispatcher.dispatch(.addGeofences(many), by: Caller(.member), now: now))
        dispatcher.forget(token)
        #expect(error(dispatcher, .addGeofences([many[0]])) == .rateLimited(retryAfterSeconds: 1))
        #expect(dispatcher.complete(token, .success(.done), now: now), "much memory was needed")
        #expect(error(dispatcher, .addGeofences([many[0]])) == nil)
    }
}
