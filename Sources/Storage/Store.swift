internal import Linux
internal import SQLite
internal import Synchronization
public import Tracking

/// The database, through its single write connection, which the reader and the uploader share.
///
/// Every call blocks until the disk has answered, so none may be made from async code. After a failure the connection is
/// closed: what SQLite holds in memory, and what the kernel has marked clean, is not to be trusted any more (an fsync
/// that failed once reports success the next time). The next call opens the database anew.
public final class Store: Sendable {
    /// What opening the database found.
    public enum Event: Equatable, Sendable {
        /// The database was damaged: it has this name now, and another took its place, with as many of its rows as could
        /// be read.
        case quarantined(name: String, reason: String, salvaged: Int)
        /// The database was removed or replaced while it was in use; what has its name now was opened.
        case replaced
    }

    private struct State: ~Copyable {
        var writer: Writer?
        var options: StoreOptions
        /// An operation has failed since the last location was written.
        var hasFailed = false
        /// The device failed: what it was last given may not have arrived, whatever a later fsync says.
        var needsRepair = false
        /// The database was not where it was opened, and has not been opened since.
        var hasMoved = false
        /// What SQLite found wrong with the database while it was in use.
        var damage: String?
        var droppedUnsent = 0
        var events: [Event] = []
        var ballast: Ballast
    }

    /// Seconds that dead letters are kept.
    private static let rejectedLifetime = 7.0 * 86_400

    private let path: String
    private let state: Mutex<State>
    /// Beside the state, because whoever wants to know must not wait for a write that the disk holds up.
    private let published = Mutex(StoreCounts())

    /// Opens `beekon.db` in the state directory, making it when it is missing. A damaged one is put aside.
    ///
    /// - Throws: `newerSchema`, and what keeps a new database from being made.
    public init(directory: String, options: StoreOptions) throws(StorageError) {
        path = directory + "/beekon.db"
        state = Mutex(State(options: options, ballast: Ballast(directory: directory)))
        try perform("open") { (_: inout Writer) throws(SQLiteError) in }
    }

    /// Applies new options to the next write. A change of durability waits for the next start.
    public func configure(_ options: StoreOptions) {
        state.withLock { state in
            state.options = options
            state.writer?.options = options
        }
    }

    /// What has happened to the database since the last call.
    public func takeEvents() -> [Event] {
        state.withLock { state in
            defer { state.events = [] }
            return state.events
        }
    }

    /// Closes the database; the WAL is folded into it.
    public func close() {
        state.withLock { state in
            state.droppedUnsent += state.writer?.tally.droppedUnsent ?? 0
            state.writer = nil
        }
    }

    // MARK: The reader's side

    /// Makes the session the current one, writing it down when it is new.
    ///
    /// - Returns: what is known of its last admitted fix.
    @available(*, noasync, message: "blocks on the disk")
    public func enter(session: UUIDv7, startedAt: Timestamp) throws(StorageError) -> SessionTail? {
        try perform("enter session") { (writer) throws(SQLiteError) in
            try writer.enter(session: session, startedAt: startedAt)
            return writer.current?.tail
        }
    }

    /// The newest location that is still stored.
    @available(*, noasync, message: "blocks on the disk")
    public func latestLocation() throws(StorageError) -> Location? {
        try perform("read latest location") { (writer) throws(SQLiteError) in try writer.latestLocation() }
    }

    /// The session ends; its locations stay.
    @available(*, noasync, message: "blocks on the disk")
    public func close(session: UUIDv7, at time: Timestamp) throws(StorageError) {
        try perform("close session") { (writer) throws(SQLiteError) in
            try writer.close(session: session, at: time)
        }
    }

    /// Writes one location. It is stored when this returns; a power cut cannot undo it (with durability full).
    ///
    /// - Returns: how many rows are pending now.
    @available(*, noasync, message: "blocks on the disk")
    public func insert(_ location: NewLocation) throws(StorageError) -> Int {
        try state.withLock { (state) throws(StorageError) in
            defer { publish(&state) }
            let mayExist = state.hasFailed
            let pending = try Self.perform("insert", &state, path) { (writer) throws(SQLiteError) in
                try writer.insert(location, mayExist: mayExist)
                return writer.tally.rows - writer.tally.uploaded
            }
            state.hasFailed = false
            return pending
        }
    }

