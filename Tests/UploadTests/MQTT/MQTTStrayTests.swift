import Linux
import Support
import Testing

@testable import Upload

@Suite("acknowledgements that come before their message")
struct MQTTStrayTests {
    /// Bytes: more than the kernels of both sides hold, and less, of which each has a part.
    @Test("what the broker's machine has not taken is not acknowledged", arguments: [16_000_000, 400_000])
    func early(size: Int) throws {
        let isOver = Flag()
        let broker = try FakeBroker { link in
            guard link.welcome(), let head = link.take(4 + 13 + 4) else { return }
            // The length has three or four bytes.
            let at = head[3] & 0x80 == 0 ? 4 : 5
            guard let rest = at == 4 ? [] : link.take(1) else { return }
            let bytes = head + rest
            link.send([0x40, 2, bytes[at + 15], bytes[at + 16]])
            // It reads on only once the client has decided.
            _ = wait(upTo: 60) { isOver.raisedAt != nil || pause() }
            link.drain()
        }
        var client = try mqttClient()
        let outcome = try client.ask(String(repeating: "x", count: size), broker.options())
        isOver.raise()
        #expect(outcome == .unmatched("the broker sent PUBACK before it had the message"))
        #expect(client.descriptor == -1, "the connection is closed")
        #expect(broker.server.connections == 1)
    }

    @Test("a broker that has read it all is believed", arguments: [400_000, 1])
    func whole(size: Int) throws {
        let broker = try FakeBroker { link in
            guard link.welcome(), let packet = link.packet() else { return }
            let at = packet.count - size - 3
            link.send([0x40, 2, packet[at], packet[at + 1]])
            link.drain()
        }
        var client = try mqttClient()
        for _ in 0..<3 {
            #expect(try client.ask(String(repeating: "x", count: size), broker.options()) == puback(0))
            client.disconnect()
        }
    }

    @Test("a second PUBACK on a kept connection is told with the next message, which is not sent on it")
    func second() throws {
        let isHeard = Flag()
        let broker = try FakeBroker { link in
            guard link.welcome(), let first = link.packet() else { return }
            link.send([0x40, 2, first[17], first[18]])
            _ = wait(upTo: 60) { isHeard.raisedAt != nil || pause() }
            link.send([0x40, 2, first[17], first[18]])
            link.drain()
        }
        var client = try mqttClient()
        #expect(try client.ask("1", broker.options()) == puback(0))
        isHeard.raise()
        var poll = Rest()
        poll.add(client.descriptor)
        poll.wait(seconds: 60)
        #expect(
            try client.ask("2", broker.options())
                == .unmatched("the broker sent PUBACK for a message that was not sent"))
        #expect(client.descriptor == -1)
        #expect(broker.server.connections == 1)
        #expect(try client.ask("2", broker.options()) == puback(0))
        client.disconnect()
    }
}
