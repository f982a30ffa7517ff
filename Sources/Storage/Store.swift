internal import Base
internal import Linux
internal import SQLite
internal import Synchronization

/// The database, through its single write connection, which the reader and the uploader share.
///
/// Every call blocks until the disk has answered, so none may be made from async code. After a failure the connection is
/// closed: what SQLite holds in memory, and what the kernel has marked clean, is not to be trusted any more (an fsync
/// that failed once reports success the next time). The next call opens the database anew.
package final class Store: Sendable {
    /// What opening the database found.
    package enum Event: Equatable, Sendable {
        /// The database was damaged: it has this name now, and another took its place, with as many of its rows as could
        /// be read. If that was all of them, the name ends in `.salvaged`.
        case quarantined(name: String, reason: String, salvaged: Int)
        /// The WAL was damaged, and with it went the transactions that were in it alone; a copy has this name.
        case logDamaged(name: String)
        /// The oldest of several such databases, whose rows had all been saved, or such copies was deleted.
        case removed(name: String)
        /// The database was removed or replaced while it was in use; what has its name now was opened.
        case replaced
        /// The disk kept it from being opened at the start; the next operation opens it, or says why not.
        case notOpened(StorageError)
    }

    struct State: ~Copyable {
        let checkpointPages: Int
        let largeTable: Int
        var writer: Writer?
        var options: StoreOptions
        /// An operation has failed since the last location was written.
        var hasFailed = false
        /// What an insert that failed was to write: its COMMIT may have reached the file all the same.
        var unsure: Writer.RowName?
        /// It has, as was seen when the database was opened; since then it may have been sent and deleted.
        var landed: Writer.RowName?
        /// The database was not where it was opened, and has not been opened since.
        var hasMoved = false
        /// What lies in a WAL that is found may not be on the disk: another process may have left it after the device
        /// failed, or this one has seen that.
        var doubtsLog = true
        /// Transactions have been committed without a sync, by this process.
        var hasBeenLax: Bool
        /// A checkpoint failed after an operation that had succeeded; the next operation tells.
        var failedCheckpoint: StorageError?
        /// What SQLite found wrong with the database while it was in use.
        var damage: String?
        /// Numbers that rows have got.
        var numbers = Writer.Numbers()
        /// Deletions that are under way.
        var erasing: [Deletion.Bounds] = []
        /// Losses since they were last fetched.
        var newLosses = Losses()
        var events: [Event] = []
        var ballast: Ballast
    }

    let path: String
    private let state: Mutex<State>
    /// Beside the state, because whoever wants to know must not wait for a write that the disk holds up.
    private let published = Mutex(StoreCounts())

    /// Opens `beekon.db` in the state directory, making it when it is missing. A damaged one is put aside.
    ///
    /// A disk that is full or fails is no reason not to start: the first operation opens it, when it can.
    ///
    /// - Throws: `newerSchema`, and what no waiting can mend.
    package convenience init(directory: String, options: StoreOptions) throws(StorageError) {
        try self.init(directory: directory, options: options, checkpointPages: Writer.checkpointPages)
    }

    /// - Parameters:
    /// - checkpointPages: pages in the WAL at which a checkpoint is made.
    /// - largeTable: rows from which on they are not counted at a start after a clean shutdown.
    init(
        directory: String, options: StoreOptions, checkpointPages: Int, largeTable: Int = Writer.largeTable
    ) throws(StorageError) {
        path = directory + "/beekon.db"
        state = Mutex(
            State(
                checkpointPages: checkpointPages, largeTable: largeTable, options: options,
                hasBeenLax: options.durability == .normal,
                ballast: Ballast(directory: directory)))
        do throws(StorageError) {
            try perform("open") { (_: inout Writer) throws(SQLiteError) in }
        } catch {
            guard error.kind == .full || error.kind == .io else { throw error }
            state.withLock { $0.events.append(.notOpened(error)) }
        }
    }

    /// Gives up the room that is held back for the day when the disk is full.
    ///
    /// - Returns: whether there was any.
    package func makeRoom() -> Bool {
        state.withLock { $0.ballast.release() }
    }

    /// Applies new options to the next write.
    package func configure(_ options: StoreOptions) {
        state.withLock { state in
            state.options = options
            state.hasBeenLax = state.hasBeenLax || options.durability == .normal
            do {
                try state.writer?.apply(options)
            } catch {
                // A connection that does not take its options is not the one that was asked for: the next operation
                // opens another, or says why not.
                state.writer = nil
            }
        }
    }

    /// What has happened to the database since the last call.
    package func takeEvents() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// What has been lost since the last call.
    package func takeLosses() -> Losses {
        state.withLock { state in
            defer { state.newLosses = Losses() }
            return state.newLosses
        }
    }

    /// Lets go of the pages that are held in memory; they are read again when they are needed.
    package func releaseMemory() {
        state.withLock { $0.writer?.db.releaseMemory() }
    }

    /// Closes the database; the WAL is folded into it.
    package func close() {
        state.withLock { state in
            // If that fails, the next start counts.
            try? state.writer?.leaveTallies(from: state.largeTable)
            state.writer = nil
        }
    }

    /// Writes one location, and what its fix has decided about the geofences, in one transaction. It is stored when this
    /// returns; a power cut cannot undo it (with durability full).
    ///
    /// - Returns: how many locations are pending now.
    @available(*, noasync, message: "blocks on the disk")
    package func insert(_ location: NewLocation, with crossings: NewCrossings? = nil) throws(StorageError)
        -> Int
    {
        try insert(Writer.RowName(location)) { (writer, mayExist) throws(SQLiteError) in
            try writer.insert(location, crossings, mayExist: mayExist)
        }
    }

    /// Writes what a fix that was not admitted has decided about the geofences.
    ///
    /// - Returns: how many locations are pending now.
    @available(*, noasync, message: "blocks on the disk")
    package func insert(_ crossings: NewCrossings) throws(StorageError) -> Int {
        try insert(Writer.RowName(crossings)) { (writer, mayExist) throws(SQLiteError) in
            try writer.insert(crossings, mayExist: mayExist)
        }
    }

    /// - Parameter name: of a row that is written; nil when there is none.
    func insert(
        _ name: Writer.RowName?, _ body: @Sendable (inout Writer, Bool) throws(SQLiteError) -> Void
    ) throws(StorageError) -> Int {
        try state.withLock { (state) throws(StorageError) in
            defer { publish(&state) }
            let mayExist = state.hasFailed
            let hasLanded = name != nil && name == state.landed
            state.unsure = name
            let pending = try Self.perform("insert", &state, path) { (writer) throws(SQLiteError) in
                if !hasLanded { try body(&writer, mayExist) }
                return writer.tally.rows - writer.tally.uploaded
            }
            state.hasFailed = false
            (state.unsure, state.landed) = (nil, nil)
            return pending
        }
    }

    /// What was stored and pending after the latest operation. Never waits for the disk.
    package func counts() -> StoreCounts {
        published.withLock { $0 }
    }

    private static func counts(_ state: inout State) -> StoreCounts? {
        guard let tally = state.writer?.tally, let events = state.writer?.events else { return nil }
        let oldest = [tally.oldestPending, events.oldestPending].compactMap(\.self).min()
        return StoreCounts(
            locations: tally.rows, pending: tally.rows - tally.uploaded + events.rows - events.uploaded,
            oldestPending: oldest.map { Timestamp(milliseconds: $0.ts) },
            rejected: tally.rejected + events.rejected, losses: state.writer?.losses ?? Losses())
    }

    // MARK: Failure

    func perform<Result: Sendable>(
        _ operation: String, _ body: @Sendable (inout Writer) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        try state.withLock { (state) throws(StorageError) in
            defer { publish(&state) }
            return try Self.perform(operation, &state, path, body)
        }
    }

    /// Like `perform`, for what makes room or must not be forgotten: when the disk is full, the ballast goes first.
    func performAtAnyCost<Result: Sendable>(
        _ operation: String, _ body: @Sendable (inout Writer) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        try state.withLock { (state) throws(StorageError) in
            defer { publish(&state) }
            do throws(StorageError) {
                let result = try Self.perform(operation, &state, path, body)
                state.ballast.hold()
                return result
            } catch {
                guard error.kind == .full, state.ballast.release() else { throw error }
                return try Self.perform(operation, &state, path, body)
            }
        }
    }

    private func publish(_ state: inout State) {
        guard let counts = Self.counts(&state) else { return }
        published.withLock { $0 = counts }
    }

    private static func perform<Result>(
        _ operation: String, _ state: inout State, _ path: String,
        _ body: @Sendable (inout Writer) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        if state.writer?.db.hasMoved ?? false { abandon(&state) }
        if let failure = state.failedCheckpoint {
            state.failedCheckpoint = nil
            throw failure
        }
        if state.writer == nil { try open(&state, path) }
        guard var writer = state.writer.take() else {
            throw StorageError(operation: operation, kind: .other, message: "the database is closed")
        }
        let result: Result
        let losses = writer.losses
        do {
            result = try body(&writer)
            note(writer, since: losses, &state)
        } catch let failed {
            // It may have failed after its COMMIT: what is lost by then is to be told.
            note(writer, since: losses, &state)
            throw failure(failed, of: writer, &state)
        }
        do {
            try writer.checkpointIfDue(pages: state.checkpointPages)
            state.writer = consume writer
        } catch let failed {
            // What was done is in the WAL, and stays done.
            state.failedCheckpoint = failure(failed, of: writer, &state)
        }
        return result
    }

    private static func note(_ writer: borrowing Writer, since losses: Losses, _ state: inout State) {
        state.newLosses = state.newLosses + (writer.losses - losses)
        state.numbers.cover(writer.numbers)
    }

    /// Remembers what a deletion covers, in case that the database is damaged before it is done.
    func note(_ deletion: Deletion?) {
        state.withLock { $0.erasing = deletion.map { $0.isFinished ? [] : $0.bounds } ?? [] }
    }

    /// Notes what must be remembered of a connection that failed, before it is closed.
    static func failure(
        _ failed: SQLiteError, of writer: borrowing Writer, _ state: inout State
    ) -> StorageError {
        let error = StorageError(failed)
        state.hasFailed = true
        if failed.code.primary == .ioError {
            state.doubtsLog = true
            writer.db.leaveLogOnClose()
        }
        if error.kind == .corrupt { state.damage = error.message }
        return error
    }

    /// The file that is open has no name any more. Its WAL's name may be that of another file by now: nothing there may be
    /// touched by closing this one.
    private static func abandon(_ state: inout State) {
        state.writer?.db.leaveLogOnClose()
        state.writer = nil
        state.hasFailed = true
        state.doubtsLog = true
        state.failedCheckpoint = nil
        state.hasMoved = true
    }

    private static func open(_ state: inout State, _ path: String) throws(StorageError) {
        do throws(StorageError) {
            try openOnce(&state, path)
        } catch {
            // Opening needs a little room, too: for the files beside the database, or to bring it to the present schema.
            guard error.kind == .full, state.ballast.release() else { throw error }
            try openOnce(&state, path)
        }
        // Before anybody else, who might send it and delete it.
        if let name = state.unsure, (try? state.writer?.exists(name)) == true { state.landed = name }
        state.ballast.hold()
    }

    private static func openOnce(_ state: inout State, _ path: String) throws(StorageError) {
        var unread = try Quarantine.unread(path)
        var reason: String?
        if !unread.isEmpty, !Quarantine.exists(path) {
            reason = state.damage
            state.damage = nil
        }
        do throws(StorageError) {
            try openAsItIs(&state, path)
        } catch {
            guard error.kind == .corrupt else { throw error }
            unread.append(try Quarantine.putAside(path))
            state.damage = nil
            reason = error.message
            state.writer = try Writer.open(path, options: state.options)
        }
        for aside in unread {
            let known = aside == unread.last ? reason : nil
            try takeOver(aside, &state, path, reason: known ?? "found before the latest start")
        }
    }

    private static func openAsItIs(_ state: inout State, _ path: String) throws(StorageError) {
        if let damage = state.damage {
            throw StorageError(operation: "open", kind: .corrupt, message: damage)
        }
        try Quarantine.checkKind(path)
        state.events += try Quarantine.keepDamagedLog(of: path)
        if state.doubtsLog { try secureLog(path, hasBeenLax: state.hasBeenLax) }
        state.doubtsLog = false
        try Quarantine.check(path)
        state.writer = try Writer.open(path, options: state.options)
        guard state.hasMoved else { return }
        state.writer?.numbers.cover(state.numbers)
        state.events.append(.replaced)
        state.hasMoved = false
    }

    /// Makes sure that a WAL is on the disk as it reads before anything is built upon it.
    private static func secureLog(_ path: String, hasBeenLax: Bool) throws(StorageError) {
        try Quarantine.checkKind(path)
        try Quarantine.nameOrphan(path)
        guard fileSize(path) != nil, fileSize(path + "-wal") ?? 0 > 0 else { return }
        do {
            try WriteAheadLog.secure(
                database: path, doubt: hasBeenLax ? .everything : .latestTransaction)
        } catch {
            throw StorageError(error)
        }
    }
}
