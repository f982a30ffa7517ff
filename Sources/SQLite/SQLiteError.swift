internal import CSQLite

/// A result code of SQLite. An open struct, not an enum: a code that this version does not know survives.
public struct ResultCode: RawRepresentable, Equatable, Sendable {
    /// The extended code.
    public let rawValue: Int32

    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The primary code, which is its low byte: SQLITE_IOERR of SQLITE_IOERR_FSYNC.
    public var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }

    public static let ok = ResultCode(rawValue: SQLITE_OK)
    /// SQL that does not fit the schema, or a file format that this SQLite does not know.
    public static let error = ResultCode(rawValue: SQLITE_ERROR)
    public static let busy = ResultCode(rawValue: SQLITE_BUSY)
    public static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    public static let ioError = ResultCode(rawValue: SQLITE_IOERR)
    public static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    public static let full = ResultCode(rawValue: SQLITE_FULL)
    public static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    public static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    public static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    static let row = ResultCode(rawValue: SQLITE_ROW)
    static let done = ResultCode(rawValue: SQLITE_DONE)
}

/// A call of SQLite that failed.
public struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was attempted: the statement, or `open PATH`.
    public let operation: String
    public let code: ResultCode
    /// SQLite's own words.
    public let message: String
    /// errno of the system call behind it; 0 when there was none.
    public let systemCode: Int32

    public init(operation: String, code: ResultCode, message: String, systemCode: Int32 = 0) {
        self.operation = operation
        self.code = code
        self.message = message
        self.systemCode = systemCode
    }

    public var description: String {
        "\(message) (SQLite \(code.rawValue)\(systemCode == 0 ? "" : ", errno \(systemCode)")) in: \(operation)"
    }
}
