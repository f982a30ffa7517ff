/// Which boot of the machine it is: CLOCK_BOOTTIME means something only together with it.
package struct BootID: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// - Parameter text: the UUID of `/proc/sys/kernel/random/boot_id`, or `text` of another, with or without its hyphens; a
    ///   line feed may follow.
    /// - Returns: nil for anything else.
    package init?(_ text: some StringProtocol) {
        var digits: [UInt64] = []
        var bytes = Array(text.utf8.prefix(38))
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard bytes.count == 36 || bytes.count == 32 else { return nil }
        for (index, byte) in bytes.enumerated() {
            if bytes.count == 36, [8, 13, 18, 23].contains(index) {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            switch byte {
            case 0x30...0x39: digits.append(UInt64(byte - 0x30))
            case 0x41...0x46, 0x61...0x66: digits.append(UInt64((byte | 0x20) - 0x61 + 10))
            default: return nil
            }
        }
        high = digits[..<16].reduce(0) { $0 << 4 | $1 }
        low = digits[16...].reduce(0) { $0 << 4 | $1 }
    }

    /// Any number will do.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// - Parameter bytes: those of another's `bytes`.
    /// - Returns: nil unless there are 16.
    package init?(bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// To be stored.
    package var bytes: [UInt8] {
        [high, low].flatMap { half in (0..<8).reversed().map { UInt8(truncatingIfNeeded: half >> ($0 * 8)) } }
    }

    /// Lower case, as the kernel writes it.
    package var text: String {
        let parts = [(high, 32, 8), (high, 16, 4), (high, 0, 4), (low, 48, 4), (low, 0, 12)]
        return parts.map { value, shift, digits in
            let part = value >> UInt64(shift) & (1 << UInt64(digits * 4) - 1)
            let hex = String(part, radix: 16)
            return String(repeating: "0", count: digits - hex.count) + hex
        }.joined(separator: "-")
    }
}
