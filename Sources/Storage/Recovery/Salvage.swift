internal import Base
internal import Linux
internal import SQLite
internal import Tracking

/// What is still readable in a database that was put aside, read piecewise: its size and contents are unknown.
///
/// It is imported when the database is put aside, not by a command: a backend is waiting for the rows, and there is no
/// operator on board to give commands. A limit of time keeps the start quick. Rows that had been uploaded already may come
/// back with it; they carry the ids that the backend knows them by.
struct Salvage: ~Copyable {
    struct Row {
        var row: LocationRow
        var isUploaded: Bool
        /// Who refused it: it is owed to them again.
        var refusedBy: Set<DestinationName> = []
    }

    struct Session {
        var id: UUIDv7
        var startedAt: Int64
        var stoppedAt: Int64?
        var odometer: Double
        var isTracking = true
        var vehicle = VehicleTail()
    }

    /// Where reading continues.
    struct Cursor {
        var from = RowKey.first
        var includesFrom = true
        /// Damage has been read around.
        var hasJumped = false
        var isAtEnd = false
    }

    /// Seconds that reading and writing may take together.
    static let patience = 10.0
    /// Attempts: a file that crashes its reader must not keep the daemon from starting.
    static let attempts: Int64 = 3
    /// In the place of that number once all of it has been imported.
    static let complete: Int64 = 100
    /// Rows read and written at once.
    static let step = 1000
    /// Dead letters that are read at most: those of as many destinations as there can be.
    static let letterLimit = 8 * DeadLetters.limit
    /// Bytes of the longest value that is read: a frozen body is shorter.
    private static let longestValue: Int32 = 16 << 20
    /// Bytes of extras that are taken over.
    private static let extrasRoom = 8 << 20

    let db: Connection
    private let columns: String
    private let deadline: Int64
    /// Deletions that were under way: what they cover does not come back.
    private(set) var erased: [Deletion.Bounds] = []
    /// What was known of the observed times; nil when it cannot be read.
    private(set) var ages: AgeTrust.Memory?
    /// The counters of the damaged database, those that no destination has.
    private(set) var counters: [String: Int64] = [:]
    private(set) var losses = Losses()
    private(set) var destinations = SalvagedDestinations()
    private var extrasBytes = 0
    /// Every table was read to its end without an error or an unintelligible row: the file holds nothing more of use.
    var isComplete = true

    /// - Parameters:
    ///   - deadline: CLOCK_BOOTTIME in nanoseconds.
    ///   - erasing: deletions that this process knows to be under way, which the file may not say.
    init(path: String, deadline: Int64, erasing: [Deletion.Bounds]) throws(SQLiteError) {
        let db = try Connection(path: path, access: .damaged)
        db.limit(values: Self.longestValue)
        self.init(db, columns: try Schema.columns(of: "locations", in: db), deadline: deadline)
        readCounters(erasing)
    }

    private init(_ db: Connection, columns: String, deadline: Int64) {
        self.db = db
        self.columns = columns
        self.deadline = deadline
    }

    private mutating func readCounters(_ erasing: [Deletion.Bounds]) {
        // No row depends on them.
        let values = (try? Counters.all(db)) ?? [:]
        func counter(_ name: String) -> Int64 { values[name] ?? 0 }
        let marked = Counters.deletions(counter)
        // The file may have lost the mark with the transactions of its WAL.
        erased = marked + erasing.filter { !marked.contains($0) }
        ages = Counters.ages(counter)
        losses = Losses(reading: counter)
        counters = values
        destinations = SalvagedDestinations(counters: values)
        destinations.backlogs = try? backlogs()
    }

    private func backlogs() throws(SQLiteError) -> [Backlog] {
        try hasTable("debts") ? Debts.backlogs(db) : []
    }

    func hasTable(_ name: String) throws(SQLiteError) -> Bool {
        try db.value("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '\(name)'") != nil
    }

    /// Whether the user has deleted it.
    func isErased(_ key: RowKey, isEvent: Bool = false) -> Bool {
        erased.contains {
            key.ts <= $0.cutoff?.milliseconds ?? .max && key.seq <= (isEvent ? $0.maxEventSeq : $0.maxSeq)
        }
    }

    /// nil when it is missing or unreadable; its rows then get a session of their own.
    mutating func session(_ key: Int64) -> Session? {
        do {
            // Earlier schemas do not have the last columns.
            let isTracking = try hasSessions("is_tracking") ? "is_tracking" : "1"
            let vehicle = try hasSessions("mileage") ? "mileage, trip" : "NULL, NULL"
            let row = try db.prepare(
                "SELECT id, started_at, stopped_at, odometer, \(isTracking), \(vehicle) FROM sessions WHERE key = ?"
            )
            try row.bind([.integer(key)])
            guard try row.step(), let id = UUIDv7(bytes: row.blob(0)) else { return nil }
            return Session(
                id: id, startedAt: row.integer(1), stoppedAt: row.optionalInteger(2), odometer: row.real(3),
                isTracking: row.integer(4) != 0,
                vehicle: Sessions.vehicle(mileage: row.optionalInteger(5), trip: row.text(6)))
        } catch {
            isComplete = false
            return nil
        }
    }

    /// How often the odometer had been set; 0 when that cannot be read.
    var odometerSettings: Int64 { max(counters[Writer.odometerSettings] ?? 0, 0) }

