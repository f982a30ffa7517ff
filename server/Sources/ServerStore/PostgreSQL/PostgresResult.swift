internal import Base
internal import CPostgres

/// An answer of libpq, which clears itself. Columns are read in the binary format.
struct PostgresResult: ~Copyable {
    private let handle: OpaquePointer?

    init(_ handle: OpaquePointer?) {
        self.handle = handle
    }

    deinit {
        PQclear(handle)
    }

    var status: ExecStatusType { PQresultStatus(handle) }

    /// Five characters (Appendix A of PostgreSQL's manual); empty when there was no answer at all.
    var sqlState: String {
        // PG_DIAG_SQLSTATE is a character constant.
        PQresultErrorField(handle, Int32(UInt8(ascii: "C"))).map { String(cString: $0) } ?? ""
    }

    var message: String {
        // PG_DIAG_MESSAGE_PRIMARY
        PQresultErrorField(handle, Int32(UInt8(ascii: "M"))).map { String(cString: $0) } ?? ""
    }

    /// The server ends the session with it.
    var isFatal: Bool {
        // PG_DIAG_SEVERITY_NONLOCALIZED
        let severity = PQresultErrorField(handle, Int32(UInt8(ascii: "V"))).map { String(cString: $0) }
        return severity == "FATAL" || severity == "PANIC"
    }

    /// What was done, such as `COMMIT`.
    var command: String { PQcmdStatus(handle).map { String(cString: $0) } ?? "" }

    /// The first row of an answer in the text format.
    var texts: [String?] {
        guard PQntuples(handle) > 0 else { return [] }
        return (0..<PQnfields(handle)).map { column in
            PQgetisnull(handle, 0, column) == 0
                ? PQgetvalue(handle, 0, column).map { String(cString: $0) } : nil
        }
    }

    var rows: [[Cell]] {
        (0..<PQntuples(handle)).map { row in (0..<PQnfields(handle)).map { cell(row, $0) } }
    }

    private func cell(_ row: Int32, _ column: Int32) -> Cell {
        guard PQgetisnull(handle, row, column) == 0, let start = PQgetvalue(handle, row, column) else {
            return .null
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(handle, row, column)))
        // The numbers are those of pg_type.dat, which never change.
        switch PQftype(handle, column) {
        case PostgresType.int8 where bytes.count == 8:
            return .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
        case PostgresType.int4 where bytes.count == 4:
            return .integer(Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))))
        case PostgresType.int2 where bytes.count == 2:
            return .integer(Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self))))
        case PostgresType.float8 where bytes.count == 8:
            return .real(Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))))
        case PostgresType.bool: return .integer(bytes.first == 1 ? 1 : 0)
        case PostgresType.uuid: return UUIDv7(bytes: bytes).map { .id($0) } ?? .null
        case PostgresType.bytea: return .bytes([UInt8](bytes))
        default: return .text(String(decoding: bytes, as: UTF8.self))
        }
    }
}

/// Object ids of types.
enum PostgresType {
    static let bool: Oid = 16
    static let bytea: Oid = 17
    static let int8: Oid = 20
    static let int2: Oid = 21
    static let int4: Oid = 23
    static let text: Oid = 25
    static let float8: Oid = 701
    static let uuid: Oid = 2950

    /// What arrays are made of.
    enum Element {
        case int8, text, float8, uuid, bytea

        var type: Oid {
            switch self {
            case .int8: PostgresType.int8
            case .text: PostgresType.text
            case .float8: PostgresType.float8
            case .uuid: PostgresType.uuid
            case .bytea: PostgresType.bytea
            }
        }

        var array: Oid {
            switch self {
            case .int8: 1016
            case .text: 1009
            case .float8: 1022
            case .uuid: 2951
            case .bytea: 1001
            }
        }
    }
}
