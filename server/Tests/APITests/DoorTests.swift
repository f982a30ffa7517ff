import Glibc
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import API

@Suite("crowds") struct CrowdTests {
    @Test("it is crowded from three quarters on", arguments: [(600, 450), (3, 3), (1, 1)])
    func quarters(most: Int, crowded: Int) {
        let crowd = Crowd(most: most)
        let channels = (0..<crowded).map { _ in EmbeddedChannel() }
        for channel in channels.dropLast() { crowd.enter(channel) }
        #expect(!crowd.isCrowded)
        crowd.enter(channels[crowded - 1])
        #expect(crowd.isCrowded)
        crowd.leave(channels[0])
        #expect(!crowd.isCrowded)
    }
}

@Suite("the line before the door") struct WaitingLineTests {
    private let start = ContinuousClock.now

    private func line(_ change: (inout WaitingLine.Bounds) -> Void = { _ in }) -> WaitingLine {
        var bounds = WaitingLine.Bounds()
        change(&bounds)
        return WaitingLine(bounds)
    }

    @Test("first come, first served, while nobody waits long") func calm() {
        var line = line()
        for socket in 1...3 { line.join(Int32(socket), now: start) }
        let soon = start + .milliseconds(250)
        #expect(line.next(now: soon) == 1)
        #expect(line.next(now: soon) == 2)
        #expect(line.next(now: soon) == 3)
        #expect(line.next(now: soon) == nil)
    }

    @Test("once somebody has waited long, whoever came last is next") func newest() {
        var line = line()
        for socket in 1...3 { line.join(Int32(socket), now: start) }
        let late = start + .milliseconds(251)
        line.join(4, now: late)
        #expect(line.next(now: late) == 4)
        #expect(line.next(now: late) == 3)
        line.join(5, now: late)
        #expect(line.next(now: late) == 5)
        #expect(line.count == 2)
    }

    @Test("those who came first are sent away when they are too many") func crowded() {
        var line = line { $0.count = 2 }
        for socket in 1...4 { line.join(Int32(socket), now: start) }
        #expect(line.surplus(now: start, isBusy: true) == 1)
        #expect(line.surplus(now: start, isBusy: true) == 2)
        #expect(line.surplus(now: start, isBusy: true) == nil)
        #expect(line.count == 2)
    }

    @Test("and when they have waited in vain") func patience() {
        var line = line()
        for socket in 1...30 { line.join(Int32(socket), now: start) }
        // Four places a second: it is hoped for.
        for second in 1...10 {
            #expect(line.surplus(now: start + .seconds(second), isBusy: true) == nil)
            for _ in 1...4 {
                line.join(line.next(now: start + .seconds(second)) ?? 0, now: start + .seconds(second))
            }
        }
        #expect(line.surplus(now: start + .seconds(10.5), isBusy: true) == 1)
    }

    @Test("and when they cannot expect a place, which a second tells") func hopeless() {
        var line = line()
        for socket in 1...100 { line.join(Int32(socket), now: start) }
        #expect(line.next(now: start) == 1)
        #expect(line.surplus(now: start + .seconds(0.9), isBusy: true) == nil)
        #expect(line.surplus(now: start + .seconds(1), isBusy: true) == nil)
        #expect(line.surplus(now: start + .seconds(1.1), isBusy: true) == 2)
        // After an empty line nothing is known.
        while line.surplus(now: start + .seconds(2), isBusy: true) != nil {}
        for socket in 1...100 { line.join(Int32(socket), now: start + .seconds(9)) }
        #expect(line.surplus(now: start + .seconds(9.9), isBusy: true) == nil)
    }

    @Test("but not where others merely hold the places") func places() {
        var line = line { $0.count = 3 }
        for socket in 1...4 { line.join(Int32(socket), now: start) }
        #expect(line.surplus(now: start, isBusy: false) == 1)
        #expect(line.surplus(now: start + .seconds(10), isBusy: false) == nil)
        #expect(line.surplus(now: start + .seconds(10.1), isBusy: false) == 2)
    }

    @Test("once somebody was sent away, nobody waits long until the line is empty") func overrun() {
        var line = line { $0.count = 3 }
        for socket in 1...4 { line.join(Int32(socket), now: start) }
        #expect(line.surplus(now: start, isBusy: true) == 1)
        #expect(line.surplus(now: start + .milliseconds(500), isBusy: true) == nil)
        line.join(5, now: start + .milliseconds(450))
        for socket in 2...4 {
            #expect(line.surplus(now: start + .milliseconds(501), isBusy: true) == Int32(socket))
        }
        #expect(line.surplus(now: start + .milliseconds(501), isBusy: true) == nil)
        #expect(line.next(now: start + .milliseconds(501)) == 5)
        #expect(line.surplus(now: start + .milliseconds(501), isBusy: true) == nil)
        line.join(6, now: start + .seconds(1))
        #expect(line.surplus(now: start + .seconds(1.9), isBusy: true) == nil)
    }
}

@Suite("room") struct RoomTests {
    @Test("places and work are taken and given back") func account() throws {
        let room = try Room(places: 2, work: 3)
        room.take()
        #expect(room.hasPlace && room.workLeft == 2)
        room.take()
        #expect(!room.hasPlace && room.workLeft == 1)
        // What comes may bring work; once it is there, only what it brought counts.
        room.arrive()
        room.arrive()
        #expect(room.workLeft == 3)
        room.begin()
        #expect(room.workLeft == 2)
        room.end()
        room.leave()
        #expect(room.hasPlace && room.workLeft == 3)
    }

    @Test("the bell is heard by who waits, and only rung for somebody") func bell() throws {
        let room = try Room(places: 1, work: 1)
        room.take()
        room.leave()
        room.someWait.store(true, ordering: .sequentiallyConsistent)
        let early = ContinuousClock.now
        _ = room.bell.wait(for: nil, milliseconds: 20)
        #expect(.now - early >= .milliseconds(19))
        room.take()
        room.leave()
        _ = room.bell.wait(for: nil, milliseconds: -1)
    }
}

@Suite("the answer to who gets no place") struct FarewellTests {
    @Test("it is HTTP, with its length, the moment to come again, and the end of the connection") func text()
        throws
    {
        let text = String(decoding: Problem.busy(retryAfter: 17).text, as: UTF8.self)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(text.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
        let head = parts[0].lowercased()
        #expect(head.contains("retry-after: 17") && head.contains("connection: close"))
        #expect(head.contains("content-type: application/problem+json"))
        #expect(head.contains("content-length: \(parts[1].utf8.count)"))
    }
}

@Suite("the doorman") struct DoormanTests {
    @Test("whoever the kernel has taken when it stops is told as well, beyond one handful") func stop() throws
    {
        let listener = try Listener(.network(host: "127.0.0.1", port: 0), backlog: 256)
        let port = try #require(listener.port)
        let sockets = try (0..<100).map { _ in try Self.connect(port) }
        defer { sockets.forEach { _ = close($0) } }
        let doorman = Doorman(
            listener, into: try Room(places: 1, work: 1), waiting: WaitingLine.Bounds(),
            counts: Doorman.Counts())
        doorman.close()
        doorman.run { _ in Issue.record("it gives a place") }
        for socket in sockets {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = recv(socket, &bytes, bytes.count, 0)
            #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).hasPrefix("HTTP/1.1 503 "))
            #expect(recv(socket, &bytes, bytes.count, 0) == 0)
        }
    }

    private static func connect(_ port: Int) throws -> Int32 {
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(address.withSockAddr { Glibc.connect(socket, $0, socklen_t($1)) } == 0)
        return socket
    }
}
