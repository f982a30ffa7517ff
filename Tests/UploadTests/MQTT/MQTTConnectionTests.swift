import Base
import Support
import Testing

@testable import Upload

@Suite("the protocol of a connection")
struct MQTTConnectionTests {
    private static let message = MQTTMessage(topic: "t", payload: [1])
    private static let connack: [UInt8] = [0x20, 3, 0, 0, 0]
    private static func publish(_ id: [UInt8]) -> [UInt8] { [0x32, 7, 0, 1, 0x74] + id + [0, 1] }

    /// A connection with its clock, in seconds.
    private struct Bench {
        var connection: MQTTConnection
        var now = 0.0

        var random: SeededGenerator

        init(
            _ version: MQTTVersion = .v5, heeding topic: String? = nil, leavesWithWill: Bool = false,
            seed: UInt64 = 1
        ) {
            random = SeededGenerator(seed: seed)
            connection = MQTTConnection(
                MQTTConnect(version: version, clientID: "c", keepAlive: 60), heeding: topic,
                leavesWithWill: leavesWithWill, using: &random, now: Rig.instant(0))
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
                using: &random, now: Rig.instant(now))
        }

        mutating func hear(_ bytes: [UInt8]) -> MQTTOutcome? {
            connection.receive(bytes, now: Rig.instant(now))
        }

        mutating func heard() -> [UInt8]? { connection.takeHeard() }

        /// What is to be sent, which goes out.
        mutating func sent() -> [UInt8] {
            let bytes = connection.output.bytes
            connection.wrote(bytes.count, now: Rig.instant(now))
            return bytes
        }

