internal import Base
internal import Linux
internal import SQLite

/// The single write connection: the tables, and the ledger of what is in them. Transactions are made here only; what one
/// has changed is entered in the ledger after its COMMIT has returned.
struct Writer: ~Copyable {
    let db: Connection
    let tables: Tables
    var ledger = Ledger()
    private(set) var options: StoreOptions
    /// A row whose COMMIT had reported a failure and was found all the same; since then it may have been sent and deleted.
    var landed: RowName?
    /// Numbers of events that were pending for a destination and are dropped, since the last look, as its format carries none.
    var uncarried: [(DestinationName, Int)] = []
    /// Rows that there were when the database was opened.
    private var rowsAtOpen = 0
    /// Whether the recorded state of each session is complete, except for the current one.
    private(set) var tailsAreWritten = false

    /// Pages in the WAL at which a checkpoint is made: 2 MB, or twice that with pages of 2048 bytes.
    static let checkpointPages = 2000
    /// At this many times that length each write of a fix waits for readers, for this many milliseconds.
    private static let longLog = 4
    private static let readerPatience = 20

    /// Locations kept at most.
    var rowLimit: Int { options.holdsRows ? max(options.maxRows, rowsAtOpen) : options.maxRows }

    /// Hands over `uncarried`, which is empty then.
    mutating func takeUncarried() -> [(DestinationName, Int)] {
        defer { uncarried = [] }
        return uncarried
    }

    /// Opens and, where needed, creates the database at `path`.
    static func open(
        _ path: String, options: StoreOptions, on files: any Files = SystemFiles()
    ) throws(StorageError) -> Writer {
        do {
            let db = try Connection(path: path, access: .readWrite, vfs: files.vfs)
            try Pragmas.configure(db, options)
            try Schema.migrate(db)
            var writer = Writer(db: db, tables: try Tables(db), options: options)
            try writer.load()
            try writer.reconcile()
            writer.rowsAtOpen = writer.ledger.locations.rows
            // The names of the database and its WAL. SQLite syncs them, too, but ignores the result.
            try files.synchronise(Quarantine.directory(of: path))
            return writer
        } catch let error as SQLiteError {
            throw StorageError(error)
        } catch let error as SystemError {
            throw StorageError(error)
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(operation: "open", kind: .other, message: "\(error)")
        }
    }

    private init(db: Connection, tables: consuming Tables, options: StoreOptions) {
        self.db = db
        self.tables = tables
        self.options = options
    }

    /// Applies other options.
    mutating func apply(_ options: StoreOptions) throws(SQLiteError) {
        let former = self.options
        self.options = options
        try Pragmas.change(db, from: former, to: options)
        if options.destinations != former.destinations { try reconcile() }
    }

    /// Makes a checkpoint once the WAL is long enough.
    func checkpointIfDue(pages: Int = checkpointPages) throws(SQLiteError) {
        guard db.logPages >= pages else { return }
        // While history is being read the WAL can only be used again between two pages: wait for that before it grows.
        let isLong = db.logPages >= Self.longLog * pages
        try db.checkpoint(waitingForReaders: isLong ? Self.readerPatience : 0)
    }

    /// A transaction in which deleted data is overwritten with zeros, not only unlinked.
    func securely<Result>(_ body: () throws(SQLiteError) -> Result) throws(SQLiteError) -> Result {
        try db.execute("PRAGMA secure_delete = ON")
        defer { try? db.execute("PRAGMA secure_delete = OFF") }
        return try db.transaction(body)
    }

    /// Whether a row of this name is there, or was.
    func wasWritten(_ name: RowName) throws(SQLiteError) -> Bool {
        if name == landed { return true }
        return try name.exists(in: tables)
    }

    /// Must be part of every transaction that may delete the newest row of the current session.
    func writeTail() throws(SQLiteError) {
        try tables.sessions.writeTail(of: ledger.sessions.current)
    }

    // MARK: What is in the database

    mutating func load() throws(SQLiteError) {
        ledger.sessions = KnownSessions(try tables.sessions.ids(), current: ledger.sessions.current)
        ledger.sessions.odometerSettings = try tables.counters.value(Self.odometerSettings)
        try loadBacklogs()
        let counted = try consumeTallies()
        tailsAreWritten = counted
        let counts = try tailsAreWritten ? [] : tables.locations.counts()
        if !counted {
            let lastSeq = max(
                try tables.sessions.lastSeq(), try tables.deadLetters.lastSeq(.locations),
                lastSeq(\.locations, \.seqs))
            ledger.locations.reset(to: counts, lastSeq: lastSeq)
            try countPending(counts)
        }
        try countLetters()
        try countEvents()
        var numbers = Ledger.Numbers()
        for bounds in try tables.counters.deletions() { numbers.cover(Ledger.Numbers(past: bounds)) }
        ledger.cover(numbers)
        ledger.losses = try tables.counters.losses()
        try countCommands()
        ledger.extras = KnownExtras(try tables.extras.all())
        // At each start that checks the rows anyway: they would pile up where they change often.
        if !tailsAreWritten, ledger.extras.versions.count > KnownExtras.startLimit {
            try forgetUnusedExtras()
        }
        guard !tailsAreWritten else { return }
        // Its rows may leave before it is entered again.
        for session in try tables.sessions.lagging(counts) where ledger.sessions.current?.key != session {
            ledger.sessions.current = try tables.sessions.load(session, tailIsWritten: false)
        }
    }

