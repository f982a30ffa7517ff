internal import Base
internal import Envelope

/// Writes the bodies of foreign formats part by part, with the numbers of the format `beekon`.
struct RequestText {
    private(set) var bytes: [UInt8] = []

    /// Bytes; the longest number has 24.
    private static let room = 48

    mutating func put(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Adds the text as a JSON string, quoted and escaped.
    mutating func put(string: String) {
        JSONString.append(string, to: &bytes)
    }

    mutating func put(_ id: UUIDv7) {
        id.append(to: &bytes)
    }

    mutating func put(_ time: Timestamp) {
        time.appendISO8601(to: &bytes)
    }

    /// Without a fraction when it is on the second.
    mutating func put(brief time: Timestamp) {
        put(time)
        let fraction = Array(".000Z".utf8)
        guard bytes.suffix(fraction.count).elementsEqual(fraction) else { return }
        bytes.removeLast(fraction.count)
        put("Z")
    }

    /// The shortest text that reads back as the same Double; must be finite.
    mutating func put(_ value: Double) {
        withUnsafeTemporaryAllocation(byteCount: Self.room, alignment: 1) { room in
            var text = FixedBufferWriter(room)
            text.put(value)
            bytes.append(contentsOf: text.written)
        }
    }

    mutating func put(_ value: Int64) {
        bytes.append(contentsOf: value.description.utf8)
    }

    mutating func append(_ other: RequestText) {
        bytes += other.bytes
    }

    // MARK: Parameters of a url

    /// A parameter with a value that needs no escapes but for the plus sign of an exponent, which would be read as a space.
    mutating func put(parameter name: StaticString, _ value: Double?) {
        guard let value = value?.ifFinite else { return }
        var number = RequestText()
        number.put(value)
        put(name)
        put(escaped: number.bytes)
    }

    /// RFC 3986: everything but the unreserved characters is percent-encoded.
    mutating func put(escaped text: some Sequence<UInt8>) {
        PercentEncoding.append(text, to: &bytes)
    }

    /// `text` percent-encoded, for headers, topics and urls alike.
    static func escaped(_ text: String) -> String {
        var result = RequestText()
        result.put(escaped: text.utf8)
        return String(decoding: result.bytes, as: UTF8.self)
    }
}

extension Double {
    /// nil for what JSON and urls cannot express.
    var ifFinite: Double? { isFinite ? self : nil }

    /// The nearest whole number, kept within the 32 bits that servers read; `self` must be finite.
    func whole(_ rule: FloatingPointRoundingRule = .toNearestOrAwayFromZero) -> Int64 {
        Int64(Swift.min(Swift.max(rounded(rule), -2_147_483_648), 2_147_483_647))
    }
}
