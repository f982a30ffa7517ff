/// What a broker says to a publisher.
enum MQTTInbound: Equatable, Sendable {
    case connack(MQTTConnack)
    case puback(id: UInt16, code: UInt8, reason: String?)
    case suback(id: UInt16, code: UInt8)
    case publish(MQTTMessage)
    case pong
    case disconnect(code: UInt8, MQTTProperties)
}

/// The answer to CONNECT.
struct MQTTConnack: Equatable, Sendable {
    /// Code as the version of the answer defines it.
    var code: UInt8
    /// nil when it has the shape of 3.1.1, which has none: so an old broker answers a CONNECT of MQTT 5.
    var properties: MQTTProperties?
}

/// Cuts what arrives into packets, and reads them. Input in any pieces; everything is bounded by `packetLimit`.
///
/// Errors leave it useless: the connection is to be closed.
struct MQTTDecoder: Sendable {
    /// Bytes of a whole packet, header included. No answer to a publisher comes near it.
    static let packetLimit = 65_536

    private let version: MQTTVersion
    private var buffer: [UInt8] = []
    /// Where the next packet begins in it.
    private var start = 0

    init(version: MQTTVersion) {
        self.version = version
    }

    mutating func append(_ bytes: some Sequence<UInt8>) {
        buffer.removeFirst(start)
        start = 0
        buffer.append(contentsOf: bytes)
    }

    /// The next packet that is complete; nil when there is none. The first bytes of what is no MQTT are enough to fail.
    mutating func next() throws(MQTTViolation) -> MQTTInbound? {
        guard start < buffer.count else { return nil }
        let first = buffer[start]
        // Section 2.1.3: all flags but those of PUBLISH are fixed, and these are the packets that a broker sends here.
        guard first >> 4 == 3 || [0x20, 0x40, 0x90, 0xD0, 0xE0].contains(first) else {
            throw MQTTViolation("a packet begins with \(first)")
        }
        guard let (length, header) = try length() else { return nil }
        guard header + length <= Self.packetLimit else {
            throw MQTTViolation("a packet is longer than \(Self.packetLimit) bytes")
        }
        guard buffer.count - start >= header + length else { return nil }
        let packet = try read(first, MQTTReader(buffer[(start + header)..<(start + header + length)]))
        start += header + length
        return packet
    }

    /// The length after the first byte, and how many bytes both have; nil while it has not arrived.
    private func length() throws(MQTTViolation) -> (Int, Int)? {
        let digits = buffer.dropFirst(start + 1).prefix(4)
        guard let end = digits.firstIndex(where: { $0 & 0x80 == 0 }) else {
            if digits.count == 4 { throw MQTTViolation("a length has more than four bytes") }
            return nil
        }
        var reader = MQTTReader(digits)
        return (try reader.variable(), end + 1 - start)
    }

    private func read(_ first: UInt8, _ reader: MQTTReader) throws(MQTTViolation) -> MQTTInbound {
        var reader = reader
        let packet: MQTTInbound
        switch first {
        case 0x20: packet = .connack(try connack(&reader))
        case 0x40: packet = try puback(&reader)
        case 0x90: packet = try suback(&reader)
        case 0xD0: packet = .pong
        case 0xE0: packet = try disconnect(&reader)
        default: packet = .publish(try publish(first, &reader))
        }
        guard reader.isAtEnd else { throw MQTTViolation("a packet has bytes after its last field") }
        return packet
    }

    private func connack(_ reader: inout MQTTReader) throws(MQTTViolation) -> MQTTConnack {
        // "Session present" means nothing to a client that keeps no session.
        guard try reader.byte() <= 1 else { throw MQTTViolation("CONNACK has unknown flags") }
        let code = try reader.byte()
        if version == .v311 || reader.isAtEnd { return MQTTConnack(code: code) }
        return MQTTConnack(code: code, properties: try MQTTProperties(&reader))
    }

    private func puback(_ reader: inout MQTTReader) throws(MQTTViolation) -> MQTTInbound {
        let id = try reader.number16()
        // Section 3.4.2.1: what is left out stands for success.
        guard version == .v5, !reader.isAtEnd else { return .puback(id: id, code: 0, reason: nil) }
        let code = try reader.byte()
        let properties = reader.isAtEnd ? MQTTProperties() : try MQTTProperties(&reader)
        return .puback(id: id, code: code, reason: properties.reason)
    }

    /// One subscription is made at a time.
    private func suback(_ reader: inout MQTTReader) throws(MQTTViolation) -> MQTTInbound {
        let id = try reader.number16()
        if version == .v5 { _ = try MQTTProperties(&reader) }
        return .suback(id: id, code: try reader.byte())
    }

    private func publish(_ first: UInt8, _ reader: inout MQTTReader) throws(MQTTViolation) -> MQTTMessage {
        let qos = first >> 1 & 3
        guard qos < 3 else { throw MQTTViolation("PUBLISH has a QoS of 3") }
        let topic = try reader.text()
        if qos > 0 { _ = try reader.number16() }
        if version == .v5 { _ = try MQTTProperties(&reader) }
        let message = MQTTMessage(topic: topic, payload: reader.remainder())
        // Aliases, which stand for topics, have not been allowed to the broker.
        guard message.hasValidTopic else { throw MQTTViolation("PUBLISH has no valid topic") }
        return message
    }

    private func disconnect(_ reader: inout MQTTReader) throws(MQTTViolation) -> MQTTInbound {
        guard version == .v5 else { throw MQTTViolation("a broker of 3.1.1 sends DISCONNECT") }
        let code = reader.isAtEnd ? 0 : try reader.byte()
        return .disconnect(code: code, reader.isAtEnd ? MQTTProperties() : try MQTTProperties(&reader))
    }
}
