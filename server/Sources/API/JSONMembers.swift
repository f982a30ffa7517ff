internal import Base
internal import Envelope

/// Members of a JSON object behind its first, appended without a text between; one that is nil is left out.
extension [UInt8] {
    /// - Parameter name: without characters that need an escape, as in all of these.
    mutating func member(_ name: String, number value: Double?) {
        guard let value else { return }
        begin(name)
        self += LocationText.number(value).utf8
    }

    mutating func member(_ name: String, bool value: Bool) {
        begin(name)
        self += (value ? "true" : "false").utf8
    }

    mutating func member(_ name: String, time value: Timestamp?) {
        guard let value else { return }
        begin(name)
        append(UInt8(ascii: "\""))
        value.appendISO8601(to: &self)
        append(UInt8(ascii: "\""))
    }

    /// - Parameter value: a text, of which the characters that must be are escaped.
    mutating func member(_ name: String, string value: String?) {
        guard let value else { return }
        begin(name)
        JSONString.append(value, to: &self)
    }

    /// - Parameter value: a JSON value as it stands.
    mutating func member(_ name: String, json value: some Sequence<UInt8>) {
        begin(name)
        self += value
    }

    private mutating func begin(_ name: String) {
        self += ",\"".utf8
        self += name.utf8
        self += "\":".utf8
    }
}
