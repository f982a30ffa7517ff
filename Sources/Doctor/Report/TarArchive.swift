internal import Envelope

/// A tar archive in memory, in the format ustar, that every tar reads.
struct TarArchive {
    /// Each entry begins at a multiple of so many bytes.
    private static let block = 512

    private(set) var bytes: [UInt8] = []
    /// Seconds since 1970, of every file in it.
    private let time: Int64

    init(time: Int64) {
        self.time = time
    }

    /// - Parameter name: ASCII, 100 bytes at most; a longer one is cut.
    mutating func add(_ name: String, _ contents: [UInt8]) {
        var header = [UInt8](repeating: 0, count: Self.block)
        func put(_ text: String, at offset: Int, room: Int) {
            for (index, byte) in text.utf8.prefix(room).enumerated() { header[offset + index] = byte }
        }
        put(name, at: 0, room: 100)
        put(Self.octal(0o644, digits: 7), at: 100, room: 8)
        put(Self.octal(0, digits: 7), at: 108, room: 8)
        put(Self.octal(0, digits: 7), at: 116, room: 8)
        put(Self.octal(Int64(contents.count), digits: 11), at: 124, room: 12)
        put(Self.octal(max(time, 0), digits: 11), at: 136, room: 12)
        // The sum is made with blanks in its own place.
        put("        ", at: 148, room: 8)
        put("0", at: 156, room: 1)
        put("ustar\u{0}00", at: 257, room: 8)
        put("root", at: 265, room: 32)
        put("root", at: 297, room: 32)
        let sum = header.reduce(0) { $0 + Int64($1) }
        put(Self.octal(sum, digits: 6) + "\u{0} ", at: 148, room: 8)
        bytes += header
        bytes += contents
        let rest = contents.count % Self.block
        if rest > 0 { bytes += [UInt8](repeating: 0, count: Self.block - rest) }
    }

    /// The whole, ended and packed; nil when zlib cannot work here.
    consuming func packed() -> [UInt8]? {
        bytes += [UInt8](repeating: 0, count: 2 * Self.block)
        guard let gzip = Gzip() else { return nil }
        return gzip.compress(bytes)
    }

    /// The number in base 8, in so many digits: the lowest of a larger one.
    private static func octal(_ number: Int64, digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(digits - text.count, 0)) + text.suffix(digits)
    }
}
