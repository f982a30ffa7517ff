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
        #expect(outcome != puback(0))
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
}
