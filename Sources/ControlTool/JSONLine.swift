package import ControlProtocol
internal import FoundationEssentials

/// Values as single lines of JSON.
package enum JSONLine {
    /// One line without its line end. All control characters are escaped, even those that JSON allows, since the line
    /// may go to a terminal.
    package static func encode(_ value: some Encodable) throws -> String {
        escaped(String(decoding: try JSONEncoder.wire.encode(value), as: UTF8.self))
    }

    /// One line for a location, optimised because there may be 100,000 of them.
    package static func encode(_ location: Wire.Location) throws -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(420)
        try location.append(to: &bytes)
        return escaped(String(decoding: bytes, as: UTF8.self))
    }

    private static func escaped(_ text: String) -> String {
        // Except for DEL, such characters take two bytes in UTF-8.
        guard text.utf8.contains(where: { $0 >= 0x7F }) else { return text }
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        (0x7F...0x9F).contains(scalar.value)
    }
}
