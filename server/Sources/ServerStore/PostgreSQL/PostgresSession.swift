internal import Base
internal import CPostgres

/// A connection to PostgreSQL, version 15 or newer.
final class PostgresSession: Session {
    private let connection: OpaquePointer
    private(set) var isUsable = true
    var partitions = PostgresPartitions()
    private var prepared: [Statement: String] = [:]
    /// Statements of `prepared`; they are few and ours, so this is never reached but by a mistake.
    private static let mostPrepared = 200

    /// A statement that PostgreSQL has parsed before; with other types it is another one.
    private struct Statement: Hashable {
        let sql: String
        let types: [Oid]
    }

    /// What PostgreSQL says of a statement that failed.
    struct Refusal: Error {
        let operation: String
        let sqlState: String
        let message: String
        /// The connection is gone with it.
        let isLost: Bool
        /// Whether it may have been done: asking again is safe.
        var isUnknown = false

        var error: StoreError {
            // Classes of SQLSTATE: 53 no resources, 57 an operator, 58 the system; 25006 a standby. 40 rolled back for another,
            // 55P03 others held what was waited for, 57014 it took too long: all may be better another time. 08 is a connection,
            // and if it is not ours, one of Citus to a worker: other devices are on others. XX000 is what Citus says of a worker
            // that it has lost, and PostgreSQL where two change the same table.
            let kind = String(sqlState.prefix(2))
            let isSlow = sqlState == "57014"
            let isOfAll =
                isLost || isUnknown || sqlState == "25006" || (["53", "57", "58"].contains(kind) && !isSlow)
            let isPassing =
                isOfAll || isSlow || ["08", "40"].contains(kind) || ["55P03", "XX000"].contains(sqlState)
            var error = StoreError(
                isPassing ? .unavailable : kind == "23" ? .conflict : .failed, operation: operation,
                message: "PostgreSQL: \(message)\(sqlState.isEmpty ? "" : " (\(sqlState))")")
            error.isOfAll = isOfAll
            error.isOutage = isLost
            return error
        }
    }

    /// Whether the rows of vehicles are distributed over several PostgreSQL; of a session that writes.
    var isDistributed = false
    /// Whether another program stands between, which gives connections of its own: pgbouncer.
    private(set) var isPooled = false
    private let notices = Notices()

    /// pgbouncer in transaction mode, which a session cannot be told by its answers before something is missing.
    static let sharing =
        "pgbouncer gives the connection to others between two transactions: set pool_mode = session for this database, or connect "
        + "to PostgreSQL itself, which needs no pool: a server has nine connections at most"
    /// No such prepared statement; there is one already.
    private static let poolStates = ["26000", "42P05"]

    /// Warnings of PostgreSQL, as libpq hands them over while a statement runs.
    private final class Notices {
        var warning: (text: String, sqlState: String)?
    }

    /// What every connection has, unless the address says otherwise. A dead network, or a machine that has gone, must not hold a
    /// thread for minutes.
    private static let defaults = [
        (name: "connect_timeout", value: "5"), (name: "tcp_user_timeout", value: "10000"),
        (name: "keepalives_idle", value: "5"), (name: "keepalives_interval", value: "5"),
        (name: "keepalives_count", value: "3"), (name: "application_name", value: "beekon-server"),
    ]

