import Base
import Linux
import Support
import Synchronization
import Testing

@testable import Upload

@Suite("publishing, step by step, to brokers that misbehave")
struct MQTTClientTests {
    @Test("a connection is kept between messages, and left with a good-bye")
    func keeps() throws {
        let last = Mutex<[UInt8]>([])
        let broker = try FakeBroker { link in
            guard link.welcome() else { return }
            while let packet = link.packet() {
                last.withLock { $0 = packet }
                if packet[0] == 0x32 { link.send([0x40, 2, packet[17], packet[18]]) }
            }
        }
        var client = try mqttClient()
        for text in ["1", "2", "3"] { #expect(try client.ask(text, broker.options()) == puback(0)) }
        #expect(client.descriptor >= 0 && client.due != nil)
        client.disconnect()
        #expect(client.descriptor == -1 && client.due == nil)
        #expect(broker.server.isAtRest())
        #expect(last.withLock { $0 } == [0xE0, 0])
        #expect(broker.server.connections == 1)
        // Whom other options concern is another.
        var other = broker.options()
        other.username = "u"
        #expect(try client.ask("4", broker.options()) == puback(0))
        #expect(try client.ask("5", other) == puback(0))
        #expect(broker.server.connections == 3)
        client.disconnect()
    }

    @Test("nothing is sent before the first step, and what is cancelled leaves no trace")
    func cancelled() throws {
        let broker = try FakeBroker { link in if link.welcome() { link.acknowledge() } }
        var client = try mqttClient()
        let wakeup = try Wakeup()
        client.begin(publication("1"), broker.options())
        client.cancel()
        guard case .ended(.failure) = client.advance(wakeup: wakeup) else {
            Issue.record("a cancelled publication goes on")
            return
        }
        #expect(broker.server.connections == 0)
        #expect(try client.ask("2", broker.options()) == puback(0))
        client.disconnect()
        #expect(broker.server.isAtRest())
    }

    @Test("a wake-up ends a step, and a publication that is cancelled then closes the connection")
    func wakes() throws {
        let isAsked = Flag()
        let broker = try FakeBroker { link in
            guard link.welcome(), link.packet() != nil else { return }
            isAsked.raise()
            link.drain()
        }
        var client = try mqttClient()
        let wakeup = try Wakeup()
        wakeup.signal()
        let outcome = client.publish(publication("1"), broker.options(), wakeup: wakeup) {
            isAsked.raisedAt != nil
        }
        #expect(outcome == .cancelled)
        #expect(broker.server.isAtRest())
    }

    @Test("a client that goes away takes its connection with it")
    func abandoned() throws {
        let broker = try FakeBroker { link in
            if link.welcome() { link.drain() }
        }
        do {
            var client = try mqttClient()
            let wakeup = try Wakeup()
            client.begin(publication("1"), broker.options())
            #expect(wait(upTo: 60) { client.advance(wakeup: wakeup) == .underway && client.descriptor >= 0 })
        }
        #expect(broker.server.isAtRest())
    }

    @Test("a broker that is silent is given up, whatever it was asked", arguments: [0, 1, 2])
    func silent(answers: Int) throws {
        let hasMessage = Flag()
        let broker = try FakeBroker { link in
            guard answers == 0 || link.welcome() else { return }
            while let packet = link.packet() { if packet[0] == 0x32 { hasMessage.raise() } }
        }
        var client = try mqttClient()
        let started = monotonicSeconds()
        let outcome = client.publish(
            publication("1", expectsEcho: answers == 2), broker.options(timeout: 0.4), wakeup: try Wakeup()
        ) { false }
        #expect(monotonicSeconds() - started >= 0.39)
        guard case .failure(let failure) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(failure.isTimeout)
        #expect(broker.server.isAtRest(), "the connection is closed")
        #expect(broker.server.connections <= 1, "silence is no reason to speak 3.1.1")
        // On a machine that is busy the time may be up before.
        #expect(failure.wasSent == (hasMessage.raisedAt != nil))
        #expect(answers == 1 || !failure.wasSent)
    }

    @Test(
        "a silent TLS handshake, and a silent proxy, are given up", arguments: ["mqtts", "socks5h", "http"])
    func silentHandshake(kind: String) throws {
        let broker = try FakeBroker { $0.drain() }
        var options = broker.options(timeout: 0.4)
        if kind == "mqtts" {
            options.url = "mqtts://127.0.0.1:\(broker.server.port)"
        } else {
            options.url = "mqtts://broker.invalid"
            options.proxy = "\(kind)://127.0.0.1:\(broker.server.port)"
        }
        var client = try mqttClient()
        guard case .failure(let failure) = try client.ask("1", options) else {
            Issue.record("it goes on")
            return
        }
        #expect(failure.isTimeout && !failure.wasSent)
    }

    @Test("a connection refused is a failure of the network, and no url of another kind is tried")
    func refused() throws {
        let port = try ClosedPort()
        defer { withExtendedLifetime(port) {} }
        var client = try mqttClient()
        for url in [
            "mqtt://127.0.0.1:\(port.number)", "https://127.0.0.1:\(port.number)", "mqtt://", "127.0.0.1",
        ] {
            guard
                case .failure(let failure) = try client.ask(
                    "1", MQTTOptions(url: url, clientID: "c", timeout: 30))
            else {
                Issue.record("\(url) answers")
                continue
            }
            #expect(!failure.wasSent && !failure.isTimeout && !failure.message.isEmpty)
        }
    }

    @Test(
        "what answers and is no broker is a failure, at once",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n", "\0\0\0\0", "\u{20}\u{7F}",
        ])
    func garbage(text: String) throws {
        let broker = try FakeBroker { link in
            _ = link.packet()
            link.send(text)
            link.drain()
        }
        var client = try mqttClient()
        // The last one promises 127 bytes that do not come.
        let isUnfinished = text.utf8.count == 2
        guard
            case .failure(let failure) = try client.ask("1", broker.options(timeout: isUnfinished ? 0.4 : 60))
        else {
            Issue.record("it is believed")
            return
        }
        #expect(failure.isTimeout == isUnfinished)
        #expect(!failure.wasSent)
    }

