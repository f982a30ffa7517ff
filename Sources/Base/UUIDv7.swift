/// A version 7 UUID (RFC 9562): 48 bits of Unix milliseconds, followed by 74 bits that make it unique.
public struct UUIDv7: Hashable, Comparable, Sendable {
    /// The 16 bytes in network order, as two halves.
    private let high: UInt64
    private let low: UInt64

    /// - Parameters:
    ///   - time: its milliseconds, modulo 2⁴⁸, form the time part.
    ///   - counter: the remaining 74 bits: 12 from `high`, 62 from `low`.
    init(time: Timestamp, counter: (high: UInt16, low: UInt64)) {
        high = UInt64(bitPattern: time.milliseconds) << 16 | 0x7000 | UInt64(counter.high & 0x0FFF)
        low = 0x8000_0000_0000_0000 | counter.low & 0x3FFF_FFFF_FFFF_FFFF
    }

    /// - Returns: nil unless there are exactly 16 bytes.
    public init?(bytes: [UInt8]) {
        guard let id = bytes.withUnsafeBytes({ UUIDv7(bytes: $0) }) else { return nil }
        self = id
    }

    /// Reads an id from 16 bytes, without copying them into an array first; nil for another count.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// The 16 bytes in network order.
    public var bytes: [UInt8] {
        withBytes { [UInt8]($0) }
    }

    /// Passes the 16 bytes in network order to `body`, without allocating an array.
    public func withBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
    }

    /// Orders by the time part first: ids of one run sort in the order in which they were minted.
    public static func < (left: UUIDv7, right: UUIDv7) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension UUIDv7: CustomStringConvertible, LosslessStringConvertible {
    /// 36 characters, lower case.
    public var description: String {
        var text = [UInt8]()
        text.reserveCapacity(36)
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Length of `description` in bytes.
    public static let textSize = 36

    /// Appends the 36 bytes of `description`.
    public func append(to text: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: Self.textSize, alignment: 1) { room in
            put(into: room)
            text.append(contentsOf: room)
        }
    }

    /// Writes the 36 bytes of `description` to the start of `room`, which must be at least that long.
    public func put(into room: UnsafeMutableRawBufferPointer) {
        precondition(room.count >= Self.textSize)
        let parts = (
            Self.hex(high >> 32), Self.hex(high & 0xFFFF_FFFF), Self.hex(low >> 32),
            Self.hex(low & 0xFFFF_FFFF)
        )
        func put(_ four: UInt64, at position: Int) {
            let bytes = UInt32(truncatingIfNeeded: four).bigEndian
            room.storeBytes(of: bytes, toByteOffset: position, as: UInt32.self)
        }
        func dash(at position: Int) {
            room.storeBytes(of: UInt8(ascii: "-"), toByteOffset: position, as: UInt8.self)
        }
        room.storeBytes(of: parts.0.bigEndian, toByteOffset: 0, as: UInt64.self)
        dash(at: 8)
        put(parts.1 >> 32, at: 9)
        dash(at: 13)
        put(parts.1, at: 14)
        dash(at: 18)
        put(parts.2 >> 32, at: 19)
        dash(at: 23)
        put(parts.2, at: 24)
        room.storeBytes(of: parts.3.bigEndian, toByteOffset: 28, as: UInt64.self)
    }

    /// The eight hexadecimal digits of 32 bits, the first in the highest byte. Computed in parallel, because ids make
    /// up most of what an upload writes.
    private static func hex(_ value: UInt64) -> UInt64 {
        // Spread the nibbles, one to the lower half of each byte …
        var digits = value << 16 & 0x0000_FFFF_0000_0000 | value & 0xFFFF
        digits = digits << 8 & 0x00FF_0000_00FF_0000 | digits & 0x0000_00FF_0000_00FF
        digits = digits << 4 & 0x0F00_0F00_0F00_0F00 | digits & 0x000F_000F_000F_000F
        // … and turn each into a character. No byte overflows into the next: 15 + 6 and 15 + 48 + 39 both fit.
        let letters = (digits &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return digits &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    /// Parses the 36-character form in either case; the version is not checked.
    public init?(_ description: String) {
        var nibbles = [UInt8]()
        nibbles.reserveCapacity(32)
        guard description.utf8.count == 36 else { return nil }
        for (index, byte) in description.utf8.enumerated() {
            switch (index, byte) {
            case (8, UInt8(ascii: "-")), (13, UInt8(ascii: "-")), (18, UInt8(ascii: "-")),
                (23, UInt8(ascii: "-")):
                continue
            case (8, _), (13, _), (18, _), (23, _): return nil
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")): nibbles.append(byte - UInt8(ascii: "0"))
            case (_, UInt8(ascii: "a")...UInt8(ascii: "f")): nibbles.append(byte - UInt8(ascii: "a") + 10)
            case (_, UInt8(ascii: "A")...UInt8(ascii: "F")): nibbles.append(byte - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        self.init(bytes: (0..<16).map { nibbles[2 * $0] << 4 | nibbles[2 * $0 + 1] })
    }
}

/// Mints UUIDs whose last 74 bits count up from a random start (RFC 9562 section 6.2, method 2): as unique across
/// runs as random ones, sorted within a run, and 11 bytes a fix cheaper under gzip because neighbours differ in few
/// digits.
public struct UUIDv7Generator: Sendable {
    private var high: UInt16
    private var low: UInt64

    /// Starts at a random number in the lower half of the range, so that no run ever counts past the end.
    public init(using random: inout some RandomNumberGenerator) {
        high = UInt16.random(in: 0..<0x0800, using: &random)
        low = UInt64.random(in: 0...0x3FFF_FFFF_FFFF_FFFF, using: &random)
    }

    /// The next id, with `time` as its time part.
    public mutating func next(at time: Timestamp) -> UUIDv7 {
        low += 1
        if low > 0x3FFF_FFFF_FFFF_FFFF {
            low = 0
            high &+= 1
        }
        return UUIDv7(time: time, counter: (high, low))
    }
}
