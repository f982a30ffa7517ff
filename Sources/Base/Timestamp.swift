/// A moment in UTC as reported by the receiver, in Unix milliseconds.
///
/// The whole project calls this `time`; `now` is always boot time (`BootInstant`), and the two are never mixed.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    public var milliseconds: Int64

    /// - Parameter milliseconds: since the Unix epoch, as in gpsd's reports, the database and JSON.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, never later than the moment itself.
    public var wholeSeconds: Int64 {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// Seconds from `earlier` to this moment; negative if `earlier` is in fact later.
    public func seconds(since earlier: Timestamp) -> Double {
        Double(milliseconds &- earlier.milliseconds) / 1000
    }

    /// This moment shifted by `seconds`, saturating at the limits of Int64 milliseconds.
    public func advanced(bySeconds seconds: Double) -> Timestamp {
        let target = Double(milliseconds) + (seconds * 1000).rounded()
        guard target.isFinite, target > -9e18 else { return Timestamp(milliseconds: .min) }
        return Timestamp(milliseconds: target < 9e18 ? Int64(target) : .max)
    }

    /// Whether `left` is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

// The wire format's timestamps: UTC, exactly three fractional digits, a literal Z.

extension Timestamp {
    /// `2026-06-15T12:34:56.789Z`. Years outside 0…9999 are clamped to those ends: the format has four digits for them.
    public var iso8601: String {
        var text = [UInt8]()
        text.reserveCapacity(24)
        appendISO8601(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Length of `iso8601` in bytes.
    public static let textSize = 24

    /// Appends the 24 bytes of `iso8601`.
    public func appendISO8601(to text: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: Self.textSize, alignment: 1) { room in
            putISO8601(into: room)
            text.append(contentsOf: room)
        }
    }

    /// Writes the 24 bytes of `iso8601` to the start of `room`, which must be at least that long.
    public func putISO8601(into room: UnsafeMutableRawBufferPointer) {
        precondition(room.count >= Self.textSize)
        let lowest: Int64 = -62_167_219_200_000
        let highest: Int64 = 253_402_300_799_999
        let bounded = min(max(milliseconds, lowest), highest)
        let (days, rest) = bounded.flooredDivision(by: 86_400_000)
        let date = CivilDate(daysSince1970: days)
        let inDay = UInt32(truncatingIfNeeded: rest)
        let year = UInt32(truncatingIfNeeded: date.year)
        func put(_ byte: UInt32, at position: Int) {
            room.storeBytes(of: UInt8(truncatingIfNeeded: byte), toByteOffset: position, as: UInt8.self)
        }
        func put(two value: UInt32, at position: Int, then end: Unicode.Scalar) {
            put(48 &+ value / 10, at: position)
            put(48 &+ value % 10, at: position + 1)
            put(end.value, at: position + 2)
        }
        // The character after two digits is overwritten by the next two where no separator belongs.
        put(two: year / 100, at: 0, then: "-")
        put(two: year % 100, at: 2, then: "-")
        put(two: UInt32(truncatingIfNeeded: date.month), at: 5, then: "-")
        put(two: UInt32(truncatingIfNeeded: date.day), at: 8, then: "T")
        put(two: inDay / 3_600_000, at: 11, then: ":")
        put(two: inDay / 60_000 % 60, at: 14, then: ":")
        put(two: inDay / 1000 % 60, at: 17, then: ".")
        put(two: inDay % 1000 / 10, at: 20, then: "Z")
        put(48 &+ inDay % 10, at: 22)
        put(UInt32(UInt8(ascii: "Z")), at: 23)
    }

    /// Parses `YYYY-MM-DDTHH:MM:SS[.fraction](Z|±HH:MM)`; a space may replace the T. A leap second (:60) is read as
    /// the first moment of the next minute; digits beyond milliseconds are truncated. Anything else yields nil.
    public init?(iso8601 text: some StringProtocol) {
        var scanner = DigitScanner(bytes: Array(text.utf8.prefix(64)))
        guard text.utf8.count <= 64,
            let year = scanner.digits(4), scanner.skip("-"),
            let month = scanner.digits(2), scanner.skip("-"), let day = scanner.digits(2),
            let date = CivilDate(year: year, month: month, day: day),
            scanner.skip("T") || scanner.skip("t") || scanner.skip(" "),
            let hour = scanner.digits(2), hour < 24, scanner.skip(":"),
            let minute = scanner.digits(2), minute < 60, scanner.skip(":"),
            let second = scanner.digits(2), second <= 60,
            let fraction = scanner.fraction(), let offset = scanner.offset(), scanner.isAtEnd
        else { return nil }
        let inDay = (hour * 60 + minute) * 60 + second
        self.init(milliseconds: (date.daysSince1970 * 86_400 + inDay - offset * 60) * 1000 + fraction)
    }
}

private struct DigitScanner {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func digits(_ count: Int) -> Int64? {
        guard position + count <= bytes.count else { return nil }
        var value: Int64 = 0
        for byte in bytes[position..<position + count] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - UInt8(ascii: "0"))
        }
        position += count
        return value
    }

    /// Milliseconds; 0 without a fraction, nil for a point without digits.
    mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        var value: Int64 = 0
        var count = 0
        while let digit = digits(1) {
            if count < 3 { value = value * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in min(count, 3)..<3 { value *= 10 }
        return value
    }

    /// Minutes east of UTC.
    mutating func offset() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let sign: Int64
        if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
        guard let hours = digits(2), hours < 24, skip(":"), let minutes = digits(2), minutes < 60 else {
            return nil
        }
        return sign * (hours * 60 + minutes)
    }
}
