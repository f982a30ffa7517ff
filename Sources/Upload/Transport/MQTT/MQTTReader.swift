/// What a broker has sent violates the standard.
struct MQTTViolation: Error, Equatable {
    /// What is wrong, for a log line.
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

/// Takes the fields of one packet from its bytes, in their order. Never reads past the end.
struct MQTTReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// All that is left.
    mutating func remainder() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }

    mutating func byte() throws(MQTTViolation) -> UInt8 {
        guard let byte = rest.popFirst() else { throw MQTTViolation("a packet ends within a field") }
        return byte
    }

    mutating func number16() throws(MQTTViolation) -> UInt16 {
        let high = UInt16(try byte())
        return high << 8 | UInt16(try byte())
    }

    mutating func number32() throws(MQTTViolation) -> UInt32 {
        let high = UInt32(try number16())
        return high << 16 | UInt32(try number16())
    }

    /// MQTT 5.0 section 1.5.5: at most four bytes.
    mutating func variable() throws(MQTTViolation) -> Int {
        var value = 0
        for shift in [0, 7, 14, 21] {
            let byte = try byte()
            value |= Int(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        throw MQTTViolation("a length has more than four bytes")
    }

    mutating func bytes(_ count: Int) throws(MQTTViolation) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw MQTTViolation("a packet ends within a field") }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func binary() throws(MQTTViolation) -> ArraySlice<UInt8> {
        let count = Int(try number16())
        return try bytes(count)
    }

    /// MQTT 5.0 section 1.5.4: UTF-8 without NUL.
    mutating func text() throws(MQTTViolation) -> String {
        let bytes = try binary()
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            throw MQTTViolation("a text is not UTF-8")
        }
        return text
    }
}
