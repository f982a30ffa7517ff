import Testing

@testable import Upload

@Suite("packets of MQTT, to the byte")
struct MQTTPacketTests {
    private static let will = MQTTMessage(topic: "w", payload: [7])

    struct Sent: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let packet: MQTTPacket
        let v5: [UInt8]
        let v311: [UInt8]
    }

    static let sent = [
        Sent(
            testDescription: "a message",
            packet: .publish(MQTTMessage(topic: "a/b", payload: [1, 2]), id: 258),
            v5: [0x32, 10, 0, 3, 0x61, 0x2F, 0x62, 1, 2, 0, 1, 2],
            v311: [0x32, 9, 0, 3, 0x61, 0x2F, 0x62, 1, 2, 1, 2]),
        Sent(
            testDescription: "a subscription", packet: .subscribe(topic: "t", id: 3),
            v5: [0x82, 7, 0, 3, 0, 0, 1, 0x74, 0x20], v311: [0x82, 6, 0, 3, 0, 1, 0x74, 0]),
        Sent(testDescription: "a ping", packet: .ping, v5: [0xC0, 0], v311: [0xC0, 0]),
        Sent(
            testDescription: "a message to be retained",
            packet: .publish(MQTTMessage(topic: "t", payload: [], isRetained: true), id: 258),
            v5: [0x33, 6, 0, 1, 0x74, 1, 2, 0], v311: [0x33, 5, 0, 1, 0x74, 1, 2]),
        Sent(
            testDescription: "the end", packet: .disconnect(publishingWill: false), v5: [0xE0, 0],
            v311: [0xE0, 0]),
        // In 3.1.1 only a connection that ends without a word has its will published.
        Sent(
            testDescription: "the end, with the will", packet: .disconnect(publishingWill: true),
            v5: [0xE0, 1, 4], v311: []),
    ]

    @Test("what is sent", arguments: sent)
    func encodes(sent: Sent) {
        #expect(sent.packet.encoded(for: .v5) == sent.v5)
        #expect(sent.packet.encoded(for: .v311) == sent.v311)
    }

    @Test(
        "CONNECT",
        arguments: [
            (
                MQTTConnect(version: .v5, clientID: "c", keepAlive: 60),
                [
                    0x10, 19, 0, 4, 0x4D, 0x51, 0x54, 0x54, 5, 0x02, 0, 60, 5, 0x27, 0, 1, 0, 0, 0, 1,
                    0x63,
                ]
            ),
            (
                MQTTConnect(
                    version: .v5, clientID: "c", username: "u", password: "p", will: will, keepAlive: 300),
                [
                    0x10, 32, 0, 4, 0x4D, 0x51, 0x54, 0x54, 5, 0xCE, 1, 44, 5, 0x27, 0, 1, 0, 0, 0, 1, 0x63,
                    0, 0, 1, 0x77, 0, 1, 7, 0, 1, 0x75, 0, 1, 0x70,
                ]
            ),
            (
                MQTTConnect(
                    version: .v311, clientID: "c",
                    will: MQTTMessage(topic: "w", payload: [7], isRetained: true), keepAlive: 0),
                [
                    0x10, 19, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 0x2E, 0, 0, 0, 1, 0x63, 0, 1, 0x77, 0, 1, 7,
                ]
            ),
            (
                MQTTConnect(version: .v311, clientID: "c", password: "p", will: will, keepAlive: 0),
                [
                    0x10, 24, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 0xCE, 0, 0, 0, 1, 0x63, 0, 1, 0x77, 0, 1, 7,
                    0, 0, 0, 1, 0x70,
                ]
            ),
        ] as [(MQTTConnect, [UInt8])])
    func connects(connect: MQTTConnect, bytes: [UInt8]) {
        #expect(MQTTPacket.connect(connect).encoded(for: connect.version) == bytes)
    }

    @Test(
        "a length has as many bytes as it needs", arguments: [(127, 1), (128, 2), (16_383, 2), (16_384, 3)])
    func lengths(body: Int, digits: Int) {
        #expect(MQTTPacket.framed(0x32, [UInt8](repeating: 0, count: body)).count == 1 + digits + body)
    }

    @Test(
        "what the protocol cannot say is not sent",
        arguments: ["", "a+", "#", "a\0b", String(repeating: "x", count: 65_536)])
    func unsayable(text: String) {
        let message = MQTTMessage(topic: text, payload: [])
        #expect(MQTTPacket.publish(message, id: 1).encoded(for: .v5) == nil)
        let connect = MQTTConnect(version: .v5, clientID: "c", will: message, keepAlive: 0)
        #expect(MQTTPacket.connect(connect).encoded(for: .v5) == nil)
    }

    @Test("texts of CONNECT are bounded")
    func longTexts() {
        let long = String(repeating: "x", count: 65_536)
        let connect = MQTTConnect(version: .v5, clientID: "c", keepAlive: 0)
        for field in [\MQTTConnect.username, \.password] {
            var longer = connect
            longer[keyPath: field] = long
            #expect(MQTTPacket.connect(longer).encoded(for: .v5) == nil)
        }
    }

    private static var reason: MQTTProperties {
        var properties = MQTTProperties()
        properties.reason = "no"
        return properties
    }
    private static var limits: MQTTProperties {
        var properties = MQTTProperties()
        (properties.keepAlive, properties.maximumPacket, properties.maximumQoS) = (20, 2000, 1)
        return properties
    }

    static let heard: [(MQTTVersion, [UInt8], MQTTInbound)] = [
        (.v5, [0x20, 3, 0, 0, 0], .connack(MQTTConnack(code: 0, properties: MQTTProperties()))),
        (.v5, [0x20, 3, 1, 0, 0], .connack(MQTTConnack(code: 0, properties: MQTTProperties()))),
        (.v5, [0x20, 2, 0, 1], .connack(MQTTConnack(code: 1))),
        (.v311, [0x20, 2, 0, 5], .connack(MQTTConnack(code: 5))),
        (
            .v5, [0x20, 13, 0, 0, 10, 0x13, 0, 20, 0x27, 0, 0, 7, 0xD0, 0x24, 1],
            .connack(MQTTConnack(code: 0, properties: limits))
        ),
        (.v5, [0x40, 2, 1, 2], .puback(id: 258, code: 0, reason: nil)),
        (.v5, [0x40, 3, 1, 2, 16], .puback(id: 258, code: 16, reason: nil)),
        (.v5, [0x40, 9, 1, 2, 135, 5, 0x1F, 0, 2, 0x6E, 0x6F], .puback(id: 258, code: 135, reason: "no")),
        (.v311, [0x40, 2, 1, 2], .puback(id: 258, code: 0, reason: nil)),
        (.v5, [0x90, 4, 0, 3, 0, 0x87], .suback(id: 3, code: 0x87)),
        (.v311, [0x90, 3, 0, 3, 0], .suback(id: 3, code: 0)),
        (.v5, [0xD0, 0], .pong),
        (.v5, [0x30, 6, 0, 1, 0x61, 0, 1, 2], .publish(MQTTMessage(topic: "a", payload: [1, 2]))),
        (.v5, [0x3B, 7, 0, 1, 0x61, 0, 9, 0, 1], .publish(MQTTMessage(topic: "a", payload: [1]))),
        (.v311, [0x30, 5, 0, 1, 0x61, 1, 2], .publish(MQTTMessage(topic: "a", payload: [1, 2]))),
        (.v5, [0xE0, 0], .disconnect(code: 0, MQTTProperties())),
        (.v5, [0xE0, 1, 142], .disconnect(code: 142, MQTTProperties())),
        (.v5, [0xE0, 7, 137, 5, 0x1F, 0, 2, 0x6E, 0x6F], .disconnect(code: 137, reason)),
        // User properties, which may come again, and one of each other kind of value.
        (
            .v5,
            [
                0x20, 32, 0, 0, 29, 0x26, 0, 1, 0x61, 0, 1, 0x62, 0x26, 0, 0, 0, 0, 0x25, 0, 0x11, 0, 0, 0, 0,
                0x16, 0, 1, 9, 0x0B, 0x80, 1, 0x22, 0, 10,
            ], .connack(MQTTConnack(code: 0, properties: MQTTProperties()))
        ),
    ]

    @Test("what is heard, in one piece and byte by byte", arguments: heard)
    func decodes(version: MQTTVersion, bytes: [UInt8], packet: MQTTInbound) throws {
        var whole = MQTTDecoder(version: version)
        whole.append(bytes + bytes)
        #expect(try whole.next() == packet)
        #expect(try whole.next() == packet)
        #expect(try whole.next() == nil)
        var slow = MQTTDecoder(version: version)
        for byte in bytes.dropLast() {
            slow.append([byte])
            #expect(try slow.next() == nil)
        }
        slow.append(bytes.suffix(1))
        #expect(try slow.next() == packet)
    }

    static let wrong: [(MQTTVersion, [UInt8])] = [
        // Other protocols.
        (.v5, Array("HTTP".utf8)), (.v5, Array("SSH-2.0".utf8)), (.v5, [0x15, 3, 1, 0, 2]), (.v5, [0]),
        // Packets that only clients send, or that nobody has asked for.
        (.v5, [0x10]), (.v5, [0x50]), (.v5, [0xB0]), (.v5, [0xC0]), (.v5, [0xF0]), (.v311, [0xE0, 0]),
        // Flags.
        (.v5, [0x21]), (.v5, [0x42]), (.v5, [0x20, 3, 2, 0, 0]), (.v5, [0x36, 5, 0, 1, 0x61, 0, 0]),
        // Lengths: five bytes; more than is allowed; short; long.
        (.v5, [0x20, 0x80, 0x80, 0x80, 0x80]), (.v5, [0x30, 0xFD, 0xFF, 0x03]), (.v5, [0x20, 0]),
        (.v5, [0x20, 1, 0]), (.v5, [0x40, 1, 0]), (.v311, [0x40, 3, 0, 1, 0]), (.v311, [0x20, 3, 0, 0, 0]),
        (.v5, [0xD0, 1, 0]), (.v5, [0x90, 3, 0, 1, 0]), (.v5, [0x90, 5, 0, 1, 0, 0, 0]),
        (.v5, [0x30, 3, 0, 9, 0x61]), (.v5, [0x20, 5, 0, 0, 9, 0x13, 0]),
        // Properties: unknown; twice; cut; without value.
        (.v5, [0x20, 4, 0, 0, 1, 0x7F]), (.v5, [0x20, 9, 0, 0, 6, 0x13, 0, 1, 0x13, 0, 1]),
        (.v5, [0x20, 5, 0, 0, 2, 0x13, 0]), (.v5, [0x20, 5, 0, 0, 2, 0x24, 2]),
        (.v5, [0x20, 8, 0, 0, 5, 0x27, 0, 0, 0, 0]),
        // Texts: not UTF-8; NUL; topics that are none.
        (.v5, [0x20, 7, 0, 0, 4, 0x1F, 0, 1, 0xFF]), (.v5, [0x20, 7, 0, 0, 4, 0x1F, 0, 1, 0]),
        (.v5, [0x30, 3, 0, 0, 0]), (.v5, [0x30, 4, 0, 1, 0x23, 0]),
    ]

    @Test("what is no MQTT is an error", arguments: wrong)
    func violations(version: MQTTVersion, bytes: [UInt8]) {
        var decoder = MQTTDecoder(version: version)
        decoder.append(bytes)
        #expect(throws: MQTTViolation.self) { try decoder.next() }
    }

    @Test("the longest packet is taken, and one byte more is not waited for")
    func limit() throws {
        let body: [UInt8] = [0, 1, 0x61, 0] + [UInt8](repeating: 0, count: MQTTDecoder.packetLimit - 8)
        let longest = MQTTPacket.framed(0x30, body)
        #expect(longest.count == MQTTDecoder.packetLimit)
        var decoder = MQTTDecoder(version: .v5)
        decoder.append(longest)
        #expect(try decoder.next() != nil)
        decoder.append(MQTTPacket.framed(0x30, body + [0]).prefix(4))
        #expect(throws: MQTTViolation.self) { try decoder.next() }
    }

    @Test("the broker's words become one line of bounded length")
    func reasons() throws {
        let text = Array("a\n\u{1B}[31m\u{202E}\u{85}b  ".utf8) + [UInt8](repeating: 0x78, count: 1000)
        let property = [0x1F] + MQTTPacket.binary(text)
        var decoder = MQTTDecoder(version: .v5)
        // The length of the properties has two bytes.
        let length = [UInt8(property.count & 0x7F) | 0x80, UInt8(property.count >> 7)]
        decoder.append(MQTTPacket.framed(0x40, [0, 1, 151] + length + property))
        guard case .puback(_, 151, let reason?) = try decoder.next() else {
            Issue.record("no PUBACK")
            return
        }
        #expect(reason.hasPrefix("a [31m b xxx"))
        #expect(reason.count <= 200)
    }
}
