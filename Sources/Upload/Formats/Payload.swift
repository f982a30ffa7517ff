package import Base
package import Tracking

/// Who uploads: the part of the envelope that is the same for every batch.
package struct Sender: Equatable, Sendable {
    /// Says which installation this is, for as long as it lives.
    package var installID: String
    /// `linux`, unless the configuration says otherwise for backends that check the SDK's values.
    package var platform: String
    /// The version of beekond.
    package var version: String
    /// What the machine is called by its maker; nil when it does not say.
    package var model: String?

    /// Everything is known at start.
    package init(installID: String, platform: String, version: String, model: String?) {
        self.installID = installID
        self.platform = platform
        self.version = version
        self.model = model
    }
}

/// The bytes of an upload, before compression.
///
/// Written by hand: the order of the root fields is fixed, a retry must be the same to the byte, and JSONEncoder promises
/// neither. Optionals that are absent are left out; an integral number has no decimal point.
package struct Payload: Sendable {
    /// Goes into every envelope.
    package let sender: Sender
    /// One buffer for all batches.
    private var buffer: [UInt8] = []

    /// The sender stays the same for all batches.
    package init(sender: Sender) {
        self.sender = sender
    }

    /// - Parameter extras: a JSON object, as it was stored; nil when there are none.
    package mutating func encode(
        batch: UUIDv7, session: UUIDv7, sentAt: Timestamp, extras: String?, locations: [Location],
        events: [GeofenceEvent] = []
    ) -> [UInt8] {
        buffer.removeAll(keepingCapacity: true)
        raw("{\"schema_version\":1,\"batch_id\":\"")
        batch.append(to: &buffer)
        raw("\",\"session_id\":\"")
        session.append(to: &buffer)
        raw("\",\"sent_at\":\"")
        sentAt.appendISO8601(to: &buffer)
        raw("\",\"device\":{\"install_id\":")
        string(sender.installID)
        raw(",\"platform\":")
        string(sender.platform)
        raw(",\"sdk_version\":")
        string(sender.version)
        if let model = sender.model {
            raw(",\"model\":")
            string(model)
        }
        raw("}")
        if let extras {
            raw(",\"extras\":")
            raw(extras)
        }
        raw(",\"locations\":[")
        for (index, location) in locations.enumerated() {
            if index > 0 { raw(",") }
            append(location)
        }
        raw("],\"geofence_events\":[")
        for (index, event) in events.enumerated() {
            if index > 0 { raw(",") }
            append(event)
        }
        raw("]}")
        return buffer
    }

    private mutating func append(_ event: GeofenceEvent) {
        raw("{\"id\":\"")
        event.id.append(to: &buffer)
        raw("\",\"geofence_id\":")
        string(event.crossing.geofence)
        raw(",\"type\":\"")
        raw(event.crossing.kind.rawValue)
        raw("\",\"timestamp\":\"")
        event.crossing.time.appendISO8601(to: &buffer)
        raw("\"}")
    }

    /// Bytes that no location exceeds: its fixed words and its longest texts have 570.
    private static let locationRoom = 1024

    private mutating func append(_ location: Location) {
        let fix = location.fix
        withUnsafeTemporaryAllocation(byteCount: Self.locationRoom, alignment: 1) { room in
            var text = TextWriter(room)
            text.put("{\"id\":\"")
            text.put(location.id)
            text.put("\",\"timestamp\":\"")
            text.put(fix.time)
            text.put("\",\"trigger\":\"")
            text.put(word: location.trigger.rawValue)
            text.put("\",\"motion\":\"")
            text.put(word: location.motion.rawValue)
            text.put(fix.isMock ? "\",\"is_mock\":true,\"latitude\":" : "\",\"is_mock\":false,\"latitude\":")
            text.put(fix.coordinate.latitude)
            text.put(",\"longitude\":")
            text.put(fix.coordinate.longitude)
            text.put(",\"accuracy\":", fix.accuracy)
            text.put(",\"speed\":", fix.speed)
            text.put(",\"bearing\":", fix.bearing)
            text.put(",\"altitude\":", fix.altitude)
            text.put(",\"activity\":\"", word: location.activity?.rawValue)
            text.put(",\"quality\":\"", word: location.quality?.rawValue)
            text.put("}")
            buffer.append(contentsOf: text.written)
        }
    }

    private mutating func raw(_ text: String) {
        buffer.append(contentsOf: text.utf8)
    }

    private mutating func string(_ text: String) {
        JSONText.append(text, to: &buffer)
    }
}

/// JSON strings and objects of strings, in bytes that never vary.
package enum JSONText {
    /// A JSON object with its keys in ascending order of their code points; nil when empty.
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
    static func append(_ text: String, to bytes: inout [UInt8]) {
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
