internal import Base
internal import Linux
internal import SQLite

/// What the store's lock protects: the write connection, and what must outlive one that failed.
struct StoreState: ~Copyable {
    /// Reasons not to trust the files, or what was written last.
    struct Doubts {
        /// An operation has failed since the last location was written.
        var hasFailed = false
        /// What an insert that failed was to write: its COMMIT may have reached the file all the same.
        var unsure: RowName?
        /// The row whose COMMIT has reached the file, as was seen when the database was opened; since then it
        /// may have been sent and deleted.
        var landed: RowName?
        /// The database was not where it was opened, and has not been opened since.
        var hasMoved = false
        /// The contents of an existing WAL may not be on the disk: the device failed, in this process or in an earlier one
        /// that left it.
        var isLogDoubtful = true
        /// The process has committed transactions without a sync.
        var hasBeenLax: Bool
        /// A checkpoint failed after an operation that had succeeded; the next operation reports it.
        var failedCheckpoint: StorageError?
        /// What SQLite found wrong with the database while it was in use.
        var damage: String?
    }

    /// What the next database must know of the one before.
    struct Remembered {
        /// Numbers that rows have got.
        var numbers = Ledger.Numbers()
        /// Deletions that are under way.
        var erasing: [Deletion.Bounds] = []
    }

    /// What has yet to be fetched.
    struct News {
        var losses = Losses()
        var events: [Store.Event] = []
    }

    let path: String
    let quarantine: Quarantine
    private let checkpointPages: Int
    private let largeTable: Int
    private let commits: CommitTimes
    let progress: SalvageProgress
    var writer: Writer?
    private(set) var options: StoreOptions
    var ballast: Ballast
    var doubts: Doubts
    var remembered = Remembered()
    var news = News()

    init(
        directory: String, on files: any Files, options: StoreOptions, checkpointPages: Int, largeTable: Int,
        commits: CommitTimes, progress: SalvageProgress
    ) {
        path = directory + "/beekon.db"
        self.options = options
        self.checkpointPages = checkpointPages
        self.largeTable = largeTable
        self.commits = commits
        self.progress = progress
        ballast = Ballast(directory: directory, on: files)
        quarantine = Quarantine(files)
        doubts = Doubts(hasBeenLax: options.durability == .normal)
    }

    mutating func configure(_ options: StoreOptions) {
        self.options = options
        doubts.hasBeenLax = doubts.hasBeenLax || options.durability == .normal
        do {
            try writer?.apply(options)
            noteUncarried()
        } catch {
            // A connection that does not take its options is not the one that was asked for: the next operation
            // opens another, or says why not.
            writer = nil
        }
    }

    mutating func close() {
        // If that fails, the next start counts.
        try? writer?.writeTallies(from: largeTable)
        writer = nil
    }

    /// nil while no database is open.
    mutating func counts() -> StoreCounts? {
        guard let ledger = writer?.ledger else { return nil }
        var counts = StoreCounts(
            locations: ledger.locations.rows, events: ledger.events.rows,
            untimedEvents: ledger.untimedEvents, main: DestinationCounts(ledger[.main]),
            losses: ledger.losses, commands: ledger.commands)
        guard ledger.hasDebts else { return counts }
        for backlog in ledger.backlogs where backlog.name != .main {
            counts.others[backlog.name] = DestinationCounts(backlog)
        }
        return counts
    }

    // MARK: Operations

    /// Generic, and so compiled once for each caller: only the call of `body` belongs in here.
    mutating func perform<Result>(
        _ operation: String, _ body: @Sendable (inout Writer) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        var writer = try begin(operation)
        let losses = writer.ledger.losses
        let result: Result
        do {
            result = try body(&writer)
        } catch let failed {
            throw abort(writer, since: losses, failed)
        }
        finish(writer, since: losses)
        return result
    }

    /// Takes the connection, which is opened where there is none.
    private mutating func begin(_ operation: String) throws(StorageError) -> Writer {
        if self.writer?.db.hasMoved ?? false { abandon() }
        if let failure = doubts.failedCheckpoint {
            doubts.failedCheckpoint = nil
            throw failure
        }
        if self.writer == nil { try open() }
        guard let writer = self.writer.take() else {
            throw StorageError(operation: operation, kind: .other, message: "the database is closed")
        }
        return writer
    }

    /// After a success: gives the connection back.
    private mutating func finish(_ writer: consuming Writer, since losses: Losses) {
        note(&writer, since: losses)
        do {
            try writer.checkpointIfDue(pages: checkpointPages)
            self.writer = consume writer
        } catch let failed {
            // What was done is in the WAL, and stays done.
            doubts.failedCheckpoint = failure(failed, of: writer)
        }
    }

