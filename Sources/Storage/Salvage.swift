internal import Base
internal import Linux
internal import SQLite
internal import Tracking

/// What still reads of a database that was put aside.
///
/// It is imported when the database is put aside, not by a command: the rows are wanted by a backend that waits for them,
/// and nobody is there to give commands. A limit of time keeps the start quick. Rows that had been uploaded already may come
/// back with it; they carry the ids that the backend knows them by.
struct Salvage {
    struct Row {
        var row: LocationRow
        var isUploaded: Bool
    }

    struct Session {
        var id: UUIDv7
        var startedAt: Int64
        var stoppedAt: Int64?
        var odometer: Double
        var isTracking = true
    }

    /// Seconds that reading and writing may take together.
    static let patience = 1.0

    /// Dead letters among them, as pending rows. Damage in the middle is read around from both ends.
    private(set) var rows: [RowKey: Row] = [:]
    private(set) var sessions: [Int64: Session] = [:]
    private(set) var extras: [Int64: String] = [:]
    /// Refused ones among them, as pending ones.
    var events: [RowKey: Event] = [:]
    /// The counters of the damaged database.
    private(set) var losses = Losses()
    /// Every table was read to its end, without an error and without a row that nobody understands: the file holds
    /// nothing more that is wanted.
    var isComplete = false

    /// - Parameter deadline: CLOCK_BOOTTIME in nanoseconds.
    init(path: String, deadline: Int64) {
        guard !Quarantine.isOrphan(path) else { return }
        do {
            let db = try Connection(path: path, access: .damaged)
            isComplete = true
            readSessions(db)
            readLosses(db)
            for table in ["locations", "rejected"] { try readRows(of: table, db, deadline) }
            for table in ["geofence_events", "rejected_events"] { try readEvents(of: table, db) }
        } catch {
            // A file that does not open today may be read by somebody who knows how to mend it.
            isComplete = false
        }
    }

    private mutating func readSessions(_ db: borrowing Connection) {
        do {
            let all = try db.prepare("SELECT key, id, started_at, stopped_at, odometer FROM sessions")
            while try all.step() {
                guard let id = UUIDv7(bytes: all.blob(1)) else { continue }
                sessions[all.integer(0)] = Session(
                    id: id, startedAt: all.integer(2), stoppedAt: all.optionalInteger(3),
                    odometer: all.real(4))
            }
            let versions = try db.prepare("SELECT version, json FROM extras")
            while try versions.step() { extras[versions.integer(0)] = versions.text(1) }
            // The first schema does not have this column.
            guard
                try db.value("SELECT 1 FROM pragma_table_info('sessions') WHERE name = 'is_tracking'") != nil
            else { return }
            let silent = try db.prepare("SELECT key FROM sessions WHERE is_tracking = 0")
            while try silent.step() { sessions[silent.integer(0)]?.isTracking = false }
        } catch {
            // Rows without their session still get one of their own.
            isComplete = false
        }
    }

    private mutating func readLosses(_ db: borrowing Connection) {
        do {
            let counters = try db.prepare("SELECT value FROM counters WHERE name = ?")
            for (name, field) in Losses.names {
                try counters.bind([.text(name)])
                if try counters.step() { losses[keyPath: field] = Losses.bounded(counters.integer(0)) }
            }
        } catch {
            // They are numbers for the operator, and no row depends on them.
        }
    }

