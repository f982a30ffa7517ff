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
        let hex = Array("0123456789abcdef".utf8)
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                bytes.append(contentsOf: Array("\\u00".utf8))
                bytes.append(hex[Int(byte >> 4)])
                bytes.append(hex[Int(byte & 0xF)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
