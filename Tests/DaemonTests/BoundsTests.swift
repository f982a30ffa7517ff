import ControlProtocol
import Linux
import Support
import Testing
import Tracking

@testable import Daemon

@Suite("what clients may hold of the memory, all together")
struct BoundsTests {
    private let desk: Desk

    init() throws {
        desk = try Desk()
    }

    /// A client that waits for the answer of another thread, which it will not read.
    private func waiting() throws -> (visitor: Visitor, token: Token) {
        let visitor = try desk.visitor()
        visitor.send(try Call.encode(Wire.DeleteLocations.self, .init()))
        var token: Token?
        _ = wait {
            desk.turn()
            for case .delete(_, let found) in desk.hub.reader.takeAll() { token = found }
            return token != nil
        }
        return (visitor, try #require(token))
    }

    @Test("of answers that nobody reads the largest goes first, and what fits stays")
    func unreadAnswers() throws {
        let sizes = [3, 4, 5, 3, 4].map { $0 << 20 }
        let clients = try sizes.map { _ in try waiting() }
        for (client, size) in zip(clients, sizes) {
            let name = String(repeating: "x", count: size)
            desk.complete(client.token, .success(.removal(removed: 0, kept: [name])))
        }
        // 19 of 16 MB.
        #expect(clients.map(\.visitor.isConnected) == [true, true, false, true, true])
        // Somebody else is served.
        let other = try desk.visitor()
        other.send(try Call.encode(Wire.GetPendingUploadCount.self, .init()))
        #expect(desk.reply(to: other)?.error == nil)
    }

    @Test("of requests that do not end the largest goes first, whoever it is that goes on")
    func incompleteRequests() throws {
        let head = Array("{\"method\":\"\(Wire.AddGeofences.name)\",\"parameters\":{\"geofences\":[".utf8)
        let clients = try (0..<5).map { _ in try desk.visitor() }
        func send(_ visitor: Visitor, kilobytes: Int) {
            for _ in 0..<kilobytes / 32 {
                visitor.send([UInt8](repeating: 0x20, count: 32 << 10))
                desk.turn()
            }
        }
        for visitor in clients { visitor.send(head) }
        for visitor in clients.prefix(4) { send(visitor, kilobytes: 3800) }
        send(clients[0], kilobytes: 96)
        #expect(clients.allSatisfy { desk.keeps($0) })
        // The fifth brings them to more than 16 MB, and is not the one who pays.
        send(clients[4], kilobytes: 1600)
        #expect(clients.map { desk.keeps($0) } == [false, true, true, true, true])
    }

    @Test("the next page of fences is asked for when the one before has been taken")
    func pages() throws {
        let (visitor, other) = (try desk.visitor(), try desk.visitor())
        visitor.send(try Call.encode(Wire.ListGeofences.self, .init(), more: true))
        var asked: [(after: String?, token: Token)] = []
        func look() {
            desk.turn()
            for case .listGeofences(let id, _, let token) in desk.hub.reader.takeAll() {
                asked.append((id, token))
            }
        }
        func page(_ name: String) throws -> [Geofences.Item] {
            try (0..<500).map { number in
                let id = "\(name)\(number + 100)" + String(repeating: "x", count: 90)
                return .init(
                    key: 1, fence: try Geofence(id: id, latitude: 0, longitude: 0, radius: 10))
            }
        }
        #expect(
            wait {
                look(); return asked.count == 1
            })
        #expect(asked[0].after == nil)
        // Sockets hold some pages that nobody reads; after them nobody is asked.
        var name = 100
        while asked.count == name - 99, name < 200 {
            desk.complete(
                asked[name - 100].token, .success(.geofences(try page("\(name)"), isLast: false)))
            for _ in 0..<20 { look() }
            name += 1
        }
        #expect(asked.count < 50, "\(asked.count) pages were asked for, of which none was read")
        #expect(asked.last?.after == (asked.count == 1 ? nil : try page("\(name - 2)").last?.fence.id))
        // Whoever reads goes on to the end.
        let before = asked.count
        #expect(
            wait {
                _ = visitor.reply()
                look()
                return asked.count > before
            })
        desk.complete(try #require(asked.last).token, .success(.geofences([], isLast: true)))
        var last: Reply?
        _ = wait {
            if let reply = desk.nextReply(visitor) { last = reply }
            return last?.continues == false
        }
        #expect(try last?.result(of: Wire.ListGeofences.self).geofences.isEmpty == true)
        #expect(desk.keeps(other))
    }

    @Test("fences that the reader has not taken yet are as many as there may be")
    func fencesWaiting() throws {
        var taken: [Token] = []
        func add(_ count: Int) throws -> ControlError? {
            let visitor = try desk.visitor()
            let fences = (0..<count).map {
                Wire.Geofence(id: "\($0)", latitude: 0, longitude: 0, radiusMeters: 9)
            }
            visitor.send(try Call.encode(Wire.AddGeofences.self, .init(geofences: fences)))
            var tokens: [Token] = []
            var reply: Reply?
            _ = wait {
                reply = desk.nextReply(visitor)
                for case .addGeofences(_, let token, _) in desk.hub.reader.takeAll() { tokens.append(token) }
                return reply != nil || !tokens.isEmpty
            }
            taken += tokens
            return reply?.error
        }
        #expect(try add(500) == nil)
        #expect(try add(500) == nil)
        let many = try (0..<Geofences.limit - 1100).map {
            try Geofence(id: "\($0)", latitude: 0, longitude: 0, radius: 9)
        }
        _ = try desk.dispatcher.dispatch(.addGeofences(many), by: Caller(.member), now: desk.now)
        #expect(try add(200) == .rateLimited(retryAfterSeconds: 1))
        desk.complete(try #require(taken.first), .success(.done))
        #expect(try add(200) == nil)
    }
}
