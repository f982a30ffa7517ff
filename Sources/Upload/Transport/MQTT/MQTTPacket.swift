/// The dialects that are spoken. The raw value is the protocol level in CONNECT.
package enum MQTTVersion: UInt8, Sendable {
    /// MQTT 3.1.1, in which a broker acknowledges what it drops: PUBACK has no code.
    case v311 = 4
    /// MQTT 5.0.
    case v5 = 5
}

/// A topic and what is published there.
package struct MQTTMessage: Equatable, Sendable {
    package var topic: String
    package var payload: [UInt8]
    /// The broker keeps it for who subscribes later, until another one takes its place; an empty payload removes it (MQTT 5.0
    /// section 3.3.1.3). Of a received message nobody asks.
    package var isRetained = false

    package init(topic: String, payload: [UInt8], isRetained: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
    }

    /// MQTT 5.0 sections 1.5.4 and 4.7: 1…65,535 bytes, no wildcards, no NUL.
    var hasValidTopic: Bool {
        (1...MQTTPacket.textLimit).contains(topic.utf8.count)
            && !topic.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
    }
}

/// The packet CONNECT. Text is valid up to 65,535 bytes.
struct MQTTConnect: Equatable, Sendable {
    var version: MQTTVersion
    var clientID: String
    var username: String?
    var password: String?
    /// The broker publishes it at QoS 1 when the connection ends without DISCONNECT.
    var will: MQTTMessage?
    /// Seconds; 0 is off.
    var keepAlive: UInt16
}

/// What a publisher sends: MQTT 5.0 section 3, and the same of 3.1.1.
///
/// Sessions are clean and end with their connection, so there is no DUP: a session would hold nothing for a publisher but
/// the ids of what it has sent at QoS 2, while it would cost each broker a place for each vehicle that is off. What was not
/// acknowledged is a new packet in the next session, with the same payload.
enum MQTTPacket: Equatable, Sendable {
    case connect(MQTTConnect)
    /// At QoS 1.
    case publish(MQTTMessage, id: UInt16)
    /// At QoS 0. In MQTT 5 what the broker has retained is not wanted.
    case subscribe(topic: String, id: UInt16)
    case ping
    /// The normal end: the broker forgets the will, or publishes it now, which only MQTT 5 can be told.
    case disconnect(publishingWill: Bool)

    /// Bytes of a text, and of a will's payload: their length has two bytes.
    static let textLimit = 65_535
    /// The largest that four bytes of length can say, MQTT 5.0 section 1.5.5.
    private static let bodyLimit = 268_435_455

    /// - Returns: nil when something is longer than the protocol can say.
    func encoded(for version: MQTTVersion) -> [UInt8]? {
        switch self {
        case .connect(let connect): return connect.encoded()
        case .publish(let message, let id):
            guard message.hasValidTopic, message.payload.count < Self.bodyLimit - Self.textLimit - 8 else {
                return nil
            }
            var body = Self.text(message.topic) + Self.number(id)
            if version == .v5 { body.append(0) }
            return Self.framed(message.isRetained ? 0x33 : 0x32, body + message.payload)
        case .subscribe(let topic, let id):
            guard topic.utf8.count <= Self.textLimit else { return nil }
            let properties: [UInt8] = version == .v5 ? [0] : []
            // QoS 0; in MQTT 5 also "retain handling 2".
            let options: UInt8 = version == .v5 ? 0x20 : 0
            return Self.framed(0x82, Self.number(id) + properties + Self.text(topic) + [options])
        case .ping: return [0xC0, 0]
        case .disconnect(publishingWill: false): return [0xE0, 0]
        // A connection of 3.1.1 that ends without a word has its will published.
        case .disconnect(publishingWill: true): return version == .v5 ? [0xE0, 1, 4] : []
        }
    }

    static func framed(_ first: UInt8, _ body: [UInt8]) -> [UInt8] {
        var header = [first]
        var rest = body.count
        repeat {
            let digit = UInt8(truncatingIfNeeded: rest & 0x7F)
            rest >>= 7
            header.append(rest > 0 ? digit | 0x80 : digit)
        } while rest > 0
        return header + body
    }

    static func number(_ value: UInt16) -> [UInt8] {
        [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
    }

    static func text(_ text: String) -> [UInt8] { binary(Array(text.utf8)) }

    static func binary(_ bytes: [UInt8]) -> [UInt8] { number(UInt16(clamping: bytes.count)) + bytes }
}

extension MQTTConnect {
    fileprivate func encoded() -> [UInt8]? {
        let texts = [clientID, username, password, will?.topic].compactMap { $0?.utf8.count }
        guard texts.allSatisfy({ $0 <= MQTTPacket.textLimit }), will?.hasValidTopic != false,
            (will?.payload.count ?? 0) <= MQTTPacket.textLimit
        else { return nil }
        // 3.1.1 has no password without a user name (section 3.1.2.9).
        let user = username ?? (version == .v311 && password != nil ? "" : nil)
        var body = MQTTPacket.text("MQTT") + [version.rawValue]
        // With the will at QoS 1, perhaps retained.
        let willFlags: UInt8 = will.map { $0.isRetained ? 0x2C : 0x0C } ?? 0
        body.append(0x02 | willFlags | (password == nil ? 0 : 0x40) | (user == nil ? 0 : 0x80))
        body += MQTTPacket.number(keepAlive)
        if version == .v5 {
            // Maximum Packet Size. Without a Session Expiry Interval the session ends with the connection.
            let limit = UInt32(MQTTDecoder.packetLimit)
            body +=
                [5, 0x27] + MQTTPacket.number(UInt16(limit >> 16)) + MQTTPacket.number(UInt16(limit & 0xFFFF))
        }
        body += MQTTPacket.text(clientID)
        if let will {
            if version == .v5 { body.append(0) }
            body += MQTTPacket.text(will.topic) + MQTTPacket.binary(will.payload)
        }
        if let user { body += MQTTPacket.text(user) }
        if let password { body += MQTTPacket.text(password) }
        return MQTTPacket.framed(0x10, body)
    }
}