    private func hasSessions(_ column: String) throws(SQLiteError) -> Bool {
        try db.value("SELECT 1 FROM pragma_table_info('sessions') WHERE name = '\(column)'") != nil
    }

    /// Those that have ended; earlier schemas have none.
    mutating func trips() -> [Trip] {
        do {
            return try hasTable("trips") ? TripTable.all(db, from: nil, to: nil) : []
        } catch {
            isComplete = false
            return []
        }
    }

    /// nil when there are none, or they cannot be read.
    mutating func extras(_ version: Int64) -> String? {
        guard version != 0 else { return nil }
        do {
            // It goes into the upload as it is.
            let row = try db.prepare("SELECT json FROM extras WHERE version = ? AND json_valid(json)")
            try row.bind([.integer(version)])
            if try row.step(), let json = row.text(0), extrasBytes + json.utf8.count <= Self.extrasRoom {
                extrasBytes += json.utf8.count
                return json
            }
        } catch {
            // The row is worth more than its extras.
        }
        isComplete = false
        return nil
    }

    // MARK: Rows

    /// The next locations, oldest first. Damage in the middle is read around once.
    mutating func next(_ cursor: inout Cursor) -> [Row] {
        var rows: [Row] = []
        do {
            guard isInTime() else {
                cursor.isAtEnd = true
                return []
            }
            let page = try db.prepare(
                """
                SELECT \(columns), uploaded FROM locations WHERE (ts, seq) \(cursor.includesFrom ? ">=" : ">") (?, ?) \
                ORDER BY ts, seq LIMIT \(Self.step)
                """)
            try page.bind([.integer(cursor.from.ts), .integer(cursor.from.seq)])
            var count = 0
            while try page.step() {
                let key = RowKey(ts: page.integer(0), seq: page.integer(1))
                guard key > cursor.from || cursor.includesFrom && key == cursor.from else {
                    throw SQLiteError(operation: "salvage", code: .corrupt, message: "rows are out of order")
                }
                (cursor.from, cursor.includesFrom) = (key, false)
                count += 1
                if let row = row(page) { rows.append(row) }
            }
            cursor.isAtEnd = count < Self.step
        } catch {
            isComplete = false
            let far: (row: Row?, next: RowKey?) =
                cursor.hasJumped ? (nil, nil) : farSide(of: cursor.from)
            if let row = far.row { rows.append(row) }
            cursor = Cursor(
                from: far.next ?? cursor.from, includesFrom: true, hasJumped: true, isAtEnd: far.next == nil)
        }
        return rows
    }

    private mutating func row(_ row: borrowing Statement) -> Row? {
        guard let location = LocationRow(row, sessionID: { _ in nil }) else {
            isComplete = false
            return nil
        }
        return isErased(location.key)
            ? nil : Row(row: location, isUploaded: row.integer(Schema.columnCount) != 0)
    }

    /// The first row that can be reached from the end of the table, and the key of the next one: the way to the first from
    /// above may lead through the damage.
    private mutating func farSide(of key: RowKey) -> (row: Row?, next: RowKey?) {
        var (found, first, next): (Row?, RowKey?, RowKey?)
        do {
            let rows = try db.prepare(
                """
                SELECT \(columns), uploaded FROM locations WHERE (ts, seq) > (?, ?) ORDER BY ts DESC, seq DESC
                """)
            try rows.bind([.integer(key.ts), .integer(key.seq)])
            while isInTime(), try rows.step() {
                next = first
                first = RowKey(ts: rows.integer(0), seq: rows.integer(1))
                found = row(rows)
            }
        } catch {
            // That is where the damage ends.
        }
        return (found, next)
    }

    private mutating func isInTime() -> Bool {
        if Clock.boot() < deadline { return true }
        isComplete = false
        return false
    }

    /// Dead letters, as pending rows, oldest first. There are only so many, and they are not in the order of time.
    mutating func deadLetters() -> [Row] {
        var found: [RowKey: Row] = [:]
        for direction in ["ASC", "DESC"] {
            do {
                let destination = try destinationColumn(of: RecordKind.locations.rejected)
                let letters = try db.prepare(
                    """
                    SELECT \(Schema.columns(of: "rejected", in: db)), 0, \(destination) FROM rejected \
                    ORDER BY rejected_at \(direction), seq \(direction) LIMIT \(Self.letterLimit + 1)
                    """)
                var count = 0
                while try letters.step() {
                    count += 1
                    guard var row = row(letters),
                        let name = letters.text(Schema.columnCount + 1).flatMap({ DestinationName($0) })
                    else { continue }
                    row.refusedBy = (found[row.row.key]?.refusedBy ?? []).union([name])
                    found[row.row.key] = row
                }
                if count > Self.letterLimit { isComplete = false }
                // All of it is readable in one direction.
                break
            } catch {
                isComplete = false
            }
        }
        return found.values.sorted { $0.row.key < $1.row.key }
    }

    /// Before the third schema there was only one.
    func destinationColumn(of table: RecordKind.Table) throws(SQLiteError) -> String {
        let name = try db.value("SELECT 1 FROM pragma_table_info('\(table)') WHERE name = 'destination'")
        return name == nil ? "'\(DestinationName.main)'" : "destination"
    }
}
