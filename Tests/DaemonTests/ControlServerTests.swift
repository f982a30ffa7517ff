import Base
import ControlProtocol
import Linux
import Storage
import Support
import Testing
import Tracking

@testable import Daemon

@Suite("the control server")
struct ControlServerTests {
    private let desk: Desk

    init() throws {
        desk = try Desk()
    }

    private func ask<Method: ControlMethod>(
        _ visitor: Visitor, _ method: Method.Type, _ parameters: Method.Parameters
    ) throws -> Method.Result {
        visitor.send(try Call.encode(method, parameters))
        return try #require(desk.reply(to: visitor)).result(of: method)
    }

    @Test("answers calls")
    func calls() throws {
        let visitor = try desk.visitor()
        #expect(try ask(visitor, Wire.GetPendingUploadCount.self, .init()).count == 0)
        #expect(try ask(visitor, Wire.GetStatus.self, .init()).status.state == .idle)
        #expect(throws: ControlError.invalidTime(value: "soon")) {
            try ask(visitor, Wire.DeleteLocations.self, .init(before: "soon"))
        }
    }

    @Test("when full, whoever has been idle longest makes way")
    func full() throws {
        let visitors = try (0..<Desk.limit).map { _ in
            desk.pass(1)
            return try desk.visitor()
        }
        desk.pass(1)
        // The first is the oldest, but not the one idle longest.
        _ = try ask(visitors[0], Wire.GetPendingUploadCount.self, .init())
        desk.pass(1)
        let late = try desk.visitor()
        #expect(visitors.indices.filter { !desk.keeps(visitors[$0]) } == [1])
        #expect(try ask(late, Wire.GetPendingUploadCount.self, .init()).count == 0)
    }

    @Test("an idle one makes way before one with half a request, however long ago it came")
    func idleFirst() throws {
        let dawdlers = try (0..<Desk.limit - 1).map { _ in try desk.dawdler() }
        desk.pass(5)
        let idle = try desk.visitor()
        // One that has just come is given a second to speak.
        desk.pass(1)
        #expect(desk.keeps(idle))
        let late = try desk.visitor()
        #expect(!desk.keeps(idle))
        #expect(desk.keeps(late))
        #expect(dawdlers.allSatisfy { desk.keeps($0) })
    }

    @Test("with half a request each, the oldest of these makes way, though it goes on dribbling")
    func oldestRequest() throws {
        let visitors = try (0..<Desk.limit).map { _ in
            desk.pass(0.1)
            return try desk.dawdler()
        }
        visitors[0].send("\"")
        desk.pass(0.1)
        let late = try desk.visitor()
        #expect(visitors.indices.filter { !desk.keeps(visitors[$0]) } == [0])
        #expect(desk.keeps(late))
    }

    @Test("one that has just come is read before it makes way; meanwhile an incomplete request does")
    func grace() throws {
        let dawdlers = try (0..<Desk.limit - 1).map { _ in
            desk.pass(0.1)
            return try desk.dawdler()
        }
        desk.pass(5)
        let newcomer = try desk.visitor()
        let late = try desk.visitor()
        #expect(desk.keeps(newcomer) && desk.keeps(late))
        #expect(dawdlers.indices.filter { !desk.keeps(dawdlers[$0]) } == [0])
    }

    @Test(
        "of those who take nothing of what they are sent, the one that began it first makes way, ten seconds later"
    )
    func stalled() throws {
        let sleepers = try (0..<Desk.limit).map { _ in try desk.subscriber() }
        let event = Wire.Event(kind: "\(String(repeating: "x", count: 4000))")
        for _ in 0..<200 { desk.server.publish(event, now: desk.now) }
        desk.pass(9)
        #expect(!desk.keeps(try desk.visitor()))
        // One of them reads on.
        while sleepers[0].reply() != nil {}
        desk.pass(2)
        let late = try desk.visitor()
        #expect(desk.keeps(late))
        #expect(desk.keeps(sleepers[0]))
        for sleeper in sleepers { while sleeper.reply() != nil {} }
        #expect(sleepers.count { !desk.keeps($0) } == 1)
    }

    @Test("who asks and never reads is not asked for more; all is answered once it reads")
    func backPressure() throws {
        let visitor = try desk.visitor()
        let calls = try (0..<2000).flatMap { _ in try Call.encode(Wire.GetStatus.self, .init()) }
        // As much as the socket takes; the rest of the last call stays away.
        visitor.send(calls)
        for _ in 0..<200 { desk.turn() }
        let other = try desk.visitor()
        #expect(try ask(other, Wire.GetPendingUploadCount.self, .init()).count == 0)
        var answers = 0
        while answers < 2000, desk.reply(to: visitor) != nil { answers += 1 }
        #expect(answers == 2000)
    }

    @Test("what cannot be done now can be asked again; without an end it cannot")
    func rateLimit() {
        var allowance = Allowance(burst: 3, perSecond: 0.5)
        var now = instant(1000)
        #expect((0..<4).map { _ in allowance.take(now: now) } == [nil, nil, nil, 2])
        now = now.advanced(bySeconds: 1)
        #expect(allowance.take(now: now) == 1)
        now = now.advanced(bySeconds: 1)
        #expect((0..<2).map { _ in allowance.take(now: now) } == [nil, 2])
        now = now.advanced(bySeconds: 1e6)
        #expect((0..<4).map { _ in allowance.take(now: now) } == [nil, nil, nil, 2])
    }

    @Test("who waits for an answer or listens is never put out")
    func busy() throws {
        let visitors = try (0..<Desk.limit).map { number in
            guard number % 2 == 0 else { return try desk.subscriber() }
            let visitor = try desk.visitor()
            visitor.send(try Call.encode(Wire.Start.self, .init()))
            _ = wait {
                desk.turn()
                return !desk.hub.reader.takeAll().isEmpty
            }
            return visitor
        }
        let late = try desk.visitor()
        #expect(!desk.keeps(late))
        #expect(visitors.allSatisfy { desk.keeps($0) })
    }

    @Test("a request must be complete within ten seconds; a byte now and then is no excuse")
    func timeout() throws {
        let idle = try desk.visitor()
        let dawdler = try desk.dawdler()
        #expect(desk.server.deadline == desk.now.advanced(bySeconds: 10))
        for _ in 0..<9 {
            desk.pass(1)
            dawdler.send(" ")
            #expect(desk.keeps(dawdler))
        }
        desk.pass(0.9)
        #expect(desk.keeps(dawdler))
        desk.pass(0.2)
        #expect(!desk.keeps(dawdler))
        #expect(desk.server.deadline == nil)
        desk.pass(1e6)
        #expect(try ask(idle, Wire.GetPendingUploadCount.self, .init()).count == 0)
    }

    @Test("a request that is completed in time starts the next one's clock anew")
    func inTime() throws {
        let visitor = try desk.visitor()
        let call = try Call.encode(Wire.GetPendingUploadCount.self, .init())
        for _ in 0..<3 {
            visitor.send(Array(call.prefix(10)))
            desk.turn()
            desk.pass(9)
            visitor.send(Array(call.dropFirst(10)))
            #expect(
                try #require(desk.reply(to: visitor)).result(of: Wire.GetPendingUploadCount.self).count == 0)
            #expect(desk.server.deadline == nil)
        }
    }

    @Test(
        "garbage closes its connection and no other",
        arguments: ["nonsense\0", "\0", "[]\0", "{\"method\":1}\0"])
    func garbage(text: String) throws {
        let (good, bad) = (try desk.visitor(), try desk.visitor())
        bad.send(text)
        #expect(wait { !desk.keeps(bad) })
        #expect(try ask(good, Wire.GetPendingUploadCount.self, .init()).count == 0)
    }

    @Test("a request without end is cut off at 64 KiB")
    func endless() throws {
        let visitor = try desk.visitor()
        let bytes = [UInt8](repeating: 0x20, count: 65_537)
        visitor.send(bytes)
        #expect(wait { !desk.keeps(visitor) })
    }

    @Test("an answer of another thread reaches the one who asked")
    func later() throws {
        let (first, second) = (try desk.visitor(), try desk.visitor())
        var tokens: [Token] = []
        for visitor in [first, second] {
            visitor.send(try Call.encode(Wire.Start.self, .init()))
            #expect(
                wait {
                    desk.turn()
                    for case .start(let token, _) in desk.hub.reader.takeAll() { tokens.append(token) }
                    return !tokens.isEmpty && visitor === first || tokens.count == 2
                })
        }
        let session = try desk.workshop.location(0).session
        desk.complete(tokens[1], .success(.session(session)))
        #expect(desk.reply(to: second)?.error == nil)
        desk.turn()
        #expect(first.reply() == nil)
        desk.complete(tokens[0], .success(.session(session)))
        #expect(
            try desk.reply(to: first)?.result(of: Wire.Start.self).sessionId == session.description)
        // Who has gone, or has had the answer, is not there to be told.
        desk.complete(tokens[0], .success(.session(session)))
        #expect(try ask(first, Wire.GetPendingUploadCount.self, .init()).count == 0)
    }

    @Test("a slow subscriber loses its oldest events, each of them counted, and delays nobody")
    func slow() throws {
        let (slow, quick) = (try desk.subscriber(), try desk.subscriber())
        #expect(desk.hasListeners)
        while slow.reply() != nil || quick.reply() != nil { desk.turn() }
        let count = 5000
        var seen = 0
        for _ in 0..<count {
            desk.server.publish(Wire.Event(kind: "state", state: .tracking), now: desk.now)
            while quick.reply() != nil { seen += 1 }
        }
        #expect(seen == count)
        var (received, missed) = (0, 0)
        while received + missed < count, let reply = desk.reply(to: slow) {
            let event = try reply.result(of: Wire.Subscribe.self).event
            received += 1
            missed += event.missed ?? 0
        }
        #expect(missed > 0)
        #expect(received + missed == count)
    }

    @Test("without listeners no location is handed over")
    func listeners() throws {
        do {
            let subscriber = try desk.subscriber()
            #expect(desk.hasListeners)
            #expect(desk.server.hasSubscribers)
            _ = subscriber
        }
        #expect(
            wait {
                desk.turn()
                return !desk.hasListeners
            })
    }

    @Test("lists of geofences are encoded one in a turn, for those who still wait; others are served between")
    func lists() throws {
        let fence = try Geofence(id: String(repeating: "f", count: 100), latitude: 1, longitude: 2, radius: 3)
        let items = (0..<Geofences.limit).map { Geofences.Item(key: Int64($0), fence: fence) }
        let visitors = try (0..<4).map { _ in try desk.visitor() }
        for visitor in visitors { visitor.send(try Call.encode(Wire.ListGeofences.self, .init())) }
        var tokens: [Token] = []
        _ = wait {
            desk.turn()
            for case .listGeofences(_, _, let token) in desk.hub.reader.takeAll() { tokens.append(token) }
            return tokens.count == visitors.count
        }
        try #require(tokens.count == visitors.count)
        for token in tokens { desk.complete(token, .success(.geofences(items, isLast: true))) }
        let other = try Visitor(desk.path)
        // Accepted in one turn, heard in the next.
        other.send(try Call.encode(Wire.GetPendingUploadCount.self, .init()))
        desk.turn()
        desk.turn()
        #expect(other.reply() != nil)
        #expect(desk.server.hasPages)
        for visitor in visitors { #expect(desk.reply(to: visitor)?.error == nil) }
        #expect(!desk.server.hasPages)
        // Of those that nobody waits for any more, none is encoded.
        for token in tokens { desk.complete(token, .success(.geofences(items, isLast: true))) }
        desk.turn()
        #expect(!desk.server.hasPages)
    }
}
