internal import CSQLite

/// A prepared statement that finalises itself. As in SQLite, parameters are numbered from 1 and columns from 0.
public struct Statement: ~Copyable {
    let handle: OpaquePointer

    deinit {
        sqlite3_finalize(handle)
    }

    /// Binds the values to the parameters, runs the statement to completion, and resets it for reuse.
    public func run(_ values: Value...) throws(SQLiteError) {
        try run(values)
    }

    /// Binds the values of an array, runs the statement to completion, and resets it for reuse.
    public func run(_ values: [Value]) throws(SQLiteError) {
        try bind(values)
        try run()
    }

    /// Runs the statement to completion with the current bindings, and resets it for reuse.
    public func run() throws(SQLiteError) {
        while try step() {}
        reset()
    }

    /// Resets the statement and binds the values to the parameters, ready for `step`.
    public func bind(_ values: [Value]) throws(SQLiteError) {
        reset()
        for (index, value) in values.enumerated() {
            try bind(value, Int32(index + 1))
        }
    }

    /// - Returns: whether there is a row to read.
    public func step() throws(SQLiteError) -> Bool {
        let code = ResultCode(rawValue: sqlite3_step(handle))
        switch code {
        case .row: return true
        case .done: return false
        default:
            let error = self.error(code.rawValue)
            reset()
            throw error
        }
    }

    /// Ends the statement's read transaction. The result is that of the last step, which has already been thrown.
    public func reset() {
        _ = sqlite3_reset(handle)
    }

    /// Distinguishes NULL from zero and empty text.
    public func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The value as it is stored.
    public func value(_ column: Int32) -> Value {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_FLOAT: .real(real(column))
        case SQLITE_TEXT: .text(text(column) ?? "")
        case SQLITE_BLOB: .blob(blob(column))
        default: .null
        }
    }

    /// Number of columns of the result.
    public var columns: Int32 {
        sqlite3_column_count(handle)
    }

    /// Zero when the column is NULL.
    public func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    /// Zero when the column is NULL.
    public func real(_ column: Int32) -> Double {
        sqlite3_column_double(handle, column)
    }

    /// nil when the column is NULL.
    public func optionalReal(_ column: Int32) -> Double? {
        isNull(column) ? nil : real(column)
    }

    /// nil when the column is NULL.
    public func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    /// nil when the column is NULL.
    public func text(_ column: Int32) -> String? {
        guard let bytes = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    /// Empty when the column is NULL.
    public func blob(_ column: Int32) -> [UInt8] {
        withBlob(column) { [UInt8]($0) }
    }

    /// Passes the blob to `body` without copying it; valid until the next step. Empty when the column is NULL.
    public func withBlob<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        // Order matters: asking for the size first would convert a number to text.
        let bytes = sqlite3_column_blob(handle, column)
        let count = bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return body(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    /// Binds one value. The statement must have been reset.
    public func bind(_ value: Value, _ index: Int32) throws(SQLiteError) {
        let code =
            switch value {
            case .null: sqlite3_bind_null(handle, index)
            case .integer(let value): sqlite3_bind_int64(handle, index, value)
            case .real(let value): sqlite3_bind_double(handle, index, value)
            case .text(let value):
                value.utf8.withContiguousStorageIfAvailable { bytes in
                    bytes.withMemoryRebound(to: CChar.self) {
                        csqlite_bind_text(handle, index, $0.baseAddress, Int32($0.count))
                    }
                } ?? csqlite_bind_text(handle, index, value, Int32(value.utf8.count))
            case .blob(let bytes): bytes.withUnsafeBytes { bind($0, index) }
            }
        if code != SQLITE_OK { throw error(code) }
    }

    /// Binds the bytes as a blob, copying them. The statement must have been reset.
    public func bind(blob bytes: UnsafeRawBufferPointer, _ index: Int32) throws(SQLiteError) {
        let code = bind(bytes, index)
        if code != SQLITE_OK { throw error(code) }
    }

    private func bind(_ bytes: UnsafeRawBufferPointer, _ index: Int32) -> Int32 {
        // A null pointer would bind NULL, hence the separate call for empty blobs.
        bytes.isEmpty
            ? sqlite3_bind_zeroblob(handle, index, 0)
            : csqlite_bind_blob(handle, index, bytes.baseAddress, Int32(bytes.count))
    }

    private func error(_ code: Int32) -> SQLiteError {
        let connection = sqlite3_db_handle(handle)
        return SQLiteError(
            operation: sqlite3_sql(handle).map { String(cString: $0) } ?? "",
            code: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(connection)),
            systemCode: sqlite3_system_errno(connection))
    }
}

/// The value of a parameter.
public enum Value: Equatable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    /// NULL for nil.
    public static func optional(_ value: Double?) -> Value {
        value.map { .real($0) } ?? .null
    }

    /// NULL for nil.
    public static func optional(_ value: Int64?) -> Value {
        value.map { .integer($0) } ?? .null
    }
    /// NULL for nil.
    public static func optional(_ value: String?) -> Value {
        value.map { .text($0) } ?? .null
    }
}
