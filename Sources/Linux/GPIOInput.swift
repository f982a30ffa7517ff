internal import CLinux
internal import Glibc

/// A line of a GPIO chip as an input that reports its edges, by the kernel's character device (uAPI v2, Linux 5.10).
package struct GPIOInput: ~Copyable {
    /// A change of the logical level.
    package struct Edge: Equatable, Sendable {
        /// From inactive to active.
        package var isRising: Bool
        /// Counts the edges of this request, from 1; it wraps.
        package var sequence: UInt32
        /// CLOCK_MONOTONIC in nanoseconds.
        package var at: Int64

        package init(isRising: Bool, sequence: UInt32, at: Int64) {
            self.isRising = isRising
            self.sequence = sequence
            self.at = at
        }
    }

    /// Edges that the kernel keeps while nobody reads them. When there are more, the oldest go.
    package static let buffer: UInt32 = 1024
    /// Bytes of `struct gpio_v2_line_event`.
    static let edgeSize = 48

    private let line: FileDescriptor
    private let readLevel: (Int32) throws(SystemError) -> Bool

    /// Requests a line.
    ///
    /// - Parameters:
    ///   - chip: path of its device.
    ///   - line: number on the chip, from 0.
    ///   - isActiveLow: low is the active level.
    ///   - debounce: microseconds for which the kernel ignores bounce; 0: none.
    /// - Throws: ENOTTY for what is no GPIO chip, which is not opened; ERANGE for a line that the chip does not have; EBUSY
    ///   for one that somebody else has requested.
    package init(
        chip: String, line: UInt32, isActiveLow: Bool, debounce microseconds: UInt32
    ) throws(SystemError) {
        try Self.checkKind(of: chip)
        let opened = try FileDescriptor.open(chip, O_RDONLY | O_NONBLOCK)
        let lines = try retrying("ask " + chip) { clinux_gpio_count_lines(opened.raw) }
        let name = "line \(line) of \(chip)"
        guard line < UInt32(lines) else { throw SystemError("request \(name)", code: ERANGE) }
        let descriptor = FileDescriptor(
            owning: try retrying("request \(name)") {
                clinux_gpio_request(
                    opened.raw, line, isActiveLow ? 1 : 0, microseconds, Self.buffer, "beekond")
            })
        let flags = try retrying("fcntl") { fcntl(descriptor.raw, F_GETFL) }
        try retrying("fcntl") { fcntl(descriptor.raw, F_SETFL, flags | O_NONBLOCK) }
        self.init(owning: descriptor) { (raw) throws(SystemError) in
            try retrying("read \(name)") { clinux_gpio_level(raw) } != 0
        }
    }

    /// - Parameters:
    ///   - line: reads edges as the kernel writes them, without waiting.
    ///   - readLevel: is given the descriptor.
    package init(
        owning line: consuming FileDescriptor, readLevel: @escaping (Int32) throws(SystemError) -> Bool
    ) {
        self.line = line
        self.readLevel = readLevel
    }

    /// To open another device may do something: only a GPIO chip is.
    private static func checkKind(of path: String) throws(SystemError) {
        var status = stat()
        try retrying("open " + path) { stat(path, &status) }
        // As makedev(3) packs them.
        let device = UInt64(status.st_rdev)
        let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
        let minor = device & 0xFF | device >> 12 & 0xFFFF_FF00
        let link = "/sys/dev/char/\(major):\(minor)/subsystem"
        guard status.st_mode & S_IFMT == S_IFCHR, let resolved = realpath(link, nil) else {
            throw SystemError("open " + path, code: ENOTTY)
        }
        defer { free(resolved) }
        guard String(cString: resolved).hasSuffix("/gpio") else {
            throw SystemError("open " + path, code: ENOTTY)
        }
    }

    /// For poll(2).
    package var raw: Int32 { line.raw }

    /// The logical level now.
    package func level() throws(SystemError) -> Bool { try readLevel(line.raw) }

    /// Some of the edges since the last call, in order; empty when there are no more.
    ///
    /// - Throws: ENODEV once the chip is gone.
    package func edges() throws(SystemError) -> [Edge] {
        Self.edges(in: try line.read(upTo: Self.edgeSize * 64) ?? [])
    }

    /// Parses `struct gpio_v2_line_event`: the time (64 bits), the kind (32; 1 is rising, 2 falling), the line (32), the
    /// number among the edges of all lines of the request (32), and that among those of this line (32); the rest is padding.
    static func edges(in bytes: [UInt8]) -> [Edge] {
        bytes.withUnsafeBytes { bytes in
            stride(from: 0, through: bytes.count - edgeSize, by: edgeSize).compactMap { start in
                let kind = bytes.loadUnaligned(fromByteOffset: start + 8, as: UInt32.self)
                guard kind == 1 || kind == 2 else { return nil }
                return Edge(
                    isRising: kind == 1,
                    sequence: bytes.loadUnaligned(fromByteOffset: start + 20, as: UInt32.self),
                    at: Int64(
                        clamping: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)))
            }
        }
    }
}