        /// What is to be sent goes out: the message, and nothing else.
        ///
        /// - Returns: the two bytes of its id.
        mutating func published() -> [UInt8] {
            let bytes = sent()
            let id = Array(bytes.dropFirst(5).prefix(2))
            #expect(bytes == MQTTConnectionTests.publish(id))
            return id
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

    @Test(
        "a topic is listened to beside the messages, and nothing waits for that",
        arguments: [0, 0x87] as [UInt8])
    func heeds(code: UInt8) throws {
        var bench = Bench(heeding: "s")
        #expect(bench.begin() == nil)
        _ = bench.sent()
        #expect(bench.hear(Self.connack) == nil)
        let bytes = bench.sent()
        let id = Array(bytes.dropFirst(2).prefix(2))
        // SUBSCRIBE goes before the message.
        #expect(Array(bytes.prefix(9)) == [0x82, 7] + id + [0, 0, 1, 0x73, 0x20])
        let message = Array(bytes.dropFirst(9).dropFirst(5).prefix(2))
        #expect(Array(bytes.dropFirst(9)) == Self.publish(message))
        #expect(bench.hear([0x90, 4] + id + [0, code]) == nil)
        #expect(bench.heard() == nil)
        // Another topic, then twice that one, in the middle of the message.
        #expect(bench.hear([0x30, 5, 0, 1, 0x78, 0, 1]) == nil)
        #expect(bench.heard() == nil)
        #expect(bench.hear([0x30, 5, 0, 1, 0x73, 0, 1]) == nil)
        #expect(bench.hear([0x30, 5, 0, 1, 0x73, 0, 2]) == nil)
        #expect(bench.heard() == [2])
        #expect(bench.heard() == nil)
        #expect(bench.hear([0x40, 2] + message) == Self.answer(.puback, 0))
        #expect(!bench.connection.isOver)
    }

    @Test("a connection that leaves with its will says so", arguments: [MQTTVersion.v5, .v311])
    func leavesWithWill(version: MQTTVersion) {
        let parting: [UInt8] = version == .v5 ? [0xE0, 1, 4] : []
        for (leavesWithWill, bytes) in [(false, [0xE0, 0]), (true, parting)] as [(Bool, [UInt8])] {
            var bench = Bench(version, leavesWithWill: leavesWithWill)
            _ = bench.sent()
            #expect(bench.hear(version == .v5 ? Self.connack : [0x20, 2, 0, 0]) == nil)
            bench.connection.leave()
            #expect(bench.sent() == bytes)
            #expect(bench.connection.isTakingLeave)
        }
    }

    @Test("a message waits for CONNACK, and its acknowledgement ends it")
    func publishes() {
        var bench = Bench()
        #expect(bench.begin() == nil)
        #expect(bench.sent().first == 0x10)
        #expect(bench.hear(Self.connack) == nil)
        let first = bench.published()
        #expect(bench.hear([0x40, 2] + first) == Self.answer(.puback, 0))
        #expect(!bench.connection.isOver)
        #expect(bench.begin() == nil)
        let second = bench.published()
        #expect(second != first, "with an id of its own")
        #expect(bench.hear([0x40, 3] + second + [135]) == Self.answer(.puback, 135))
        #expect(!bench.connection.isOver, "a refused message leaves the connection alone")
        bench.connection.leave()
        #expect(bench.sent() == [0xE0, 0])
        #expect(bench.connection.isOver && bench.connection.farewell == nil)
    }

    @Test("ids begin anywhere, go up in steps that nobody knows, and are never 0", arguments: [1, 2, 3])
    func ids(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var ids = MQTTPacketIDs(using: &random)
        var other = MQTTPacketIDs(using: &random)
        let all = (0..<200_000).map { _ in Int(ids.next(using: &random)) }
        #expect(other.next(using: &random) != all[0])
        #expect(!all.contains(0))
        // 65,535 is followed by 1.
        let steps = zip(all, all.dropFirst()).map { ($1 - $0 + 65_535) % 65_535 }
        #expect(steps.allSatisfy { (2...32_767).contains($0) }, "the next number is never the next id")
        #expect(Set(all).count > 60_000)
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
        // The next attempt reads another CONNACK.
        for var bench in [small, simple] {
            #expect(bench.connection.isTakingLeave && bench.sent() == [0xE0, 0])
        }
        var narrow = Bench.open([0x20, 8, 0, 0, 5, 0x27, 0, 0, 0, 8])
        #expect(narrow.begin(echo: true) == Self.answer(.client, 149), "SUBSCRIBE has nine bytes, too")
        var bench = Bench.open()
        let wild = MQTTPublication(MQTTMessage(topic: "#", payload: []), expectsEcho: true)
        let outcome = bench.connection.begin(
            wild, deadline: Rig.instant(9), using: &bench.random, now: Rig.instant(0))
        #expect(outcome == Self.answer(.client, 144))
    }

    @Test(
        "whatever comes out of turn ends the connection",
        arguments: [
            [0x90, 4, 0, 1, 0, 0], [0x20, 3, 0, 0, 0], [0x48], Array("HTTP".utf8),
        ] as [[UInt8]])
    func outOfTurn(bytes: [UInt8]) {
        var bench = Bench.open()
        _ = bench.begin()
        let id = bench.published()
        guard case .failure(let failure) = bench.hear(bytes) else {
            Issue.record("it goes on")
            return
        }
        #expect(failure.wasSent && !failure.isTimeout)
        #expect(bench.connection.isOver)
        #expect(bench.hear([0x40, 2] + id) == nil, "nothing counts any more")
    }

    @Test("a PUBACK for another message is stray, and nothing counts any more", arguments: [1, 2, 65_534])
    func stray(distance: UInt16) {
        var bench = Bench.open()
        _ = bench.begin()
        let id = bench.published()
        let other = MQTTPacket.number((UInt16(id[0]) << 8 | UInt16(id[1])) &+ distance)
        #expect(
            bench.hear([0x40, 2] + other)
                == .unmatched("the broker sent PUBACK for a message that was not sent"))
        #expect(bench.connection.isOver && bench.connection.strayWords != nil && bench.sent() == [])
        #expect(bench.hear([0x40, 2] + id) == nil)
    }

    @Test("a PUBACK that comes while nothing is under way is told with the next message")
    func strayAtRest() {
        var bench = Bench.open()
        _ = bench.begin()
        let id = bench.published()
        #expect(bench.hear([0x40, 2] + id + [0x40, 2] + id) == Self.answer(.puback, 0), "that one is right")
        #expect(bench.connection.isOver && bench.connection.strayWords != nil)
    }

