internal import Envelope
internal import FoundationEssentials

/// JSON of the few texts that the store itself writes and reads.
enum JSONText {
    /// With its quotation marks.
    static func string(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONString.append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Returns: nil for what is none of that type.
    static func read<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}
