internal import CSQLite

/// A result code of SQLite. An open struct, not an enum: a code that this version does not know survives.
public struct ResultCode: RawRepresentable, Equatable, Sendable {
    /// The extended code.
    public let rawValue: Int32

    /// Any code, also one that is not named here.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The primary code, which is its low byte: SQLITE_IOERR of SQLITE_IOERR_FSYNC.
    public var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }

    /// Done.
    public static let ok = ResultCode(rawValue: SQLITE_OK)
    /// SQL that does not fit the schema, or a file format that this SQLite does not know.
    public static let error = ResultCode(rawValue: SQLITE_ERROR)
    /// Another connection holds a lock.
    public static let busy = ResultCode(rawValue: SQLITE_BUSY)
    /// The file may not be written.
    public static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    /// The device or the file system failed.
    public static let ioError = ResultCode(rawValue: SQLITE_IOERR)
    /// The file is damaged.
    public static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    /// No space is left.
    public static let full = ResultCode(rawValue: SQLITE_FULL)
    /// The file could not be opened.
    public static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    /// SQLITE_CANTOPEN_SYMLINK: a symbolic link stands at some place of the path.
    public static let linkInPath = ResultCode(rawValue: SQLITE_CANTOPEN | 6 << 8)
    /// A row contradicts the schema.
    public static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    /// The file is no database.
    public static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    /// SQLITE_IOERR_SHORT_READ: the file ends before.
    static let shortRead = ResultCode(rawValue: SQLITE_IOERR | 2 << 8)
    static let row = ResultCode(rawValue: SQLITE_ROW)
    static let done = ResultCode(rawValue: SQLITE_DONE)
}

/// A call of SQLite that failed.
public struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was attempted: the statement, or `open PATH`.
    public let operation: String
    /// Extended: SQLITE_IOERR_FSYNC, not only SQLITE_IOERR.
    public let code: ResultCode
    /// SQLite's own words.
    public let message: String
    /// errno of the system call behind it; 0 when there was none.
    public let systemCode: Int32

    /// The system code is an errno; 0 when there was none.
    public init(operation: String, code: ResultCode, message: String, systemCode: Int32 = 0) {
        self.operation = operation
        self.code = code
        self.message = message
        self.systemCode = systemCode
    }

    /// Operation, message and code, and the system's words when it has some.
    public var description: String {
        "\(message) (SQLite \(code.rawValue)\(systemCode == 0 ? "" : ", errno \(systemCode)")) in: \(operation)"
    }
}
