package import Base

/// What an event says besides its kind, as a JSON object.
package enum EventData {
    package enum Value: Sendable {
        /// Not finite: it is left out.
        case number(Double)
        case text(String)
        case flag(Bool)
        case time(Timestamp)
    }

    /// - Parameter fields: in the order in which they are written; those without a value are left out.
    /// - Returns: nil when nothing is left.
    package static func json(_ fields: KeyValuePairs<String, Value?>) -> String? {
        var bytes = Array("{".utf8)
        for (name, value) in fields {
            guard let value, let text = text(of: value) else { continue }
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            JSONString.append(name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            bytes += text
        }
        guard bytes.count > 1 else { return nil }
        return String(decoding: bytes + Array("}".utf8), as: UTF8.self)
    }

    private static func text(of value: Value) -> [UInt8]? {
        switch value {
        case .number(let number):
            guard number.isFinite else { return nil }
            // Also of −0.
            if number == 0 { return Array("0".utf8) }
            let text = "\(number)"
            return Array((text.hasSuffix(".0") ? String(text.dropLast(2)) : text).utf8)
        case .text(let text):
            var bytes: [UInt8] = []
            JSONString.append(text, to: &bytes)
            return bytes
        case .flag(let flag): return Array((flag ? "true" : "false").utf8)
        case .time(let time): return Array("\"\(time.iso8601)\"".utf8)
        }
    }
}
