package import Base

/// A value of a parameter or a column, the same for both databases.
package enum Cell: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
    /// PostgreSQL has a type of its own for it; in SQLite it is 16 bytes.
    case id(UUIDv7)

    /// nil when it is none.
    package var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// Integral numbers come as integers from neither database's columns of reals.
    package var real: Double? {
        if case .real(let value) = self { value } else { nil }
    }

    package var text: String? {
        if case .text(let value) = self { value } else { nil }
    }

    package var bytes: [UInt8]? {
        if case .bytes(let value) = self { value } else { nil }
    }

    package var id: UUIDv7? {
        switch self {
        case .id(let id): id
        case .bytes(let bytes): UUIDv7(bytes: bytes)
        case .null, .integer, .real, .text: nil
        }
    }

    /// NULL for nil.
    package static func optional(_ value: Int64?) -> Cell {
        value.map { .integer($0) } ?? .null
    }

    /// NULL for nil.
    package static func optional(_ value: Double?) -> Cell {
        value.map { .real($0) } ?? .null
    }

    /// NULL for nil.
    package static func optional(_ value: [UInt8]?) -> Cell {
        value.map { .bytes($0) } ?? .null
    }

    /// NULL for nil.
    package static func optional(_ value: String?) -> Cell {
        value.map { .text($0) } ?? .null
    }
}
