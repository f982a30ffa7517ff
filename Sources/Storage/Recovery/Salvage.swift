internal import Base
internal import SQLite
internal import Tracking

/// What is still readable in a database that was moved aside, read piecewise: its size and contents are unknown.
///
/// It is imported when the database is moved aside, not by a command: a backend is waiting for the rows, and there is no
/// operator on board to give commands. All of it is, however long that takes: what comes back is up to the file alone, not to
/// how fast the machine is. `SalvageProgress` says meanwhile that it goes on. Rows that had been uploaded already may come
/// back with it; they carry the ids that the backend knows them by.
struct Salvage: ~Copyable {
    struct Row {
        var row: LocationRow
        var isUploaded: Bool
        /// Destinations that had refused the row: it is pending for them again.
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
        var isAtEnd = false
    }

    /// Attempts in which not a row came over: a file that crashes its reader must not keep the daemon from starting, and one
    /// that is merely large must get to its end, though the power goes before it each time.
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

    /// Tables that are read into memory hold this many rows at most.
    private static let roomForRows = 200_000

    private let db: Connection
    /// What SQLite cannot read to its end, if that is some of it.
    private let mended: MendedTables?
    private let survey: PageSurvey?
    let progress: SalvageProgress
    /// Where locations are read from once SQLite cannot.
    private var pages: LocationPages?
    /// The members of frozen batches, and which of them have been read.
    var members = SalvagedMembers()
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
    ///   - vfs: the name of its VFS; nil: the default.
    ///   - erasing: deletions that this process knows to be under way, which the file may not say.
    init(
        path: String, vfs: String?, progress: SalvageProgress, erasing: [Deletion.Bounds]
    ) throws(SQLiteError) {
        let db = try Connection(path: path, access: .damaged, vfs: vfs)
        db.limit(values: Self.longestValue)
        let isReadable = (try? db.value("SELECT COUNT(*) FROM sqlite_schema")) != nil
        let survey = try? PageSurvey(path: path, vfs: vfs, progress)
        let mended = try survey.flatMap { (survey) throws(SQLiteError) in
            try MendedTables.make(survey, isReadable: isReadable, room: Self.roomForRows)
        }
        let isWhole = isReadable && survey?.trees[RecordKind.locations.table.name]?.isWhole != false
        let pages =
            try isWhole
            ? nil
            : survey.flatMap { (survey) throws(SQLiteError) in
                try LocationPages.make(survey)
            }
        self.init(db, survey, mended, pages, progress)
        isComplete = survey != nil && mended == nil && isWhole
        readCounters(erasing)
    }

    private init(
        _ db: Connection, _ survey: PageSurvey?, _ mended: MendedTables?, _ pages: LocationPages?,
        _ progress: SalvageProgress
    ) {
        self.db = db
        self.survey = survey
        self.mended = mended
        self.pages = pages
        self.progress = progress
    }

    /// Where a table is read from.
    func source(_ table: String) -> Connection {
        guard let mended, mended.has(table) else { return db }
        return mended.db
    }

    private mutating func readCounters(_ erasing: [Deletion.Bounds]) {
        // No row depends on them.
        let values = (try? Counters.all(source("counters"))) ?? [:]
        func counter(_ name: String) -> Int64 { values[name] ?? 0 }
        let marked = Counters.deletions(counter)
        // The file may have lost the mark with the transactions of its WAL.
        erased = marked + erasing.filter { !marked.contains($0) }
        ages = Counters.ages(counter)
        losses = Losses(reading: counter)
        counters = values
        destinations = SalvagedDestinations(counters: values)
        // Of some that are lost nobody knows whose they were.
        let knowsDebts = ["debts", "destinations"].allSatisfy { mended?.has($0) != true }
        destinations.backlogs = knowsDebts ? try? backlogs() : nil
    }

    private func backlogs() throws(SQLiteError) -> [Backlog] {
        try hasTable("debts")
            ? Debts.backlogs(destinations: source("destinations"), debts: source("debts")) : []
    }

    func hasTable(_ name: String) throws(SQLiteError) -> Bool {
        try source(name).value("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '\(name)'") != nil
    }