    /// Connects, and no more.
    ///
    /// - Parameter parameters: names and values, as libpq takes them.
    init(_ parameters: [(name: String, value: String)]) throws(StoreError) {
        let parts = Self.defaults + parameters
        let keywords = parts.map { strings($0.name) } + [nil]
        let values = parts.map { strings($0.value) } + [nil]
        defer { for text in keywords + values { text?.deallocate() } }
        let opened = PQconnectdbParams(
            keywords.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 1)
        guard let opened, PQstatus(opened) == CONNECTION_OK else {
            let message = opened.map { String(cString: PQerrorMessage($0)) } ?? "out of memory"
            PQfinish(opened)
            // The message may repeat the address, but never its password.
            var error = StoreError(.unavailable, operation: "connect", message: Self.line(message))
            error.isOutage = true
            throw error
        }
        connection = opened
        PQsetNoticeReceiver(
            connection,
            { context, result in
                // PG_DIAG_SEVERITY_NONLOCALIZED, PG_DIAG_MESSAGE_PRIMARY and PG_DIAG_SQLSTATE
                guard let context, let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V"))),
                    String(cString: severity) == "WARNING"
                else { return }
                let text = PQresultErrorField(result, Int32(UInt8(ascii: "M")))
                let sqlState = PQresultErrorField(result, Int32(UInt8(ascii: "C")))
                Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().warning = (
                    text.map { String(cString: $0) } ?? "a warning",
                    sqlState.map { String(cString: $0) } ?? ""
                )
            },
            // The connection ends before this object does.
            Unmanaged.passUnretained(notices).toOpaque())
    }

    /// - Parameters:
    ///   - address: a connection string or a URL, as psql takes it.
    ///   - prepare: make or upgrade the tables.
    convenience init(address: String, prepare: Bool) throws(StoreError) {
        try self.init([("dbname", address)])
        try settle(isReader: false)
        if prepare { try upgrade() }
        try stage()
    }

    deinit {
        PQfinish(connection)
    }

    /// The connection, for what waits for it beside its statements.
    var raw: OpaquePointer { connection }

    /// - Parameter process: id of the one that answers. Where it is not the one that took the connection, a pooler stands between.
    func note(process: Int64) {
        isPooled = Int64(PQbackendPID(connection)) != process
    }

    /// Statements without parameters and rows.
    func execute(_ sql: String) throws(Refusal) {
        try check(PostgresResult(PQexec(connection, sql)), sql)
    }

    /// The first row of a statement without parameters, as texts. Unlike others it is not kept by the connection.
    func texts(_ sql: String) throws(Refusal) -> [String?] {
        let result = PostgresResult(PQexec(connection, sql))
        let texts = result.texts
        try check(result, sql)
        return texts
    }

    func query(_ sql: String, _ values: [Cell]) throws(Refusal) -> [[Cell]] {
        try query(sql, with: values.map { .cell($0) })
    }

    func query(_ sql: String, with values: [PostgresValue]) throws(Refusal) -> [[Cell]] {
        let parameters = PostgresParameters(values)
        let name = try prepare(Statement(sql: sql, types: parameters.types))
        let result = PostgresResult(
            parameters.withPointers { pointers, lengths, formats in
                PQexecPrepared(connection, name, Int32(values.count), pointers, lengths, formats, 1)
            })
        let rows = result.rows
        try check(result, sql)
        return rows
    }

    /// A statement that is parsed anew each time, as there are too many of its kind.
    func queryOnce(_ sql: String, _ values: [Cell]) throws(Refusal) -> [[Cell]] {
        let parameters = PostgresParameters(values.map { .cell($0) })
        let result = PostgresResult(
            parameters.withPointers { pointers, lengths, formats in
                PQexecParams(
                    connection, sql, Int32(values.count), parameters.types, pointers, lengths, formats, 1)
            })
        let rows = result.rows
        try check(result, sql)
        return rows
    }

    /// To parse a short statement takes longer than to run it.
    ///
    /// - Returns: its name.
    private func prepare(_ statement: Statement) throws(Refusal) -> String {
        if let known = prepared[statement] { return known }
        if prepared.count >= Self.mostPrepared {
            try execute("DEALLOCATE ALL")
            prepared = [:]
        }
        let name = "s\(prepared.count)"
        let result = PostgresResult(
            PQprepare(connection, name, statement.sql, Int32(statement.types.count), statement.types))
        try check(result, statement.sql)
        prepared[statement] = name
        return name
    }

