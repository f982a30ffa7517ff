internal import Base
internal import SQLite

/// A connection to an SQLite file.
final class SQLiteSession: Session {
    let connection: Connection
    /// nil while it is being prepared.
    private let file: DatabaseFile?
    private(set) var isUsable = true
    private var prepared: [String: Prepared] = [:]
    /// Statements of `prepared`; they are few and ours, so this is never reached but by a mistake.
    private static let longest = 200

    /// A statement, which cannot be copied, where a dictionary can hold it.
    final class Prepared {
        let statement: Statement
        init(_ statement: consuming Statement) { self.statement = statement }
    }

    /// - Parameter isReader: it cannot write.
    init(path: String, isReader: Bool, file: DatabaseFile? = nil) throws(StoreError) {
        self.file = file
        do throws(SQLiteError) {
            if !isReader { try Self.distrust(path) }
            connection = try Connection(path: path, access: isReader ? .readOnly : .readWrite)
            try connection.execute("PRAGMA busy_timeout = 5000")
            // 8 MB; the pages of the devices that send are asked for again and again.
            try connection.execute("PRAGMA cache_size = -8192")
            guard !isReader else { return }
            _ = try connection.value("PRAGMA journal_mode = WAL")
            // COMMIT returns when the disk has it: then the sender deletes its copy.
            try connection.execute("PRAGMA synchronous = FULL")
            try SQLiteSchema.upgrade(connection)
        } catch {
            throw Self.error(error)
        }
    }

    /// What a WAL holds after an fsync that failed may never have reached the disk, though it reads back.
    private static func distrust(_ path: String) throws(SQLiteError) {
        do {
            try WriteAheadLog.secure(database: path, doubt: .everything)
        } catch  where error.operation.hasPrefix("open ") {
            // There is no WAL, or no database yet.
        }
    }

    func run(_ sql: String, _ values: [Cell]) throws(StoreError) -> [[Cell]] {
        do throws(SQLiteError) {
            return try rows(sql, values)
        } catch {
            throw failure(error)
        }
    }

    /// Runs a statement within a transaction that throws SQLite's errors.
    func rows(_ sql: String, _ values: [Cell]) throws(SQLiteError) -> [[Cell]] {
        let prepared = try prepare(sql)
        try prepared.statement.bind(values.map { Self.value($0) })
        defer { prepared.statement.reset() }
        var rows: [[Cell]] = []
        while try prepared.statement.step() {
            rows.append((0..<prepared.statement.columns).map { Self.cell(prepared.statement.value($0)) })
        }
        return rows
    }

    /// - Returns: how many rows it changed.
    func change(_ sql: String, _ values: [Value]) throws(SQLiteError) -> Int {
        try prepare(sql).statement.run(values)
        return connection.changes
    }

    func prepare(_ sql: String) throws(SQLiteError) -> Prepared {
        if let known = prepared[sql] { return known }
        if prepared.count >= Self.longest { prepared = [:] }
        let new = Prepared(try connection.prepare(sql))
        prepared[sql] = new
        return new
    }

    func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        // The body throws our error, and the connection's method SQLite's.
        var failure: StoreError?
        do throws(SQLiteError) {
            return try connection.transaction { () throws(SQLiteError) in
                do throws(StoreError) {
                    return try body()
                } catch {
                    failure = error
                    throw SQLiteError(operation: error.operation, code: ResultCode(rawValue: 0), message: "")
                }
            }
        } catch {
            throw failure ?? self.failure(error)
        }
    }

    /// After an error of the file, the connection is not trusted any more.
    func failure(_ error: SQLiteError) -> StoreError {
        let own = Self.error(error)
        if own.kind == .unavailable { isUsable = false }
        // SQLITE_CORRUPT and SQLITE_NOTADB.
        if [11, 26].contains(error.code.primary.rawValue) { file?.note(damage: error.message) }
        return own
    }

    /// What is known to be damaged.
    var damage: String? { file?.damage }

    func confirm() throws(StoreError) {
        try file?.confirm()
        if let file, connection.hasMoved { throw file.gone(file.path) }
    }

    private static func error(_ error: SQLiteError) -> StoreError {
        // SQLITE_CONSTRAINT is 19, SQLITE_ERROR 1, SQLITE_MISMATCH 20, SQLITE_RANGE 25: the statement. All else is the file.
        let kind: StoreError.Kind =
            switch error.code.primary.rawValue {
            case 19: .conflict
            case 1, 20, 25: .failed
            default: .unavailable
            }
        return StoreError(kind, operation: error.operation, message: "SQLite: \(error.message)")
    }

    static func value(_ cell: Cell) -> Value {
        switch cell {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .text(let value): .text(value)
        case .bytes(let value): .blob(value)
        case .id(let id): .blob(id.bytes)
        }
    }

    private static func cell(_ value: Value) -> Cell {
        switch value {
        case .null: .null
        case .integer(let value): .integer(value)
        case .real(let value): .real(value)
        case .text(let value): .text(value)
        case .blob(let value): .bytes(value)
        }
    }
}