    @Test("a flood is cut, and keeps nobody from cancelling")
    func flood() throws {
        let broker = try FakeBroker { link in
            guard link.welcome() else { return }
            let pongs = [UInt8](repeating: 0, count: 65_536).enumerated().map {
                UInt8($0.offset % 2 == 0 ? 0xD0 : 0)
            }
            while link.send(pongs) == pongs.count {}
        }
        var client = try mqttClient()
        let wakeup = try Wakeup()
        client.begin(publication("1"), broker.options())
        var steps = 0
        while steps < 4 {
            let progress = client.advance(wakeup: wakeup)
            guard progress == .underway else {
                Issue.record("\(progress) after \(steps) steps")
                break
            }
            steps += 1
        }
        client.cancel()
        #expect(broker.server.isAtRest())
    }

    @Test("a broker that closes after the message leaves it in doubt")
    func closes() throws {
        let broker = try FakeBroker { link in
            _ = link.welcome() && link.packet() != nil
        }
        var client = try mqttClient()
        guard case .failure(let failure) = try client.ask("1", broker.options()) else {
            Issue.record("it is believed")
            return
        }
        #expect(failure.wasSent && !failure.isTimeout)
        #expect(broker.server.connections == 1, "nobody but the caller tries again")
    }

    /// Refuses MQTT 5 in the way of the brokers that lack it.
    private static func oldBroker(_ refusal: [UInt8]) throws -> FakeBroker {
        try FakeBroker { link in
            guard let connect = link.packet() else { return }
            // The protocol level stands after the name.
            if connect[8] == 4 {
                link.send([0x20, 2, 0, 0])
                link.acknowledge()
            } else {
                link.send(refusal)
                if !refusal.isEmpty { link.drain() }
            }
        }
    }

    @Test(
        "3.1.1 is spoken where 5 is refused, and from the start the next time",
        arguments: [
            [], [0x20, 2, 0, 1], [0x20, 2, 0, 132], [0x20, 3, 0, 132, 0], [0x20, 2, 0, 0],
        ] as [[UInt8]])
    func old(refusal: [UInt8]) throws {
        let broker = try Self.oldBroker(refusal)
        var client = try mqttClient()
        #expect(try client.ask("1", broker.options()) == puback(0, .v311))
        #expect(broker.server.connections == 2)
        client.disconnect()
        #expect(try client.ask("2", broker.options()) == puback(0, .v311))
        #expect(broker.server.connections == 3)
        client.disconnect()
        #expect(broker.server.isAtRest())
    }