    /// Starts a deletion of everything at or before `cutoff`, or of everything that is there now.
    @available(*, noasync, message: "blocks on the disk")
    public func beginDeletion(before cutoff: Timestamp?) throws(StorageError) -> Deletion {
        try perform("delete") { (writer) throws(SQLiteError) in
            Deletion(cutoff: cutoff, maxSeq: writer.tally.nextSeq - 1)
        }
    }

    /// One step of at most 1,000 rows.
    @available(*, noasync, message: "blocks on the disk")
    public func proceed(with deletion: inout Deletion) throws(StorageError) {
        deletion = try performAtAnyCost("delete") { [deletion] (writer) throws(SQLiteError) in
            var deletion = deletion
            try writer.proceed(with: &deletion)
            return deletion
        }
    }

    // MARK: The uploader's side

    /// The frozen batch that goes next.
    @available(*, noasync, message: "blocks on the disk")
    public func nextFrozen() throws(StorageError) -> FrozenBatch? {
        try perform("read batch") { (writer) throws(SQLiteError) in try writer.nextFrozen() }
    }

    /// The rows that the next batch should carry; nil when nothing is pending or a batch is frozen already.
    @available(*, noasync, message: "blocks on the disk")
    public func draftBatch(limit: Int) throws(StorageError) -> BatchDraft? {
        try perform("draft batch") { (writer) throws(SQLiteError) in try writer.draftBatch(limit: limit) }
    }

    /// Commits the batch; nil when the user deleted some of its rows since it was drafted.
    @available(*, noasync, message: "blocks on the disk")
    public func freeze(_ draft: BatchDraft, id: UUIDv7, body: [UInt8]) throws(StorageError) -> FrozenBatch? {
        try performAtAnyCost("freeze batch") { (writer) throws(SQLiteError) in
            try writer.freeze(draft, id: id, body: body)
        }
    }

    /// A complete 2xx: the rows leave, or are marked, in one transaction. Returns how many.
    @available(*, noasync, message: "blocks on the disk")
    public func acknowledge(_ batch: FrozenBatch) throws(StorageError) -> Int {
        try performAtAnyCost("acknowledge") { (writer) throws(SQLiteError) in try writer.acknowledge(batch) }
    }

    /// A 400 or 422: the rows become dead letters, unless that raises the suspicion that the endpoint is at fault.
    ///
    /// - Parameter isTimeTrusted: `time` is good enough to let dead letters go that were rejected 7 days before it.
    @available(*, noasync, message: "blocks on the disk")
    public func reject(
        _ batch: FrozenBatch, status: Int, at time: Timestamp, isTimeTrusted: Bool = false
    ) throws(StorageError) -> Rejection {
        let expiry = isTimeTrusted ? time.advanced(bySeconds: -Self.rejectedLifetime) : nil
        return try performAtAnyCost("reject") { (writer) throws(SQLiteError) in
            try writer.reject(batch, status: status, at: time, expiry: expiry)
        }
    }

    /// Counts a rejection without moving the rows, and tells whether the endpoint is to be suspected now: three batches in
    /// a row were rejected, and none accepted between.
    @available(*, noasync, message: "blocks on the disk")
    public func countRejection(of batch: FrozenBatch) throws(StorageError) -> Bool {
        try performAtAnyCost("count rejection") { (writer) throws(SQLiteError) in
            try writer.countRejection(of: batch)
        }
    }

    /// The rows of a rejected batch in two halves, for the search for poison rows.
    @available(*, noasync, message: "blocks on the disk")
    public func halves(of batch: FrozenBatch) throws(StorageError) -> [BatchDraft] {
        try perform("halve batch") { (writer) throws(SQLiteError) in try writer.halves(of: batch) }
    }

    /// Puts the pieces in the batch's place.
    @available(*, noasync, message: "blocks on the disk")
    public func split(
        _ batch: FrozenBatch, into pieces: [(draft: BatchDraft, id: UUIDv7, body: [UInt8])]
    ) throws(StorageError) {
        try performAtAnyCost("split batch") { (writer) throws(SQLiteError) in
            try writer.split(batch, into: pieces)
        }
    }

    /// The server refused the batch in a way that only a change of configuration can mend.
    @available(*, noasync, message: "blocks on the disk")
    public func markPermanent(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("mark batch") { (writer) throws(SQLiteError) in try writer.markPermanent(batch) }
    }

