internal import Base

/// Rows in the binary format of COPY ("COPY", section "Binary Format", of PostgreSQL's manual).
struct CopyBuffer {
    private(set) var bytes: [UInt8]
    private(set) var rows = 0

    init(rows: Int) {
        bytes = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00]
        bytes.reserveCapacity(rows * 200 + 32)
        // Flags, and the length of the header's extension.
        bytes += [UInt8](repeating: 0, count: 8)
    }

    /// Begins a row.
    mutating func begin(columns: Int16) {
        append(columns)
        rows += 1
    }

    mutating func put(_ value: Int64) {
        append(Int32(8))
        append(value)
    }

    mutating func put(_ value: Int16) {
        append(Int32(2))
        append(value)
    }

    mutating func put(_ value: Double?) {
        guard let value else { return append(Int32(-1)) }
        append(Int32(8))
        append(Int64(bitPattern: value.bitPattern))
    }

    mutating func put(_ value: Int64?) {
        guard let value else { return append(Int32(-1)) }
        put(value)
    }

    mutating func put(_ id: UUIDv7) {
        append(Int32(16))
        id.withBytes { bytes.append(contentsOf: $0) }
    }

    mutating func put(_ text: String) {
        append(Int32(truncatingIfNeeded: text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    mutating func put(_ block: [UInt8]) {
        append(Int32(truncatingIfNeeded: block.count))
        bytes.append(contentsOf: block)
    }

    /// Ends the stream.
    mutating func finish() {
        append(Int16(-1))
    }

    private mutating func append<Number: FixedWidthInteger>(_ value: Number) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