    private mutating func readRows(
        of table: String, _ db: borrowing Connection, _ deadline: Int64
    ) throws(SQLiteError) {
        let columns = try Schema.columns(of: table, in: db)
        let uploaded = table == "rejected" ? "0" : "uploaded"
        let known = sessions
        for direction in ["ASC", "DESC"] {
            let key = table == "rejected" ? "rejected_at" : "ts"
            let order = "ORDER BY \(key) \(direction), seq \(direction)"
            do {
                let all = try db.prepare("SELECT \(columns), \(uploaded) FROM \(table) \(order)")
                while try all.step() {
                    guard let row = LocationRow(all, sessionID: { known[$0]?.id }) else {
                        isComplete = false
                        continue
                    }
                    let new = Row(row: row, isUploaded: all.integer(18) != 0)
                    let former = rows.updateValue(new, forKey: row.key)
                    if let former, former.row.location.id != row.location.id { isComplete = false }
                    guard former != nil || Clock.boot() < deadline else {
                        isComplete = false
                        return
                    }
                }
                // All of it reads in one direction: nothing is left for the other.
                return
            } catch {
                isComplete = false
            }
        }
    }
}

extension Writer {
    private static let importStep = 1000

    /// Writes salvaged rows under their own ids, with new sequence numbers.
    ///
    /// - Parameter done: how many have been.
    mutating func importRows(_ salvage: Salvage, done: inout Int) throws(SQLiteError) {
        try note(salvage.losses)
        guard !salvage.rows.isEmpty || !salvage.events.isEmpty else { return }
        var keys: [Int64: Int64] = [:]
        let bySession = Dictionary(grouping: salvage.rows.values) { $0.row.session }
        for (old, rows) in bySession.sorted(by: { $0.key < $1.key }) {
            let ordered = rows.sorted { $0.row.key < $1.row.key }
            let key = try importSession(salvage.sessions[old], firstTime: ordered[0].row.key.ts)
            keys[old] = key
            for start in stride(from: 0, to: ordered.count, by: Self.importStep) {
                let step = ordered[start..<min(start + Self.importStep, ordered.count)]
                try importRows(step, session: key, extras: salvage.extras)
                done += step.count
                try checkpointIfDue()
            }
        }
        try db.execute(
            """
            UPDATE sessions SET last_seq = (SELECT MAX(seq) FROM locations WHERE session = sessions.key), \
            first_seq = (SELECT MIN(seq) FROM locations WHERE session = sessions.key) \
            WHERE EXISTS (SELECT 1 FROM locations WHERE session = sessions.key)
            """)
        done += try importEvents(salvage, sessions: &keys)
    }

    private mutating func importRows(
        _ rows: ArraySlice<Salvage.Row>, session: Int64, extras: [Int64: String]
    ) throws(SQLiteError) {
        var renamed: [Salvage.Row] = []
        for var salvaged in rows {
            salvaged.row.session = session
            salvaged.row.key.seq = tally.nextSeq
            salvaged.row.extras = try version(ofExtras: extras[salvaged.row.extras])
            tally.nextSeq += 1
            renamed.append(salvaged)
        }
        try db.transaction { () throws(SQLiteError) in
            let mark = try db.prepare("UPDATE locations SET uploaded = 1 WHERE ts = ? AND seq = ?")
            for salvaged in renamed {
                try salvaged.row.run(statements.insert)
                guard salvaged.isUploaded else { continue }
                try mark.run(.integer(salvaged.row.key.ts), .integer(salvaged.row.key.seq))
            }
        }
    }

    mutating func importSession(
        _ session: Salvage.Session?, firstTime: Int64
    ) throws(SQLiteError) -> Int64 {
        let key = (sessions.keys.max() ?? 0) + 1
        var random = SystemRandomNumberGenerator()
        var generator = UUIDv7Generator(using: &random)
        let id = session?.id ?? generator.next(at: Timestamp(milliseconds: firstTime))
        let stoppedAt = session.map(\.stoppedAt) ?? firstTime
        try db.prepare(
            """
            INSERT INTO sessions (key, id, started_at, stopped_at, first_seq, last_seq, odometer, is_tracking) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run(
            .integer(key), .blob(id.bytes), .integer(session?.startedAt ?? firstTime), .optional(stoppedAt),
            .integer(tally.nextSeq), .integer(tally.nextSeq - 1), .real(session?.odometer ?? 0),
            .integer(session?.isTracking ?? true ? 1 : 0))
        sessions[key] = id
        return key
    }
}