    /// Sends rows in the binary format of COPY.
    func copy(_ sql: String, _ bytes: [UInt8]) throws(Refusal) {
        let start = PostgresResult(PQexec(connection, sql))
        guard start.status == PGRES_COPY_IN else { return try check(start, sql) }
        let sent = bytes.withUnsafeBytes { bytes in
            PQputCopyData(
                connection, bytes.bindMemory(to: CChar.self).baseAddress, Int32(clamping: bytes.count))
        }
        _ = PQputCopyEnd(connection, sent == 1 ? nil : "the rows could not be sent")
        var failure: Refusal?
        while let handle = PQgetResult(connection) {
            do throws(Refusal) {
                try check(PostgresResult(handle), sql)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func check(_ result: consuming PostgresResult, _ sql: String) throws(Refusal) {
        let warning = notices.warning
        notices.warning = nil
        switch result.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
            // Behind a transaction it says that a standby may not have it: whoever cancelled the wait cannot have meant that it is
            // acknowledged.
            guard let warning, PQtransactionStatus(connection) == PQTRANS_IDLE else { return }
            // 57P01 and 57P02: the server ends at once, and its last word may come with the answer to COMMIT.
            let isLost = warning.sqlState.hasPrefix("57P")
            if isLost { isUsable = false }
            throw Refusal(
                operation: Self.line(sql), sqlState: "", message: warning.text, isLost: isLost,
                isUnknown: true)
        default:
            // After a FATAL error the server closes the connection, which may not have been seen yet.
            let isLost = PQstatus(connection) != CONNECTION_OK || result.isFatal
            if isLost { isUsable = false }
            if isPooled, Self.poolStates.contains(result.sqlState) {
                isUsable = false
                throw Refusal(operation: "connect", sqlState: "", message: Self.sharing, isLost: true)
            }
            let message = result.message
            throw Refusal(
                operation: Self.line(sql), sqlState: result.sqlState,
                message: message.isEmpty ? Self.line(String(cString: PQerrorMessage(connection))) : message,
                isLost: isLost)
        }
    }

    /// For the log, in which an entry is a line.
    static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    // MARK: Session

    func run(_ sql: String, _ values: [Cell]) throws(StoreError) -> [[Cell]] {
        do throws(Refusal) {
            return try query(sql, values)
        } catch {
            throw error.error
        }
    }

    func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        var failure: StoreError?
        do throws(Refusal) {
            return try atomically { () throws(Refusal) in
                do throws(StoreError) {
                    return try body()
                } catch {
                    failure = error
                    throw Refusal(
                        operation: error.operation, sqlState: "", message: error.message, isLost: false)
                }
            }
        } catch {
            throw failure ?? error.error
        }
    }

    /// Commits when `body` returns, and rolls back when it throws.
    ///
    /// - Parameter beginning: BEGIN, and what goes to the database and back with it.
    func atomically<Value>(
        _ beginning: String = "BEGIN", _ body: () throws(Refusal) -> Value
    ) throws(Refusal) -> Value {
        try begin(beginning)
        let value: Value
        do throws(Refusal) {
            value = try body()
        } catch {
            do throws(Refusal) {
                try execute("ROLLBACK")
            } catch {
                isUsable = false
            }
            throw error
        }
        let result = PostgresResult(PQexec(connection, "COMMIT"))
        let command = result.command
        try check(result, "COMMIT")
        guard command == "COMMIT" else {
            throw Refusal(
                operation: "COMMIT", sqlState: "40000", message: "it was rolled back", isLost: false)
        }
        return value
    }
}

extension PostgresSession {
    private func begin(_ beginning: String) throws(Refusal) {
        do throws(Refusal) {
            try execute(beginning)
        } catch {
            // What comes behind BEGIN has failed: it has begun.
            if PQtransactionStatus(connection) != PQTRANS_IDLE, isUsable {
                do throws(Refusal) { try execute("ROLLBACK") } catch { isUsable = false }
            }
            throw error
        }
    }
}

/// A C string, to be deallocated.
private func strings(_ text: String) -> UnsafeMutablePointer<CChar> {
    let bytes = Array(text.utf8CString)
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    copy.initialize(from: bytes, count: bytes.count)
    return copy
}
