package import Base
package import Linux
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
        /// Events that were pending for a destination are not sent to it, because its format carries none any more.
        /// Others may still get them.
        case uncarried(DestinationName, events: Int)
    }

    let path: String
    let files: any Files
    /// How long commits of this store have taken.
    package let commits = CommitTimes()
    package let salvage = SalvageProgress()
    private let state: Mutex<StoreState>
    /// Outside the state, because readers must not wait for a write that the disk holds up.
    private let published = Mutex(StoreCounts())
    /// Called before and after each operation, while the lock is not held.
    private let seam: (@Sendable () -> Void)?

    /// Opens `beekon.db` in the state directory, making it when it is missing. A damaged one is moved aside.
    ///
    /// A disk that is full or fails is no reason not to start: the first operation opens it, when it can.
    ///
    /// - Parameters:
    ///   - files: where that directory is.
    ///   - seam: called before and after each operation, while no lock is held: where something that simulates threads lets
    ///     another one come in between.
    /// - Throws: `newerSchema`, and what no waiting can mend.
    package convenience init(
        directory: String, options: StoreOptions, on files: any Files = SystemFiles(),
        seam: (@Sendable () -> Void)? = nil
    ) throws(StorageError) {
        try self.init(
            directory: directory, options: options, checkpointPages: Writer.checkpointPages, on: files,
            seam: seam)
    }

    /// - Parameters:
    /// - checkpointPages: pages in the WAL at which a checkpoint is made.
    /// - largeTable: rows from which on they are not counted at a start after a clean shutdown.
    init(
        directory: String, options: StoreOptions, checkpointPages: Int,
        largeTable: Int = StoredTallies.largeTable,
        on files: any Files = SystemFiles(), seam: (@Sendable () -> Void)? = nil
    ) throws(StorageError) {
        (self.files, self.seam) = (files, seam)
        path = directory + "/beekon.db"
        state = Mutex(
            StoreState(
                directory: directory, on: files, options: options, checkpointPages: checkpointPages,
                largeTable: largeTable, commits: commits, progress: salvage))
        do throws(StorageError) {
            try perform("open") { (_: inout Writer) throws(SQLiteError) in }
        } catch {
            guard error.kind == .full || error.kind == .io else { throw error }
            state.withLock { $0.news.events.append(.notOpened(error)) }
        }
    }

    /// Releases the space held in reserve for a full disk.
    ///
    /// - Returns: whether there was any.
    package func makeRoom() -> Bool {
        state.withLock { $0.ballast.release() }
    }

    /// Applies new options to the next write.
    package func configure(_ options: StoreOptions) {
        state.withLock { state in
            state.configure(options)
            publish(&state)
        }
    }

    /// What has happened to the database since the last call.
    package func takeEvents() -> [Event] {
        state.withLock { state in
            defer { state.news.events = [] }
            return state.news.events
        }
    }

    /// What has been lost since the last call.
    package func takeLosses() -> Losses {
        state.withLock { state in
            defer { state.news.losses = Losses() }
            return state.news.losses
        }
    }

    /// Releases the pages held in memory; they are read again when needed.
    package func releaseMemory() {
        state.withLock { $0.writer?.db.releaseMemory() }
    }

    /// Closes the database; the WAL is folded into it.
    package func close() {
        state.withLock { $0.close() }
    }

    /// Writes one location, and what its fix decided about the geofences, in one transaction. It is stored when this
    /// returns; a power cut cannot undo it (with durability full).
    ///
    /// - Returns: how many locations are pending now; nil: the location was refused, because its session has come to this
    ///   instant already. What its fix decided is written all the same.
    @available(*, noasync, message: "blocks on the disk")
    package func insert(_ location: NewLocation, with crossings: NewEvents? = nil) throws(StorageError)
        -> Int?
    {
        try insert(RowName(location)) { (writer, mayExist) throws(SQLiteError) in
            let isStored = try writer.insert(location, crossings, mayExist: mayExist)
            return isStored ? writer.ledger[.main].locations.count : nil
        }
    }

    /// Writes what a fix that was not admitted decided about the geofences.
    ///
    /// - Returns: how many locations are pending now.
    @available(*, noasync, message: "blocks on the disk")
    package func insert(_ crossings: NewEvents) throws(StorageError) -> Int {
        try insert(RowName(crossings)) { (writer, mayExist) throws(SQLiteError) in
            try writer.insert(crossings, mayExist: mayExist)
            return writer.ledger[.main].locations.count
        }
    }

    /// - Parameter name: of a row that is written; nil when there is none.
    func insert<Result: Sendable>(
        _ name: RowName?, _ body: @Sendable (inout Writer, Bool) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        try operate { (state) throws(StorageError) in
            let mayExist = state.doubts.hasFailed
            state.doubts.unsure = name
            let result = try state.perform("insert") { (writer) throws(SQLiteError) in
                try body(&writer, mayExist)
            }
            state.doubts.hasFailed = false
            (state.doubts.unsure, state.doubts.landed) = (nil, nil)
            return result
        }
    }

    /// What was stored and pending after the latest operation. Never waits for the disk.
    package func counts() -> StoreCounts {
        published.withLock { $0 }
    }

    // MARK: The lock

    func perform<Result: Sendable>(
        _ operation: String, _ body: @Sendable (inout Writer) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        try operate { (state) throws(StorageError) in
            try state.perform(operation, body)
        }
    }

    /// Like `perform`, for what makes room or must not be forgotten: when the disk is full, the ballast goes first.
    func performAtAnyCost<Result: Sendable>(
        _ operation: String, _ body: @Sendable (inout Writer) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        try operate { (state) throws(StorageError) in
            do throws(StorageError) {
                let result = try state.perform(operation, body)
                state.ballast.hold()
                return result
            } catch {
                guard error.kind == .full, state.ballast.release() else { throw error }
                return try state.perform(operation, body)
            }
        }
    }

    /// Like `perform`, for losses that are reported otherwise.
    func performSilently(
        _ operation: String, _ body: @Sendable (inout Writer) throws(SQLiteError) -> (rows: Int, lost: Int)
    ) throws(StorageError) -> Int {
        try operate { (state) throws(StorageError) in
            let result = try state.perform(operation, body)
            state.news.losses.dropped -= result.lost
            return result.rows
        }
    }

    /// With the lock; what it has changed can be seen when this returns.
    private func operate<Result: Sendable>(
        _ body: @Sendable (inout StoreState) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        seam?()
        defer { seam?() }
        return try state.withLock { (state) throws(StorageError) in
            defer { publish(&state) }
            return try body(&state)
        }
    }

    private func publish(_ state: inout StoreState) {
        guard let counts = state.counts() else { return }
        published.withLock { $0 = counts }
    }

    /// Remembers what a deletion covers, in case the database is damaged before it is done.
    func note(_ deletion: Deletion?) {
        state.withLock { $0.remembered.erasing = deletion.map { $0.isFinished ? [] : $0.bounds } ?? [] }
    }
}
