internal import FoundationEssentials

// A history may contain 100,000 locations. JSONEncoder takes ten times as long per location as the code below, which
// must produce the same bytes (a test compares them).

extension Wire.Location {
    /// Appends the location as JSON: keys in ascending order, absent values omitted.
    ///
    /// - Throws: when a number is not finite, like JSONEncoder.
    package func append(to bytes: inout [UInt8]) throws {
        bytes.append(UInt8(ascii: "{"))
        try append("accuracy", accuracy, to: &bytes)
        try append("activity", activity, to: &bytes)
        try append("altitude", altitude, to: &bytes)
        try append("bearing", bearing, to: &bytes)
        try append("id", id, to: &bytes)
        if let ignition {
            bytes.append(contentsOf: (ignition ? "\"ignition\":true," : "\"ignition\":false,").utf8)
        }
        bytes.append(contentsOf: (isMock ? "\"is_mock\":true," : "\"is_mock\":false,").utf8)
        try append("latitude", latitude, to: &bytes)
        try append("longitude", longitude, to: &bytes)
        try append("motion", motion, to: &bytes)
        try append("quality", quality, to: &bytes)
        try append("session_id", sessionId, to: &bytes)
        try append("speed", speed, to: &bytes)
        try append("timestamp", timestamp, to: &bytes)
        try append("trigger", trigger, to: &bytes)
        // Every member has appended a comma.
        bytes[bytes.count - 1] = UInt8(ascii: "}")
    }

    private func append(_ name: StaticString, _ value: Double?, to bytes: inout [UInt8]) throws {
        guard let value else { return }
        guard value.isFinite else { _ = try JSONEncoder.wire.encode(value); return }
        append(name, to: &bytes)
        bytes.append(contentsOf: value.description.utf8)
        if bytes.suffix(2).elementsEqual(".0".utf8) { bytes.removeLast(2) }
        bytes.append(UInt8(ascii: ","))
    }

    private func append(_ name: StaticString, _ value: String?, to bytes: inout [UInt8]) throws {
        guard let value else { return }
        append(name, to: &bytes)
        if value.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: value.utf8)
            bytes.append(UInt8(ascii: "\""))
        } else {
            bytes.append(contentsOf: try JSONEncoder.wire.encode(value))
        }
        bytes.append(UInt8(ascii: ","))
    }

    private func append(_ name: StaticString, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }
}

extension Reply {
    /// Encodes a page of locations, with its terminating NUL: the same bytes as `encode`, faster.
    ///
    /// - Throws: when it contains a number that is not finite.
    package static func encode(page locations: [Wire.Location], continues: Bool) throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64 + locations.count * 420)
        bytes.append(contentsOf: (continues ? "{\"continues\":true," : "{").utf8)
        bytes.append(contentsOf: "\"parameters\":{\"locations\":[".utf8)
        for (index, location) in locations.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            try location.append(to: &bytes)
        }
        bytes.append(contentsOf: "]}}\0".utf8)
        return bytes
    }
}
