internal import CSQLite

/// An SQLite result code. An open struct rather than an enum, so that codes unknown to this version are preserved.
public struct ResultCode: RawRepresentable, Equatable, Sendable {
    /// The extended code.
    public let rawValue: Int32

    /// Accepts any code, named here or not.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The primary code, in the low byte: SQLITE_IOERR for SQLITE_IOERR_FSYNC.
    public var primary: ResultCode { ResultCode(rawValue: rawValue & 0xFF) }

    package static let ok = ResultCode(rawValue: SQLITE_OK)
    /// SQL that does not fit the schema, or an unknown file format.
    package static let error = ResultCode(rawValue: SQLITE_ERROR)
    /// Another connection holds a lock.
    package static let busy = ResultCode(rawValue: SQLITE_BUSY)
    package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    /// The device or the file system failed.
    package static let ioError = ResultCode(rawValue: SQLITE_IOERR)
    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    package static let full = ResultCode(rawValue: SQLITE_FULL)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    /// SQLITE_CANTOPEN_SYMLINK: a component of the path is a symbolic link.
    package static let linkInPath = ResultCode(rawValue: SQLITE_CANTOPEN | 6 << 8)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    /// SQLITE_IOERR_FSYNC: what was written may be lost, whatever the reason.
    package static let failedSync = ResultCode(rawValue: SQLITE_IOERR | 4 << 8)
    /// SQLITE_IOERR_SHORT_READ: the file ends too early.
    static let shortRead = ResultCode(rawValue: SQLITE_IOERR | 2 << 8)
    static let row = ResultCode(rawValue: SQLITE_ROW)
    static let done = ResultCode(rawValue: SQLITE_DONE)
}

/// What SQLite refused or could not do.
public struct SQLiteError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What was attempted: the statement, or `open PATH`.
    public let operation: String
    /// Extended: SQLITE_IOERR_FSYNC rather than SQLITE_IOERR.
    public let code: ResultCode
    /// SQLite's own message.
    public let message: String
    /// errno of the underlying system call; 0 when there was none.
    public let systemCode: Int32

    /// - Parameter systemCode: errno, or 0.
    public init(operation: String, code: ResultCode, message: String, systemCode: Int32 = 0) {
        self.operation = operation
        self.code = code
        self.message = message
        self.systemCode = systemCode
    }

    /// Message and code, errno if there was one, and the operation.
    public var description: String {
        "\(message) (SQLite \(code.rawValue)\(systemCode == 0 ? "" : ", errno \(systemCode)")) in: \(operation)"
    }
}
