package import Base

/// Writes the texts of a location into a buffer of fixed size: an array would check its capacity for each part, and for
/// each digit. The only place where this module writes through a pointer; it traps rather than write past the end.
package struct FixedBufferWriter {
    private let room: UnsafeMutableRawBufferPointer
    private var count = 0

    /// - Parameter room: must outlive this value.
    package init(_ room: UnsafeMutableRawBufferPointer) {
        self.room = room
    }

    /// What has been written so far.
    package var written: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: room[..<count])
    }

    /// Takes back a comma that was written last.
    ///
    /// - Returns: false where there is none.
    mutating func dropComma() -> Bool {
        guard count > 0, room[count - 1] == UInt8(ascii: ",") else { return false }
        count -= 1
        return true
    }

    /// The next bytes, to be filled by the caller.
    @inline(__always) private mutating func next(_ size: Int) -> UnsafeMutableRawBufferPointer {
        precondition(size <= room.count - count)
        defer { count += size }
        return UnsafeMutableRawBufferPointer(rebasing: room[count..<count + size])
    }

    mutating func put(_ bytes: UnsafeRawBufferPointer) {
        next(bytes.count).copyMemory(from: bytes)
    }

    package mutating func put(_ text: StaticString) {
        put(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// A text that needs no escapes.
    package mutating func put(word: String) {
        var word = word
        word.withUTF8 { put(UnsafeRawBufferPointer($0)) }
    }

    package mutating func put(_ id: UUIDv7) {
        id.put(into: next(UUIDv7.textSize))
    }

    package mutating func put(_ time: Timestamp) {
        time.putISO8601(into: next(Timestamp.textSize))
    }

    /// Writes name and value; nothing when there is no value.
    package mutating func put(_ name: StaticString, _ value: Double?) {
        guard let value else { return }
        put(name)
        put(value)
    }

    /// Writes name, word and a closing quotation mark; nothing when there is no word.
    package mutating func put(_ name: StaticString, word: String?) {
        guard let word else { return }
        put(name)
        put(word: word)
        put("\"")
    }

    // MARK: Numbers

    /// Decimals of a position as gpsd writes it; no other value has as many.
    private static let decimals = 9
    private static let scale: Int64 = 1_000_000_000

    /// The shortest text that reads back as the same Double, without the `.0` of an integral one; −0 is 0.
    package mutating func put(_ value: Double) {
        guard value != 0 else { return put("0") }
        if let units = Self.units(value.magnitude) {
            if value < 0 { put("-") }
            put(units: units)
        } else {
            var text = value.description
            text.withUTF8 { text in
                let isIntegral = text.suffix(2).elementsEqual(".0".utf8)
                put(
                    UnsafeRawBufferPointer(
                        rebasing: UnsafeRawBufferPointer(text).dropLast(isIntegral ? 2 : 0)))
            }
        }
    }

    /// A number in units of 10⁻⁹; nil when it is no whole number of them, or would have more than 15 digits.
    ///
    /// Receivers report such numbers. Two decimals of up to 15 digits are never the same Double (DBL_DIG), so the one that
    /// is this Double is also its shortest text, and need not be searched for. Both operands of the division are exact and
    /// it is rounded correctly, so equality means that the decimal reads back as this Double.
    private static func units(_ magnitude: Double) -> Int64? {
        // Below, `description` has an exponent; above, there are more digits. NaN is in no range. So nothing traps.
        guard (0.001..<1e6).contains(magnitude) else { return nil }
        let units = Int64(magnitude * Double(scale) + 0.5)
        return Double(units) / Double(scale) == magnitude ? units : nil
    }

    private mutating func put(units: Int64) {
        let (whole, rest) = units.quotientAndRemainder(dividingBy: Self.scale)
        put(digits: UInt32(truncatingIfNeeded: whole), Self.count(ofDigitsIn: whole))
        guard rest != 0 else { return }
        put(".")
        // Most values have no more than three decimals.
        let (thousandths, finer) = UInt32(truncatingIfNeeded: rest).quotientAndRemainder(
            dividingBy: 1_000_000)
        put(digits: thousandths, 3)
        if finer != 0 { put(digits: finer, Self.decimals - 3) }
        while room[count - 1] == UInt8(ascii: "0") { count -= 1 }
    }

    private static func count(ofDigitsIn whole: Int64) -> Int {
        switch whole {
        case ..<10: 1
        case ..<100: 2
        case ..<1000: 3
        case ..<10_000: 4
        case ..<100_000: 5
        default: 6
        }
    }

    private mutating func put(digits value: UInt32, _ size: Int) {
        let room = next(size)
        var rest = value
        for index in stride(from: size - 1, through: 0, by: -1) {
            room[index] = UInt8(truncatingIfNeeded: 48 &+ rest % 10)
            rest /= 10
        }
    }
}
