/// The properties of a packet of MQTT 5, section 2.2.2: those that matter here, and whether the rest is well formed.
struct MQTTProperties: Equatable, Sendable {
    /// Why, in the broker's words; made fit for a log line.
    var reason: String?
    /// Another broker to use.
    var reference: String?
    /// Seconds that the broker puts in the place of the keep-alive it was told.
    var keepAlive: UInt16?
    /// Bytes of the longest packet that the broker takes.
    var maximumPacket: UInt32?
    /// The best QoS that the broker has, if it is not 2.
    var maximumQoS: UInt8?

    private enum Kind { case byte, two, four, variable, text, binary, pair }

    private static let kinds: [UInt8: Kind] = [
        0x01: .byte, 0x02: .four, 0x03: .text, 0x08: .text, 0x09: .binary, 0x0B: .variable, 0x11: .four,
        0x12: .text, 0x13: .two, 0x15: .text, 0x16: .binary, 0x17: .byte, 0x19: .byte, 0x1A: .text,
        0x1C: .text, 0x1F: .text, 0x21: .two, 0x22: .two, 0x23: .two, 0x24: .byte, 0x25: .byte, 0x26: .pair,
        0x27: .four, 0x28: .byte, 0x29: .byte, 0x2A: .byte,
    ]
    /// User properties and subscription ids.
    private static let repeatable: Set<UInt8> = [0x0B, 0x26]

    init() {}

    /// Reads the length and as many bytes.
    init(_ reader: inout MQTTReader) throws(MQTTViolation) {
        let length = try reader.variable()
        var fields = MQTTReader(try reader.bytes(length))
        var seen: Set<UInt8> = []
        while !fields.isAtEnd {
            let id = try fields.byte()
            guard let kind = Self.kinds[id] else { throw MQTTViolation("property \(id) does not exist") }
            guard seen.insert(id).inserted || Self.repeatable.contains(id) else {
                throw MQTTViolation("property \(id) comes twice")
            }
            try read(id, kind, &fields)
        }
    }

    private mutating func read(_ id: UInt8, _ kind: Kind, _ fields: inout MQTTReader) throws(MQTTViolation) {
        switch kind {
        case .byte:
            let value = try fields.byte()
            guard id == 0x24 else { return }
            guard value <= 1 else { throw MQTTViolation("the maximum QoS is \(value)") }
            maximumQoS = value
        case .two:
            let value = try fields.number16()
            if id == 0x13 { keepAlive = value }
            guard id != 0x21 || value > 0 else { throw MQTTViolation("the receive maximum is 0") }
        case .four:
            let value = try fields.number32()
            guard id == 0x27 else { return }
            guard value > 0 else { throw MQTTViolation("the maximum packet size is 0") }
            maximumPacket = value
        case .variable: _ = try fields.variable()
        case .binary: _ = try fields.binary()
        case .pair:
            _ = try fields.text()
            _ = try fields.text()
        case .text:
            let value = try fields.text()
            if id == 0x1F { reason = Self.readable(value) }
            if id == 0x1C { reference = Self.readable(value) }
        }
    }

    /// At most 200 characters on one line; nil when nothing is left.
    private static func readable(_ text: String) -> String? {
        let unwanted: Set<Unicode.GeneralCategory> = [
            .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned,
        ]
        let kept = text.unicodeScalars.prefix(200).map { scalar in
            unwanted.contains(scalar.properties.generalCategory) ? Character(" ") : Character(scalar)
        }
        let words = String(kept).split(separator: " ").joined(separator: " ")
        return words.isEmpty ? nil : words
    }
}