    /// Takes over what was counted at a clean shutdown.
    ///
    /// - Returns: false when there is nothing, or nothing that can be right.
    private mutating func consumeTallies() throws(SQLiteError) -> Bool {
        let found = try StoredTallies.take(for: ledger.names, from: db, tables.counters)
        guard let found, found.areSound(withDebts: ledger.hasDebts) else { return false }
        ledger.locations = Tally(
            rows: Int(found.rows), uploaded: Int(found.uploaded),
            nextSeq: max(ledger.locations.nextSeq, found.nextSeq))
        for (name, pending) in found.pending { ledger[name].locations = pending }
        return true
    }

    /// Stores what is counted, unless there are fewer rows than `limit`.
    func writeTallies(from limit: Int) throws(SQLiteError) {
        guard ledger.locations.rows >= max(limit, 1) else { return }
        try db.transaction { () throws(SQLiteError) in
            try writeTail()
            try StoredTallies(ledger).write(to: db, tables.counters)
        }
    }

    /// What each destination is owed, and the batches that are under way.
    private mutating func loadBacklogs() throws(SQLiteError) {
        ledger.replace(backlogs: try tables.debts.backlogs())
        for (name, batch) in try tables.batches.all() { ledger[name].queue.append(batch) }
        for name in ledger.names {
            ledger[name].hasStreak = try tables.deadLetters.hasStreak(name)
            if ledger.hasDebts { ledger[name].losses = try tables.counters.losses(of: name) }
        }
    }

    /// The highest number that a debt or a batch knows of: an open debt begins behind all that had been given. The events of
    /// a batch may be gone, and no other may take their place in it.
    private func lastSeq(_ debts: (Backlog.Owed) -> SeqSet, _ members: (BatchMembers) -> SeqSet) -> Int64 {
        let sets = ledger.backlogs.flatMap { backlog in
            [debts(backlog.owed), debts(backlog.offered)] + backlog.queue.frozen.map { members($0.members) }
        }
        let last = sets.compactMap(\.ranges.last)
        return last.map { $0.upperBound == .max ? max($0.lowerBound, 1) - 1 : $0.upperBound }.max() ?? 0
    }

    /// - Parameter counts: of all locations.
    private mutating func countPending(_ counts: [SessionCount]) throws(SQLiteError) {
        for name in ledger.names {
            let bySession =
                try ledger.hasDebts
                ? tables.locations.countPending(in: ledger[name].owed.locations)
                : Dictionary(counts.map { ($0.session, $0.rows - $0.uploaded) }, uniquingKeysWith: +)
            ledger[name].locations = Pending(bySession: bySession)
            try findOldestPending(of: name, from: .first)
        }
    }

    mutating func countLetters() throws(SQLiteError) {
        for name in ledger.names {
            ledger[name].locations.rejected = try tables.deadLetters.count(.locations, of: name)
        }
    }

    /// Counts the events and those that are dead letters.
    mutating func countEvents() throws(SQLiteError) {
        let counts = try tables.events.counts()
        ledger.events.reset(
            to: counts, lastSeq: max(try tables.deadLetters.lastSeq(.events), lastSeq(\.events, \.events)))
        ledger.untimedEvents = ledger.events.rows > 0 ? try tables.events.countUntimed() : 0
        for name in ledger.names { try countPendingEvents(of: name) }
    }

    mutating func countPendingEvents(of name: DestinationName) throws(SQLiteError) {
        let isEmpty = ledger.events.rows == ledger.events.uploaded
        let pending = isEmpty ? ([:], nil) : try tables.events.pending(in: ledger[name].owed.events)
        ledger[name].events = Pending(
            bySession: pending.0, oldest: pending.1,
            rejected: try tables.deadLetters.count(.events, of: name))
    }

    /// Looks for the oldest pending location at or after `start`.
    mutating func findOldestPending(of name: DestinationName, from start: RowKey) throws(SQLiteError) {
        let backlog = ledger[name]
        ledger[name].locations.oldest =
            backlog.locations.count == 0
            ? nil : try tables.locations.oldestPending(from: start, in: backlog.owed.locations)
    }
}
