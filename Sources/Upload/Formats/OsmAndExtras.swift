internal import Envelope

/// A row's extras as parameters of a url.
enum OsmAndExtras {
    /// Names that mean something to this format or to a server that reads it: an extra of such a name would change where the
    /// vehicle is, or which it is, or make Traccar drop the connection. In lower case.
    private static let taken: Set<String> = [
        "id", "deviceid", "devicename", "token", "timestamp", "datetime", "lat", "lon", "location", "speed",
        "bearing",
        "heading", "alt", "altitude", "acc", "accuracy", "hdop", "cell", "wifi", "bat", "batt", "charge",
        "motion",
        "valid", "event", "ignition", "odometer", "notificationtoken",
    ]

    /// Appends those whose names do not collide, in the order of their names. Arrays and objects are left out, and each that
    /// does not fit.
    ///
    /// - Parameters:
    ///   - extras: a JSON object; anything else adds nothing.
    ///   - limit: bytes of the whole text.
    static func append(_ extras: String, to text: inout RequestText, limit: Int) {
        guard case .object(let members)? = JSONReader.read(Array(extras.utf8)) else { return }
        let ordered = members.sorted {
            $0.key.unicodeScalars.lexicographicallyPrecedes($1.key.unicodeScalars)
        }
        for (name, value) in ordered where !collides(name) {
            guard let value = word(value) else { continue }
            var parameter = RequestText()
            parameter.put("&")
            parameter.put(escaped: name.utf8)
            parameter.put("=")
            parameter.put(escaped: value.utf8)
            if text.bytes.count + parameter.bytes.count <= limit { text.append(parameter) }
        }
    }

    /// PHP cuts a name at its first bracket, and drops the spaces before it.
    private static func collides(_ name: String) -> Bool {
        let read = name.drop { $0 == " " }.prefix { $0 != "[" }
        return read.isEmpty || taken.contains(read.lowercased())
    }

    private static func word(_ value: JSON) -> String? {
        switch value {
        case .string(let text): text
        case .number(let text): text
        case .bool(let isTrue): isTrue ? "true" : "false"
        case .null, .array, .object: nil
        }
    }
}