    @Test("a broker that always closes is tried twice, and not taken for an old one")
    func closesAlways() throws {
        let broker = try FakeBroker { _ = $0.packet() }
        var client = try mqttClient()
        for connections in [2, 4] {
            guard case .failure(let failure) = try client.ask("1", broker.options()) else {
                Issue.record("it is believed")
                return
            }
            #expect(!failure.wasSent)
            #expect(broker.server.connections == connections)
        }
    }

    @Test("a broker that is started again in between is not taken for an old one")
    func restarted() throws {
        let stage = Atomic(0)
        let broker = try FakeBroker { link in
            guard let connect = link.packet() else { return }
            switch stage.add(1, ordering: .sequentiallyConsistent).newValue {
            case 1: break
            case 2: link.drain()
            default:
                link.send(connect[8] == 5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0])
                link.acknowledge()
            }
        }
        var client = try mqttClient()
        // Where 3.1.1 is on trial, nobody answers.
        let outcome = client.publish(publication("1"), broker.options(), wakeup: try Wakeup()) {
            stage.load(ordering: .sequentiallyConsistent) == 2
        }
        #expect(outcome == .cancelled)
        #expect(try client.ask("2", broker.options()) == puback(0))
        client.disconnect()
    }

    @Test("a kept connection that has died unnoticed is made anew", arguments: [true, false])
    func renewed(hasHeard: Bool) throws {
        let broker = try FakeBroker { link in
            guard link.welcome(), let first = link.packet() else { return }
            link.send([0x40, 2, first[17], first[18]])
            // Gone before, or after, the next message is there.
            if hasHeard { _ = link.packet() }
        }
        var client = try mqttClient()
        #expect(try client.ask("1", broker.options()) == puback(0))
        if !hasHeard { #expect(broker.server.isAtRest()) }
        #expect(try client.ask("2", broker.options()) == puback(0))
        #expect(broker.server.connections == 2)
        client.disconnect()
    }

    @Test("a message that was lost with a kept connection stays in doubt when no other can be had")
    func lostWithKept() throws {
        let isFirst = Flag()
        let broker = try FakeBroker { link in
            guard !isFirst.raise() else { return }
            guard link.welcome(), let first = link.packet() else { return }
            link.send([0x40, 2, first[17], first[18]])
            _ = link.packet()
        }
        var client = try mqttClient()
        #expect(try client.ask("1", broker.options()) == puback(0))
        guard case .failure(let failure) = try client.ask("2", broker.options()) else {
            Issue.record("it is believed")
            return
        }
        #expect(failure.wasSent)
    }

    @Test("a kept connection is kept alive, and its end is noticed")
    func tends() throws {
        let pings = Atomic(0)
        let broker = try FakeBroker { link in
            // Keep-alive: one second.
            guard link.welcome([0x20, 6, 0, 0, 3, 0x13, 0, 1]), let first = link.packet() else { return }
            link.send([0x40, 2, first[17], first[18]])
            while pings.load(ordering: .sequentiallyConsistent) < 2, let packet = link.packet() {
                if packet == [0xC0, 0] { pings.add(1, ordering: .sequentiallyConsistent) }
                link.send([0xD0, 0])
            }
            link.send([0xE0, 1, 139])
        }
        var client = try mqttClient()
        #expect(try client.ask("1", broker.options()) == puback(0))
        var farewell: String?
        #expect(
            wait(upTo: 60) {
                var poll = Rest()
                poll.add(client.descriptor)
                let now = BootInstant(nanoseconds: Clock.boot())
                poll.wait(seconds: client.due.map { max($0.seconds(since: now), 0) })
                farewell = client.tend()
                return farewell != nil
            })
        #expect(pings.load(ordering: .sequentiallyConsistent) == 2)
        #expect(farewell?.contains("shutting down") == true)
        #expect(client.descriptor == -1 && client.tend() == nil)
    }

    @Test(
        "urls of MQTT, as libcurl wants them",
        arguments: [
            ("mqtt://h", "http://h:1883/"), ("mqtts://h", "https://h:8883/"),
            ("MQTTS://h:443", "https://h:443/"),
            ("mqtt://[::1]", "http://[::1]:1883/"), ("mqtt://[::1]:9", "http://[::1]:9/"),
            ("mqtt://u:p@h/x?y", "http://h:1883/"), ("http://h", nil), ("h:1883", nil), ("mqtt://", nil),
            ("", nil),
        ] as [(String, String?)])
    func urls(url: String, transport: String?) {
        #expect(MQTTOptions(url: url, clientID: "c", timeout: 1).transportURL == transport)
    }
}