    /// Whether the user has deleted the row.
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
            let row = try source("sessions").prepare(
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
        try source("sessions").value(
            "SELECT 1 FROM pragma_table_info('sessions') WHERE name = '\(column)'") != nil
    }

    /// Trips that have ended; earlier schemas have none.
    mutating func trips() -> [Trip] {
        do {
            return try hasTable("trips") ? TripTable.all(source("trips"), from: nil, to: nil) : []
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
            let row = try source("extras").prepare(
                "SELECT json FROM extras WHERE version = ? AND json_valid(json)")
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

    /// The next locations, oldest first.
    mutating func next(_ cursor: inout Cursor) -> [Row] {
        progress.advance()
        guard pages == nil else { return nextOfPages(&cursor) }
        var rows: [Row] = []
        do {
            try readPage(&cursor, into: &rows)
        } catch {
            isComplete = false
            if let survey { pages = (try? LocationPages.make(survey)) ?? nil }
            cursor.isAtEnd = pages == nil
        }
        return rows
    }

    private mutating func readPage(_ cursor: inout Cursor, into rows: inout [Row]) throws(SQLiteError) {
        let page = try db.prepare(
            """
            SELECT \(try Schema.columns(of: "locations", in: db)), uploaded FROM locations \
            WHERE (ts, seq) \(cursor.includesFrom ? ">=" : ">") (?, ?) ORDER BY ts, seq LIMIT \(Self.step)
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
    }

    private mutating func nextOfPages(_ cursor: inout Cursor) -> [Row] {
        guard let pages else { return [] }
        var rows: [Row] = []
        var isWhole = true
        while rows.count < Self.step, !pages.isAtEnd {
            do {
                try pages.read { page in
                    let key = RowKey(ts: page.integer(0), seq: page.integer(1))
                    // SQLite has read what lies before it.
                    guard key > cursor.from || cursor.includesFrom else { return }
                    if let row = row(page) { rows.append(row) }
                }
            } catch {
                isWhole = false
            }
        }
        isComplete = isComplete && isWhole && pages.isWhole
        cursor.isAtEnd = pages.isAtEnd
        return rows
    }

    private mutating func row(_ row: borrowing Statement) -> Row? {
        guard let location = LocationRow(row, sessionID: { _ in nil }) else {
            isComplete = false
            return nil
        }
        let isUploaded = row.integer(Schema.columnCount) != 0
        if !isUploaded { members.note(location) }
        return isErased(location.key) ? nil : Row(row: location, isUploaded: isUploaded)
    }

    /// Dead letters, as pending rows, oldest first. There are only so many, and they are not in the order of time.
    mutating func deadLetters() -> [Row] {
        var found: [RowKey: Row] = [:]
        do {
            let table = RecordKind.locations.rejected.name
            let destination = try destinationColumn(of: RecordKind.locations.rejected)
            let letters = try source(table).prepare(
                """
                SELECT \(Schema.columns(of: table, in: source(table))), 0, \(destination) FROM rejected \
                ORDER BY rejected_at, seq LIMIT \(Self.letterLimit + 1)
                """)
            var count = 0
            while try letters.step() {
                count += 1
                guard var row = letter(letters),
                    let name = letters.text(Schema.columnCount + 1).flatMap({ DestinationName($0) })
                else { continue }
                row.refusedBy = (found[row.row.key]?.refusedBy ?? []).union([name])
                found[row.row.key] = row
            }
            if count > Self.letterLimit { isComplete = false }
        } catch {
            isComplete = false
        }
        return found.values.sorted { $0.row.key < $1.row.key }
    }

    private mutating func letter(_ row: borrowing Statement) -> Row? {
        guard let location = LocationRow(row, sessionID: { _ in nil }) else {
            isComplete = false
            return nil
        }
        return isErased(location.key) ? nil : Row(row: location, isUploaded: false)
    }

    /// Before the third schema there was only one.
    func destinationColumn(of table: RecordKind.Table) throws(SQLiteError) -> String {
        let name = try source(table.name).value(
            "SELECT 1 FROM pragma_table_info('\(table)') WHERE name = 'destination'")
        return name == nil ? "'\(DestinationName.main)'" : "destination"
    }
}
