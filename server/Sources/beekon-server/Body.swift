import Envelope

/// Bodies of requests, and paths with names in them.
enum Body {
    /// A JSON object of texts; those that are nil are left out.
    static func object(_ members: KeyValuePairs<String, String?>) -> String {
        var text: [UInt8] = []
        for (name, value) in members {
            guard let value else { continue }
            text += text.isEmpty ? "{".utf8 : ",".utf8
            JSONString.append(name, to: &text)
            text += ":".utf8
            JSONString.append(value, to: &text)
        }
        return String(decoding: text.isEmpty ? Array("{".utf8) : text, as: UTF8.self) + "}"
    }

    /// A JSON list of texts.
    static func list(_ values: [String]) -> String {
        var text: [UInt8] = []
        for value in values {
            if !text.isEmpty { text += ",".utf8 }
            JSONString.append(value, to: &text)
        }
        return "[" + String(decoding: text, as: UTF8.self) + "]"
    }

    /// A name, which may have any characters, as a part of a path.
    static func escaped(_ name: String) -> String {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        return name.utf8.map { byte in
            unreserved.contains(byte)
                ? String(Unicode.Scalar(byte))
                : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }
}
