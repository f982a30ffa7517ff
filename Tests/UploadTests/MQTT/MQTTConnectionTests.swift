import Base
import Testing

@testable import Upload

@Suite("the protocol of a connection")
struct MQTTConnectionTests {
    private static let message = MQTTMessage(topic: "t", payload: [1])
    private static let connack: [UInt8] = [0x20, 3, 0, 0, 0]
    private static let publish: [UInt8] = [0x32, 7, 0, 1, 0x74, 0, 1, 0, 1]

    /// A connection with its clock, in seconds.
    private struct Bench {
        var connection: MQTTConnection
        var now = 0.0

        init(_ version: MQTTVersion = .v5) {
            connection = MQTTConnection(
                MQTTConnect(version: version, clientID: "c", keepAlive: 60), now: Rig.instant(0))
        }

        /// Accepted, with everything sent.
        static func open(_ connack: [UInt8] = MQTTConnectionTests.connack) -> Bench {
            var bench = Bench()
            _ = bench.sent()
            #expect(bench.hear(connack) == nil)
            #expect(bench.connection.isAccepted)
            return bench
        }

        mutating func begin(echo: Bool = false, timeout: Double = 30) -> MQTTOutcome? {
            connection.begin(
                MQTTPublication(message, expectsEcho: echo), deadline: Rig.instant(now + timeout),
                now: Rig.instant(now))
        }

        mutating func hear(_ bytes: [UInt8]) -> MQTTOutcome? {
            connection.receive(bytes, now: Rig.instant(now))
        }

        /// What is to be sent, which goes out.
        mutating func sent() -> [UInt8] {
            let bytes = connection.output.bytes
            connection.wrote(bytes.count, now: Rig.instant(now))
            return bytes
        }

        /// Seconds until something is due.
        var wait: Double? { connection.due.map { $0.seconds(since: Rig.instant(now)) } }

        mutating func sleep(_ seconds: Double) -> MQTTOutcome? {
            now += seconds
            return connection.expire(now: Rig.instant(now))
        }
    }

    private static func answer(
        _ source: MQTTAnswer.Source, _ code: UInt8, _ version: MQTTVersion = .v5,
        echo: MQTTAnswer.Echo = .unasked
    ) -> MQTTOutcome {
        .answer(MQTTAnswer(source: source, code: code, version: version, echo: echo))
    }

    @Test("a message waits for CONNACK, and its acknowledgement ends it")
    func publishes() {
        var bench = Bench()
        #expect(bench.begin() == nil)
        #expect(bench.sent().first == 0x10)
        #expect(bench.hear(Self.connack) == nil)
        #expect(bench.sent() == Self.publish)
        #expect(bench.hear([0x40, 2, 0, 1]) == Self.answer(.puback, 0))
        #expect(!bench.connection.isOver)
        #expect(bench.begin() == nil)
        #expect(bench.sent() == [0x32, 7, 0, 1, 0x74, 0, 2, 0, 1], "with an id of its own")
        #expect(bench.hear([0x40, 3, 0, 2, 135]) == Self.answer(.puback, 135))
        #expect(!bench.connection.isOver, "a refused message leaves the connection alone")
        bench.connection.leave()
        #expect(bench.sent() == [0xE0, 0])
        #expect(bench.connection.isOver && bench.connection.farewell == nil)
    }

    @Test("ids never are 0")
    func ids() {
        var bench = Bench.open()
        for id in (1...65_535).map({ UInt16($0) }) + [1, 2] {
            _ = bench.begin()
            #expect(bench.sent()[5...6].elementsEqual(MQTTPacket.number(id)))
            guard bench.hear([0x40, 2] + MQTTPacket.number(id)) == Self.answer(.puback, 0) else {
                Issue.record("\(id) is not acknowledged")
                return
            }
        }
    }

    @Test(
        "a connection that is refused is over",
        arguments: [
            (MQTTVersion.v5, [0x20, 3, 0, 135, 0], 135), (.v5, [0x20, 2, 0, 1], 1),
            (.v311, [0x20, 2, 0, 5], 5),
            // An old broker that takes CONNECT for one of its own.
            (.v5, [0x20, 2, 0, 0], 132),
        ] as [(MQTTVersion, [UInt8], UInt8)])
    func refused(version: MQTTVersion, bytes: [UInt8], code: UInt8) {
        var bench = Bench(version)
        _ = bench.begin()
        #expect(bench.hear(bytes) == Self.answer(.connack, code, version))
        #expect(bench.connection.isOver && !bench.connection.isAccepted)
        #expect(!bench.connection.wasSent)
    }

