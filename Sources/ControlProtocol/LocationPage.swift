/// Parses a page of locations exactly as beekond writes it, in a tenth of the time that JSONDecoder takes: keys in
/// ascending order, no whitespace, no escapes. Anything else, even if it is valid JSON, is left to JSONDecoder.
struct LocationPage {
    let locations: [Wire.Location]
    let continues: Bool

    /// - Returns: nil for anything else.
    init?(_ frame: [UInt8]) {
        let found = frame.withUnsafeBufferPointer { bytes -> (locations: [Wire.Location], continues: Bool)? in
            var scanner = Scanner(bytes: bytes)
            return scanner.page()
        }
        guard let found else { return nil }
        (locations, continues) = found
    }
}

private struct Scanner {
    let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    /// Something was not as expected.
    private var isOther = false

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func page() -> (locations: [Wire.Location], continues: Bool)? {
        guard skip("{") else { return nil }
        let continues = skip("\"continues\":true,")
        guard skip("\"parameters\":{\"locations\":[") else { return nil }
        var locations: [Wire.Location] = []
        if !skip("]") {
            repeat {
                guard let location = location() else { return nil }
                locations.append(location)
            } while skip(",")
            guard skip("]") else { return nil }
        }
        return skip("}}") && position == bytes.count ? (locations, continues) : nil
    }

    private mutating func location() -> Wire.Location? {
        guard skip("{") else { return nil }
        let accuracy = number("\"accuracy\":")
        let activity = text("\"activity\":")
        let altitude = number("\"altitude\":")
        let bearing = number("\"bearing\":")
        let id = text("\"id\":")
        let ignition = flag("\"ignition\":")
        let isMock = flag("\"is_mock\":")
        let latitude = number("\"latitude\":")
        let longitude = number("\"longitude\":")
        let motion = text("\"motion\":")
        let quality = text("\"quality\":")
        let sessionId = text("\"session_id\":")
        let speed = number("\"speed\":")
        let timestamp = text("\"timestamp\":")
        let trigger = text("\"trigger\":")
        guard !isOther, skip("}"), let id, let isMock, let latitude, let longitude, let motion, let timestamp,
            let trigger
        else { return nil }
        return Wire.Location(
            id: id, sessionId: sessionId, timestamp: timestamp, trigger: trigger, motion: motion,
            isMock: isMock, latitude: latitude, longitude: longitude, accuracy: accuracy, speed: speed,
            bearing: bearing, altitude: altitude, activity: activity, quality: quality, ignition: ignition)
    }

    private mutating func number(_ name: StaticString) -> Double? {
        guard skip(name) else { return nil }
        let start = position
        while position < bytes.count, Self.isOfNumber(bytes[position]) { position += 1 }
        let value = Double(String(decoding: bytes[start..<position], as: UTF8.self))
        if value?.isFinite != true { isOther = true }
        endValue()
        return value
    }

    private mutating func text(_ name: StaticString) -> String? {
        guard skip(name) else { return nil }
        guard skip("\"") else {
            isOther = true
            return nil
        }
        let start = position
        while position < bytes.count, bytes[position] >= 0x20, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") { isOther = true }
            position += 1
        }
        let value = String(validating: bytes[start..<position], as: UTF8.self)
        if value == nil || !skip("\"") { isOther = true }
        endValue()
        return value
    }

    private mutating func flag(_ name: StaticString) -> Bool? {
        guard skip(name) else { return nil }
        let value = skip("true") ? true : skip("false") ? false : nil
        if value == nil { isOther = true }
        endValue()
        return value
    }

    /// Expects a comma and another name, or the end of the object.
    private mutating func endValue() {
        guard position + 1 < bytes.count else {
            isOther = true
            return
        }
        if bytes[position] == UInt8(ascii: ","), bytes[position + 1] == UInt8(ascii: "\"") {
            position += 1
        } else if bytes[position] != UInt8(ascii: "}") {
            isOther = true
        }
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        for index in 0..<count where bytes[position + index] != text.utf8Start[index] { return false }
        position += count
        return true
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
            UInt8(ascii: "e"), UInt8(ascii: "E"):
            true
        default: false
        }
    }
}
