/// Writes JSON strings, and objects of strings, in bytes that never vary.
public enum JSONString {
    /// A JSON object, its keys in ascending order of their code points; nil when it would be empty.
    package static func object(_ values: [String: String]) -> String? {
        guard !values.isEmpty else { return nil }
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        let ordered = values.sorted { $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars) }
        for (index, entry) in ordered.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(entry.key, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            append(entry.value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends a quoted string, escaping what RFC 8259 says must be.
    public static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        // Nearly every text is as it stands.
        if text.utf8.contains(where: needsEscape) {
            for byte in text.utf8 { append(byte, to: &bytes) }
        } else {
            bytes += text.utf8
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
        guard needsEscape(byte) else { return bytes.append(byte) }
        guard byte < 0x20 else { return bytes += [UInt8(ascii: "\\"), byte] }
        let digits = String(byte, radix: 16)
        bytes += ((byte < 0x10 ? "\\u000" : "\\u00") + digits).utf8
    }
}