    /// Tells where batches go now, as a number that differs whenever url or batch size do. Batches that the old
    /// endpoint refused for good are dissolved; their rows go into new ones.
    @available(*, noasync, message: "blocks on the disk")
    public func adopt(endpoint: Int64) throws(StorageError) {
        try performAtAnyCost("adopt endpoint") { (writer) throws(SQLiteError) in
            try writer.adopt(endpoint: endpoint)
        }
    }

    /// What was stored and pending after the latest operation. Never waits for the disk.
    public func counts() -> StoreCounts {
        published.withLock { $0 }
    }

    private static func counts(_ state: inout State) -> StoreCounts? {
        guard let tally = state.writer?.tally else { return nil }
        return StoreCounts(
            locations: tally.rows, pending: tally.rows - tally.uploaded,
            oldestPending: tally.oldestPending.map { Timestamp(milliseconds: $0.ts) },
            rejected: tally.rejected, droppedUnsent: state.droppedUnsent + tally.droppedUnsent)
    }

    // MARK: Failure

    private func perform<Result: Sendable>(
        _ operation: String, _ body: @Sendable (inout Writer) throws(SQLiteError) -> Result
    ) throws(StorageError) -> Result {
        try state.withLock { (state) throws(StorageError) in
            defer { publish(&state) }
            return try Self.perform(operation, &state, path, body)
        }
    }

    /// Like `perform`, for what makes room or must not be forgotten: when the disk is full, the ballast goes first.
    private func performAtAnyCost<Result: Sendable>(
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
        if state.writer == nil { try open(&state, path) }
        guard var writer = state.writer.take() else {
            throw StorageError(operation: operation, kind: .other, message: "the database is closed")
        }
        do {
            let result = try body(&writer)
            state.writer = consume writer
            return result
        } catch let failed {
            let error = StorageError(failed)
            state.hasFailed = true
            if failed.code.primary == .ioError { state.needsRepair = true }
            if error.kind == .corrupt { state.damage = error.message }
            state.droppedUnsent += writer.tally.droppedUnsent
            throw error
        }
    }

    /// The file that is open has no name any more. Its WAL's name may be that of another file by now: nothing there may be
    /// touched by closing this one.
    private static func abandon(_ state: inout State) {
        state.writer?.db.leaveLogOnClose()
        state.droppedUnsent += state.writer?.tally.droppedUnsent ?? 0
        state.writer = nil
        state.hasFailed = true
        state.hasMoved = true
    }

    private static func open(_ state: inout State, _ path: String) throws(StorageError) {
        do throws(StorageError) {
            if let damage = state.damage {
                throw StorageError(operation: "open", kind: .corrupt, message: damage)
            }
            try Quarantine.check(path)
            state.writer = try Writer.open(path, options: state.options, repairing: state.needsRepair)
            state.needsRepair = false
            if state.hasMoved { state.events.append(.replaced) }
            state.hasMoved = false
            state.ballast.hold()
        } catch {
            guard error.kind == .corrupt else { throw error }
            try startAnew(&state, path, reason: error.message)
            state.damage = nil
        }
    }

    /// Puts a damaged database aside and starts another, with what still reads of the old one.
    private static func startAnew(_ state: inout State, _ path: String, reason: String) throws(StorageError) {
        let deadline = Clock.boot() + Int64(Salvage.patience * 1e9)
        var name = try Quarantine.putAside(path)
        var salvaged = 0
        do {
            var writer = try Writer.open(path, options: state.options, repairing: false)
            let salvage = Salvage(path: name, deadline: deadline)
            salvaged = try writer.importRows(salvage)
            if salvage.isComplete { name = try Quarantine.markSalvaged(name, in: directory(of: path)) }
        } catch let error as StorageError {
            throw error
        } catch let error as SQLiteError {
            throw StorageError(error)
        } catch {
            throw StorageError(operation: "salvage", kind: .other, message: "\(error)")
        }
        state.events.append(.quarantined(name: name, reason: reason, salvaged: salvaged))
        // Opened anew, so that the rows that came in are counted like any others.
        state.writer = try Writer.open(path, options: state.options, repairing: false)
    }

    private static func directory(of path: String) -> String {
        String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    }
}