    @Test(
        "nothing is acknowledged before it was sent, and is with the other machine",
        arguments: [(0, 0), (8, 0), (9, 1), (9, 9)])
    func premature(sent: Int, unacknowledged: Int) {
        var bench = Bench.open()
        _ = bench.begin()
        let id = Array(bench.connection.output.bytes[5...6])
        bench.connection.wrote(sent, now: Rig.instant(0))
        let outcome = bench.connection.receive(
            [0x40, 2] + id, unacknowledged: unacknowledged, now: Rig.instant(0))
        #expect(outcome == .unmatched("the broker sent PUBACK before it had the message"))
        #expect(bench.connection.isOver)
    }

    @Test("what goes out behind the message casts no doubt on its acknowledgement")
    func pingBehind() {
        var bench = Bench.open()
        _ = bench.begin(timeout: 100)
        let id = bench.published()
        _ = bench.sleep(54)
        #expect(bench.sent() == [0xC0, 0])
        let outcome = bench.connection.receive([0x40, 2] + id, unacknowledged: 2, now: Rig.instant(54))
        #expect(outcome == Self.answer(.puback, 0))
    }

    @Test("before CONNACK nothing else may come")
    func early() {
        for (bytes, isStray) in [([0x40, 2, 0, 1], true), ([0xD0, 0], false)] as [([UInt8], Bool)] {
            var bench = Bench()
            _ = bench.begin()
            switch bench.hear(bytes) {
            case .failure: #expect(!isStray)
            case .unmatched: #expect(isStray)
            case .answer, .cancelled, nil: Issue.record("it goes on")
            }
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
        let id = bench.published()
        #expect(bench.hear([0x40, 2] + id + [0xE0, 1, 139]) == Self.answer(.puback, 0))
        #expect(bench.connection.farewell?.contains("139") == true)
        var other = Bench.open()
        _ = other.begin()
        let another = other.published()
        #expect(other.hear([0x40, 2] + another + [0x48]) == Self.answer(.puback, 0))
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

    /// A connection that has subscribed.
    private static func subscribed(_ code: UInt8 = 0) -> (Bench, id: [UInt8]) {
        var bench = Bench.open()
        #expect(bench.begin(echo: true) == nil)
        let bytes = bench.sent()
        let subscription = Array(bytes[2...3])
        #expect(bytes == [0x82, 7] + subscription + [0, 0, 1, 0x74, 0x20])
        #expect(bench.hear(echo) == nil, "what comes before it was sent is another's")
        #expect(bench.hear([0x90, 4] + subscription + [0, code]) == nil)
        let id = bench.published()
        #expect(id != subscription)
        return (bench, id)
    }

    @Test("a message comes back, before or after its acknowledgement", arguments: [true, false])
    func echoes(isEarly: Bool) {
        var (bench, id) = Self.subscribed()
        #expect(bench.hear([0x30, 5, 0, 1, 0x74, 0, 9]) == nil, "another message")
        let order = isEarly ? [Self.echo, [0x40, 2] + id] : [[0x40, 2] + id, Self.echo]
        #expect(bench.hear(order[0]) == nil)
        #expect(bench.hear(order[1]) == Self.answer(.puback, 0, echo: .received))
    }

    @Test("a message that comes back under another topic is told with that", arguments: [true, false])
    func renamed(isEarly: Bool) {
        var (bench, id) = Self.subscribed()
        let other: [UInt8] = [0x30, 5, 0, 1, 0x75, 0, 1]
        let order = isEarly ? [other, [0x40, 2] + id] : [[0x40, 2] + id, other]
        #expect(bench.hear(order[0]) == nil)
        #expect(bench.hear(order[1]) == Self.answer(.puback, 0, echo: .renamed("u")))
    }

    @Test("a message that does not come back is missed after a while")
    func missingEcho() {
        var (bench, id) = Self.subscribed()
        _ = bench.hear([0x40, 2] + id)
        #expect(bench.wait == MQTTConnection.echoPatience)
        #expect(bench.sleep(10) == Self.answer(.puback, 0, echo: .missing))
        var (refused, other) = Self.subscribed(0x87)
        #expect(refused.hear([0x40, 2] + other) == Self.answer(.puback, 0, echo: .refused(0x87)))
    }
}
