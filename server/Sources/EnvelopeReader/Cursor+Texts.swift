internal import Base

extension Cursor.Text {
    /// What the string says.
    var value: String {
        guard isEscaped else { return String(decoding: bytes, as: UTF8.self) }
        var units: [UInt8] = []
        units.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escape = rest.popFirst() else {
                units.append(byte)
                continue
            }
            switch escape {
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0C)
            case UInt8(ascii: "n"): units.append(0x0A)
            case UInt8(ascii: "r"): units.append(0x0D)
            case UInt8(ascii: "t"): units.append(0x09)
            case UInt8(ascii: "u"):
                var unit = Self.unit(&rest)
                if (0xD800..<0xDC00).contains(unit) {
                    rest = rest.dropFirst(2)
                    unit = 0x10000 + (unit - 0xD800) << 10 + (Self.unit(&rest) &- 0xDC00)
                }
                // The cursor has seen that pairs are whole.
                units.append(contentsOf: Array(String(Unicode.Scalar(unit) ?? "\u{FFFD}").utf8))
            default: units.append(escape)
            }
        }
        return String(decoding: units, as: UTF8.self)
    }

    private static func unit(_ rest: inout Slice<UnsafeRawBufferPointer>) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 { value = value << 4 | UInt32(rest.popFirst().flatMap { Cursor.hexDigit($0) } ?? 0) }
        return value
    }

    /// - Parameter likely: the place that is tried first; any number.
    /// - Returns: the place of the word in the list.
    @inline(__always) func index(in words: [StaticString], likely: Int) -> Int? {
        if !isEscaped, words.indices.contains(likely), bytes == words[likely] { return likely }
        return index(in: words)
    }

    /// - Returns: the place of the word in the list.
    func index(in words: [StaticString]) -> Int? {
        if isEscaped {
            let value = value
            return words.firstIndex { value == $0.description }
        }
        return words.firstIndex { bytes == $0 }
    }

    /// - Returns: nil unless it is a UUID in the form of 36 characters, in either case.
    var uuid: UUIDv7? {
        guard bytes.count == 36, !isEscaped else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        var index = 0
        for nibble in 0..<32 {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard bytes[index] == UInt8(ascii: "-") else { return nil }
                index += 1
            }
            guard let digit = Cursor.hexDigit(bytes[index]) else { return nil }
            if nibble < 16 {
                halves.0 = halves.0 << 4 | UInt64(digit)
            } else {
                halves.1 = halves.1 << 4 | UInt64(digit)
            }
            index += 1
        }
        return withUnsafeBytes(of: (halves.0.bigEndian, halves.1.bigEndian)) { UUIDv7(bytes: $0) }
    }
}

/// Reads timestamps. Those of one batch mostly lie on one day, which is then computed once.
struct TimeReader {
    /// `2026-06-15` of the day that was read last.
    private var day: [UInt8] = []
    private var startOfDay: Int64 = 0

    /// - Returns: nil unless it is a time with a zone (RFC 3339).
    mutating func time(_ text: Cursor.Text) -> Timestamp? {
        let bytes = text.bytes
        guard !text.isEscaped, bytes.count == 24, bytes[23] == UInt8(ascii: "Z"),
            bytes[10] == UInt8(ascii: "T"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"), bytes[19] == UInt8(ascii: "."),
            let hour = Self.two(bytes, 11), hour < 24, let minute = Self.two(bytes, 14), minute < 60,
            let second = Self.two(bytes, 17), second < 60, let hundredths = Self.two(bytes, 20),
            let thousandth = Self.digit(bytes[22]), isDay(UnsafeRawBufferPointer(rebasing: bytes[..<10]))
        else { return bytes.count > 64 ? nil : Timestamp(iso8601: text.value) }
        let seconds = (hour * 60 + minute) * 60 + second
        return Timestamp(milliseconds: startOfDay + seconds * 1000 + hundredths * 10 + thousandth)
    }

    private mutating func isDay(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if day.elementsEqual(bytes) { return true }
        let midnight = String(decoding: bytes, as: UTF8.self) + "T00:00:00.000Z"
        guard let start = Timestamp(iso8601: midnight) else { return false }
        day = [UInt8](bytes)
        startOfDay = start.milliseconds
        return true
    }

    @inline(__always) private static func digit(_ byte: UInt8) -> Int64? {
        let value = byte &- UInt8(ascii: "0")
        return value < 10 ? Int64(value) : nil
    }

    @inline(__always) private static func two(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Int64? {
        guard let tens = digit(bytes[index]), let ones = digit(bytes[index + 1]) else { return nil }
        return tens * 10 + ones
    }
}
