/// The latest lines of the log, as many as fit, for a server that may ask for them. A value: it knows no clock.
struct LogMemory {
    /// Bytes.
    static let limit = 64 * 1024

    private var ring = [UInt8](repeating: 0, count: limit)
    /// Where the next byte goes.
    private var end = 0
    /// The oldest bytes have been written over.
    private var isFull = false

    /// Takes a line, without its line break.
    mutating func append(_ line: String) {
        for byte in line.utf8.prefix(Self.limit - 1) { put(byte) }
        put(UInt8(ascii: "\n"))
    }

    private mutating func put(_ byte: UInt8) {
        ring[end] = byte
        end += 1
        guard end == Self.limit else { return }
        (end, isFull) = (0, true)
    }

    /// Whole lines, oldest first.
    var lines: [UInt8] {
        guard isFull else { return Array(ring[..<end]) }
        let all = ring[end...] + ring[..<end]
        // Of the oldest line only the rest may be there.
        return Array(all.drop { $0 != UInt8(ascii: "\n") }.dropFirst())
    }
}