    /// After a failure: closes the connection.
    private mutating func abort(
        _ writer: consuming Writer, since losses: Losses, _ failed: SQLiteError
    ) -> StorageError {
        // It may have failed after its COMMIT: what was lost by then must be reported.
        note(&writer, since: losses)
        return failure(failed, of: writer)
    }

    private mutating func note(_ writer: inout Writer, since losses: Losses) {
        news.losses = news.losses + (writer.ledger.losses - losses)
        if !writer.uncarried.isEmpty { note(writer.takeUncarried()) }
        remembered.numbers.cover(writer.ledger.numbers)
    }

    /// Saves what must outlive a connection that failed, before it is closed.
    mutating func failure(_ failed: SQLiteError, of writer: borrowing Writer) -> StorageError {
        let error = StorageError(failed)
        doubts.hasFailed = true
        if failed.code.primary == .ioError {
            doubts.isLogDoubtful = true
            writer.db.leaveLogOnClose()
        }
        if error.kind == .corrupt { doubts.damage = error.message }
        return error
    }

    /// The open file has lost its name. Its WAL's name may belong to another file by now, which closing this one must not
    /// touch.
    private mutating func abandon() {
        writer?.db.leaveLogOnClose()
        writer = nil
        doubts.hasFailed = true
        doubts.isLogDoubtful = true
        doubts.failedCheckpoint = nil
        doubts.hasMoved = true
    }

    // MARK: Opening

    private mutating func open() throws(StorageError) {
        do throws(StorageError) {
            try openOnce()
        } catch {
            // Opening needs a little room, too: for the files beside the database, or to bring it to the present schema.
            guard error.kind == .full, ballast.release() else { throw error }
            try openOnce()
        }
        // Before anyone else could send it and delete it.
        if let name = doubts.unsure, (try? writer?.wasWritten(name)) == true { doubts.landed = name }
        writer?.landed = doubts.landed
        noteUncarried()
        // What opening it took, which may be a salvage, is no measure of the disk.
        writer?.db.commitMeter = commits.meter
        ballast.hold()
    }

    private mutating func noteUncarried() {
        note(writer?.takeUncarried() ?? [])
    }

    private mutating func note(_ uncarried: [(DestinationName, Int)]) {
        news.events += uncarried.map { .uncarried($0.0, events: $0.1) }
    }

    private mutating func openOnce() throws(StorageError) {
        // What had reached a database that is gone is in none, unless it is found again.
        if doubts.hasMoved { doubts.landed = nil }
        var unread = try quarantine.unread(path)
        var reason: String?
        if !unread.isEmpty, try !quarantine.exists(path) {
            reason = doubts.damage
            doubts.damage = nil
        }
        do throws(StorageError) {
            try openAsItIs()
        } catch {
            guard error.kind == .corrupt else { throw error }
            unread.append(try quarantine.moveAside(path))
            doubts.damage = nil
            reason = error.message
            writer = try Writer.open(path, options: options, on: quarantine.files)
        }
        if !unread.isEmpty { doubts.landed = nil }
        for aside in unread {
            let known = aside == unread.last ? reason : nil
            try salvage(aside, reason: known ?? "found before the latest start")
        }
    }

    private mutating func openAsItIs() throws(StorageError) {
        if let damage = doubts.damage {
            throw StorageError(operation: "open", kind: .corrupt, message: damage)
        }
        try quarantine.checkKind(path)
        news.events += try quarantine.keepDamagedLog(of: path)
        if doubts.isLogDoubtful { try secureLog() }
        doubts.isLogDoubtful = false
        try quarantine.check(path)
        writer = try Writer.open(path, options: options, on: quarantine.files)
        guard doubts.hasMoved else { return }
        writer?.ledger.cover(remembered.numbers)
        news.events.append(.replaced)
        doubts.hasMoved = false
    }

    /// Makes sure that a WAL is on the disk as it reads before anything builds on it.
    private func secureLog() throws(StorageError) {
        try quarantine.checkKind(path)
        try quarantine.nameOrphan(path)
        guard try quarantine.size(path) != nil, try quarantine.size(path + "-wal") ?? 0 > 0 else { return }
        do {
            try WriteAheadLog.secure(
                database: path, doubt: doubts.hasBeenLax ? .everything : .latestTransaction,
                vfs: quarantine.files.vfs)
        } catch {
            throw StorageError(error)
        }
    }
}