    @Test("what a broker cannot take is not sent to it")
    func limits() {
        var small = Bench.open([0x20, 8, 0, 0, 5, 0x27, 0, 0, 0, 8])
        #expect(small.begin() == Self.answer(.client, 149))
        var exact = Bench.open([0x20, 8, 0, 0, 5, 0x27, 0, 0, 0, 9])
        #expect(exact.begin() == nil)
        var simple = Bench.open([0x20, 5, 0, 0, 2, 0x24, 0])
        #expect(simple.begin() == Self.answer(.client, 155))
        for bench in [small, simple] { #expect(bench.connection.output.isEmpty && !bench.connection.isOver) }
        var bench = Bench.open()
        let wild = MQTTPublication(MQTTMessage(topic: "#", payload: []), expectsEcho: true)
        let outcome = bench.connection.begin(wild, deadline: Rig.instant(9), now: Rig.instant(0))
        #expect(outcome == Self.answer(.client, 144))
    }

    @Test(
        "whatever comes out of turn ends the connection",
        arguments: [
            [0x40, 2, 0, 2], [0x90, 4, 0, 1, 0, 0], [0x20, 3, 0, 0, 0], [0x48], Array("HTTP".utf8),
        ] as [[UInt8]])
    func outOfTurn(bytes: [UInt8]) {
        var bench = Bench.open()
        _ = bench.begin()
        _ = bench.sent()
        guard case .failure(let failure) = bench.hear(bytes) else {
            Issue.record("it goes on")
            return
        }
        #expect(failure.wasSent && !failure.isTimeout)
        #expect(bench.connection.isOver)
        #expect(bench.hear([0x40, 2, 0, 1]) == nil, "nothing counts any more")
    }

    @Test("nothing is acknowledged before it was sent", arguments: [0, 8])
    func premature(sent: Int) {
        var bench = Bench.open()
        _ = bench.begin()
        bench.connection.wrote(sent, now: Rig.instant(0))
        guard case .failure = bench.hear([0x40, 2, 0, 1]) else {
            Issue.record("it is believed")
            return
        }
    }

    @Test("before CONNACK nothing else may come", arguments: [[0x40, 2, 0, 1], [0xD0, 0]] as [[UInt8]])
    func early(bytes: [UInt8]) {
        var bench = Bench()
        _ = bench.begin()
        guard case .failure = bench.hear(bytes) else {
            Issue.record("it goes on")
            return
        }
    }

    @Test("a broker that ends the connection says why")
    func disconnected() {
        var bench = Bench.open()
        _ = bench.begin()
        #expect(bench.hear([0xE0, 1, 142]) == Self.answer(.disconnect, 142))
        #expect(bench.connection.isOver)
        #expect(bench.connection.farewell?.contains("session taken over (142)") == true)
        var idle = Bench.open()
        #expect(idle.hear([0xE0, 1, 139]) == nil)
        #expect(idle.connection.isOver && idle.connection.farewell != nil)
    }

    @Test("what comes behind an answer is heard as well")
    func behind() {
        var bench = Bench.open()
        _ = bench.begin()
        _ = bench.sent()
        #expect(bench.hear([0x40, 2, 0, 1, 0xE0, 1, 139]) == Self.answer(.puback, 0))
        #expect(bench.connection.farewell?.contains("139") == true)
        var other = Bench.open()
        _ = other.begin()
        _ = other.sent()
        #expect(other.hear([0x40, 2, 0, 1, 0x48]) == Self.answer(.puback, 0))
        #expect(other.connection.isOver)
    }

    @Test("a message was sent as soon as its first byte was", arguments: [(0, false), (1, true), (9, true)])
    func wasSent(count: Int, expected: Bool) throws {
        var bench = Bench.open()
        _ = bench.begin()
        bench.connection.wrote(count, now: Rig.instant(0))
        guard case .failure(let failure) = bench.connection.close("gone") else {
            Issue.record("it goes on")
            return
        }
        #expect(failure == TransportFailure(kind: .network, message: "gone", wasSent: expected))
    }

    @Test("bytes of CONNECT are none of the message")
    func wasNotSent() {
        var bench = Bench()
        _ = bench.begin()
        _ = bench.sent()
        guard case .failure(let failure) = bench.connection.close("gone") else {
            Issue.record("it goes on")
            return
        }
        #expect(!failure.wasSent)
    }

    @Test("time runs out at every stage", arguments: [[], connack] as [[UInt8]])
    func timeout(heard: [UInt8]) {
        var bench = Bench()
        _ = bench.begin(timeout: 30)
        _ = bench.sent()
        _ = bench.hear(heard)
        _ = bench.sent()
        #expect(bench.wait == 30)
        #expect(bench.sleep(29) == nil)
        guard case .failure(let failure) = bench.sleep(1) else {
            Issue.record("it goes on")
            return
        }
        #expect(failure.isTimeout)
        #expect(failure.isForTime == !heard.isEmpty)
        #expect(bench.connection.isOver, "a late answer must not be taken for another's")
        #expect(bench.wait == nil)
    }

    @Test("a silent connection is asked for a sign of life, and closed without one")
    func pings() {
        var bench = Bench.open()
        #expect(bench.wait == 54, "a tenth early")
        #expect(bench.sleep(53) == nil)
        #expect(bench.connection.output.isEmpty)
        _ = bench.sleep(1)
        #expect(bench.sent() == [0xC0, 0])
        #expect(bench.wait == MQTTConnection.pingPatience)
        #expect(bench.hear([0xD0, 0]) == nil)
        #expect(bench.wait == 54)
        _ = bench.sleep(54)
        #expect(bench.sent() == [0xC0, 0])
        #expect(bench.sleep(MQTTConnection.pingPatience) == nil, "there is nothing under way that could fail")
        #expect(bench.connection.isOver && bench.connection.farewell != nil)
    }

    @Test("what is sent puts the next ping off")
    func pingPutOff() {
        var bench = Bench.open()
        _ = bench.sleep(50)
        _ = bench.begin(timeout: 100)
        _ = bench.sent()
        #expect(bench.wait == 54)
        _ = bench.sleep(54)
        #expect(bench.sent() == [0xC0, 0], "also while an acknowledgement is awaited")
        guard case .failure(let failure) = bench.sleep(20) else {
            Issue.record("it goes on")
            return
        }
        #expect(failure.isTimeout && failure.wasSent)
    }

    @Test("the broker's keep-alive goes before ours", arguments: [(10, 9.0), (0, nil)] as [(UInt8, Double?)])
    func serverKeepAlive(seconds: UInt8, wait: Double?) {
        let bench = Bench.open([0x20, 6, 0, 0, 3, 0x13, 0, seconds])
        #expect(bench.wait == wait)
    }

    private static let echo: [UInt8] = [0x30, 5, 0, 1, 0x74, 0, 1]

    @Test("a message comes back, before or after its acknowledgement", arguments: [true, false])
    func echoes(isEarly: Bool) {
        var bench = Bench.open()
        #expect(bench.begin(echo: true) == nil)
        #expect(bench.sent() == [0x82, 7, 0, 1, 0, 0, 1, 0x74, 0x20])
        #expect(bench.hear(Self.echo) == nil, "what comes before it was sent is another's")
        #expect(bench.hear([0x90, 4, 0, 1, 0, 0]) == nil)
        #expect(bench.sent() == [0x32, 7, 0, 1, 0x74, 0, 2, 0, 1])
        #expect(bench.hear([0x30, 5, 0, 1, 0x74, 0, 9]) == nil, "another message")
        let order = isEarly ? [Self.echo, [0x40, 2, 0, 2]] : [[0x40, 2, 0, 2], Self.echo]
        #expect(bench.hear(order[0]) == nil)
        #expect(bench.hear(order[1]) == Self.answer(.puback, 0, echo: .received))
    }

    @Test("a message that does not come back is missed after a while")
    func missingEcho() {
        var bench = Bench.open()
        _ = bench.begin(echo: true)
        _ = bench.hear([0x90, 4, 0, 1, 0, 0])
        _ = bench.sent()
        _ = bench.hear([0x40, 2, 0, 2])
        #expect(bench.wait == MQTTConnection.echoPatience)
        #expect(bench.sleep(10) == Self.answer(.puback, 0, echo: .missing))
        var refused = Bench.open()
        _ = refused.begin(echo: true)
        _ = refused.hear([0x90, 4, 0, 1, 0, 0x87])
        _ = refused.sent()
        #expect(refused.hear([0x40, 2, 0, 2]) == Self.answer(.puback, 0, echo: .refused(0x87)))
    }
}
