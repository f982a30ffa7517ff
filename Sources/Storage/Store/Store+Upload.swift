package import Base
internal import SQLite

/// What the uploader thread asks for: batches, from their draft to what became of them.
extension Store {
    /// The frozen batch that goes next.
    @available(*, noasync, message: "blocks on the disk")
    package func nextFrozen(for destination: DestinationName = .main) throws(StorageError) -> FrozenBatch? {
        try perform("read batch") { (writer) throws(SQLiteError) in
            try writer.nextFrozen(for: destination)
        }
    }

    /// The rows that the next batch should carry; nil when nothing is pending or a batch is frozen already.
    ///
    /// - Parameters:
    ///   - asOne: one location or one event, whichever is older, or newer; otherwise up to `limit` of each.
    ///   - order: which of them.
    @available(*, noasync, message: "blocks on the disk")
    package func draftBatch(
        for destination: DestinationName = .main, limit: Int, asOne: Bool = false, order: BatchOrder = .oldest
    ) throws(StorageError) -> BatchDraft? {
        try perform("draft batch") { (writer) throws(SQLiteError) in
            try writer.draftBatch(for: destination, limit: limit, asOne: asOne, order: order)
        }
    }

    /// The rows of the batch behind one that has been sent, to be frozen with its acknowledgement; nil when nothing else is
    /// pending, or other batches are frozen.
    @available(*, noasync, message: "blocks on the disk")
    package func draftBatch(
        limit: Int, asOne: Bool = false, order: BatchOrder = .oldest, after batch: FrozenBatch
    ) throws(StorageError) -> BatchDraft? {
        try perform("draft batch") { (writer) throws(SQLiteError) in
            try writer.draftBatch(
                for: batch.destination, limit: limit, asOne: asOne, order: order, after: writer.known(batch))
        }
    }

    /// Commits the batch; nil when the user deleted some of its rows since it was drafted.
    @available(*, noasync, message: "blocks on the disk")
    package func freeze(_ draft: BatchDraft, id: UUIDv7, _ request: StoredRequest) throws(StorageError)
        -> FrozenBatch?
    {
        try performAtAnyCost("freeze batch") { (writer) throws(SQLiteError) in
            try writer.freeze(draft, id: id, request)
        }
    }

    /// A complete 2xx: the rows leave, or are marked, in one transaction. Returns how many.
    @available(*, noasync, message: "blocks on the disk")
    package func acknowledge(_ batch: FrozenBatch) throws(StorageError) -> Int {
        try performAtAnyCost("acknowledge") { (writer) throws(SQLiteError) in
            try writer.acknowledge(writer.known(batch)).rows
        }
    }

    /// Acknowledges a batch, and freezes the next one in the same transaction: one sync instead of two.
    /// Nothing is frozen when the user deleted some of its rows since it was drafted.
    @available(*, noasync, message: "blocks on the disk")
    package func acknowledge(
        _ batch: FrozenBatch, freezing draft: BatchDraft, id: UUIDv7, _ request: StoredRequest
    ) throws(StorageError) -> Int {
        try performAtAnyCost("acknowledge") { (writer) throws(SQLiteError) in
            try writer.acknowledge(writer.known(batch), freezing: (draft, id, request)).rows
        }
    }

    /// A 400 or 422: the rows become dead letters, unless that raises the suspicion that the endpoint is at fault.
    ///
    /// - Parameters:
    ///   - reason: what the server said, bounded and without secrets: it is kept with each row.
    ///   - trusted: the time by which dead letters grow old; nil when no clock can be trusted.
    ///   - isProbed: its row is known to be at fault, and the endpoint is not.
    @available(*, noasync, message: "blocks on the disk")
    package func reject(
        _ batch: FrozenBatch, status: Int, reason: String? = nil, at time: Timestamp,
        trusted: Timestamp? = nil, isProbed: Bool = false
    ) throws(StorageError) -> Rejection {
        return try performAtAnyCost("reject") { (writer) throws(SQLiteError) in
            try writer.reject(
                writer.known(batch), because: Refusal(status: status, reason: reason, time: time),
                trusted: trusted, isProbed: isProbed)
        }
    }

    /// How the newest of the dead letters were refused; nil: there are none.
    @available(*, noasync, message: "blocks on the disk")
    package func newestRefusal(by destination: DestinationName) throws(StorageError) -> Refusal? {
        try perform("read dead letters") { (writer) throws(SQLiteError) in
            try writer.tables.deadLetters.newest(of: destination)
        }
    }

    /// What the destination has made of what it got lately.
    @available(*, noasync, message: "blocks on the disk")
    package func refusals(by destination: DestinationName) throws(StorageError) -> Refusals {
        try perform("read refusals") { (writer) throws(SQLiteError) in
            try Refusals(by: destination, in: writer.tables.counters)
        }
    }

    /// Durable when it returns. A change of the endpoint or of the format begins anew.
    @available(*, noasync, message: "blocks on the disk")
    package func set(_ refusals: Refusals, by destination: DestinationName) throws(StorageError) {
        try performAtAnyCost("count refusal") { (writer) throws(SQLiteError) in
            try writer.db.transaction { () throws(SQLiteError) in
                try refusals.write(by: destination, to: writer.tables.counters)
            }
        }
    }

    /// A number for the url of the broker that has accepted MQTT 5; 0: none has.
    @available(*, noasync, message: "blocks on the disk")
    package func knownBroker(of destination: DestinationName) throws(StorageError) -> Int64 {
        try perform("read broker") { (writer) throws(SQLiteError) in
            try writer.tables.counters.value(.knownBroker, of: destination)
        }
    }

    /// Durable when it returns.
    @available(*, noasync, message: "blocks on the disk")
    package func set(knownBroker number: Int64, of destination: DestinationName) throws(StorageError) {
        try performAtAnyCost("note broker") { (writer) throws(SQLiteError) in
            try writer.tables.counters.set(.knownBroker, of: destination, to: number)
        }
    }

    /// The batch behind one that is frozen first, if it is frozen.
    @available(*, noasync, message: "blocks on the disk")
    package func frozenBehind(_ batch: FrozenBatch) throws(StorageError) -> FrozenBatch? {
        try perform("read batch") { (writer) throws(SQLiteError) in
            try writer.frozenBehind(writer.known(batch))
        }
    }

    /// Ends the debt of a destination that cannot be sent these rows, and counts it. Whoever asks for it says why: it is no
    /// news for `takeLosses`.
    ///
    /// - Returns: how many there were.
    @available(*, noasync, message: "blocks on the disk")
    package func drop(_ draft: BatchDraft) throws(StorageError) -> Int {
        try performSilently("drop") { (writer) throws(SQLiteError) in try writer.drop(draft) }
    }

    /// Counts a rejection without moving the rows.
    ///
    /// - Returns: whether the endpoint is now suspected: three batches in a row were rejected, with none accepted between.
    @available(*, noasync, message: "blocks on the disk")
    package func countRejection(of batch: FrozenBatch) throws(StorageError) -> Bool {
        try performAtAnyCost("count rejection") { (writer) throws(SQLiteError) in
            try writer.countRejection(of: writer.known(batch))
        }
    }

    /// The rows of a rejected batch in two halves, for the search for poison rows.
    @available(*, noasync, message: "blocks on the disk")
    package func halves(of batch: FrozenBatch) throws(StorageError) -> [BatchDraft] {
        try perform("halve batch") { (writer) throws(SQLiteError) in
            try writer.halves(of: writer.known(batch))
        }
    }

    /// Puts the pieces in the batch's place.
    @available(*, noasync, message: "blocks on the disk")
    package func split(
        _ batch: FrozenBatch, into pieces: [(draft: BatchDraft, id: UUIDv7, request: StoredRequest)]
    ) throws(StorageError) {
        try performAtAnyCost("split batch") { (writer) throws(SQLiteError) in
            try writer.split(writer.known(batch), into: pieces)
        }
    }

    /// The server refused the batch in a way that only a change of configuration can mend.
    @available(*, noasync, message: "blocks on the disk")
    package func markPermanent(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("mark batch") { (writer) throws(SQLiteError) in
            try writer.markPermanent(writer.known(batch))
        }
    }

    /// Records where batches go now, as a number that differs whenever the url or the batch size does. Batches that the
    /// old endpoint refused for good are dissolved; their rows go into new ones. So are all batches of another format.
    ///
    /// - Parameters:
    ///   - former: what a version before would have recorded of the same; nil: the same.
    ///   - format: a number that differs whenever the format does.
    /// - Returns: how many batches have been dissolved for their format.
    @available(*, noasync, message: "blocks on the disk")
    @discardableResult
    package func adopt(
        endpoint: Int64, formerly former: Int64? = nil, format: Int64 = 0,
        of destination: DestinationName = .main
    ) throws(StorageError) -> Int {
        try performAtAnyCost("adopt endpoint") { (writer) throws(SQLiteError) in
            let dissolved = try writer.change(format: format, of: destination)
            try writer.change(endpoint: endpoint, formerly: former, of: destination)
            return dissolved
        }
    }

    /// The batch cannot be sent as it is: its rows go into new ones.
    @available(*, noasync, message: "blocks on the disk")
    package func dissolve(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("dissolve batch") { (writer) throws(SQLiteError) in
            try writer.dissolve(writer.known(batch))
        }
    }

    // MARK: Size

    /// Called before the first byte of an attempt. Commits only if the latest answer to the batch was permanent.
    ///
    /// - Returns: false when the batch has been dissolved meanwhile, by a deletion for example; then it must not be sent.
    @available(*, noasync, message: "blocks on the disk")
    package func beginAttempt(_ batch: FrozenBatch) throws(StorageError) -> Bool {
        try performAtAnyCost("begin attempt") { (writer) throws(SQLiteError) in
            try writer.beginAttempt(writer.known(batch))
        }
    }

    /// Records a 413, or a time-out after bytes were sent.
    ///
    /// - Parameter isPermanent: the answer was a permanent refusal; it is noted in the same transaction.
    /// - Returns: the number of such failures of the batch in a row.
    @available(*, noasync, message: "blocks on the disk")
    package func countOversized(_ batch: FrozenBatch, isPermanent: Bool) throws(StorageError) -> Int {
        try performAtAnyCost("count failure") { (writer) throws(SQLiteError) in
            try writer.countOversized(writer.known(batch), isPermanent: isPermanent)
        }
    }

    /// Records any other answer to the batch.
    @available(*, noasync, message: "blocks on the disk")
    package func forgetOversized(_ batch: FrozenBatch) throws(StorageError) {
        try performAtAnyCost("forget failures") { (writer) throws(SQLiteError) in
            try writer.forgetOversized(batch)
        }
    }

    /// Dissolves the next batch if it has failed three times in a row because of its size or its time. Its rows may
    /// then arrive twice, under different batch ids.
    @available(*, noasync, message: "blocks on the disk")
    package func rebatch(for destination: DestinationName = .main) throws(StorageError) -> Rebatch {
        try performAtAnyCost("dissolve batch") { (writer) throws(SQLiteError) in
            try writer.rebatch(for: destination)
        }
    }

    // MARK: Commands of servers

    // A command is written down with the acknowledgement that it came with, run after that, and its result is written after
    // its effect: what was under way when the power failed is run once more.

    /// A complete 2xx that carried commands: the same as without, and they are written down in the same transaction.
    ///
    /// - Parameters:
    ///   - next: a batch that is frozen in it as well.
    ///   - commands: nil: none.
    @available(*, noasync, message: "blocks on the disk")
    package func acknowledge(
        _ batch: FrozenBatch, freezing next: (draft: BatchDraft, id: UUIDv7, request: StoredRequest)? = nil,
        journaling commands: CommandList?
    ) throws(StorageError) -> Journaling {
        try performAtAnyCost("acknowledge") { (writer) throws(SQLiteError) in
            try writer.acknowledge(writer.known(batch), freezing: next, journaling: commands).journaled
        }
    }

    /// A complete 2xx to a request without rows: its results are known to the server, and commands that came with the
    /// answer are written down, in one transaction.
    ///
    /// - Parameters:
    ///   - commands: nil: none.
    ///   - results: those that the request carried.
    @available(*, noasync, message: "blocks on the disk")
    package func journal(
        _ commands: CommandList?, sent results: [CommandRecord] = []
    ) throws(StorageError) -> Journaling {
        try performAtAnyCost("write commands") { (writer) throws(SQLiteError) in
            try writer.journal(commands, sent: results)
        }
    }

    /// What the journal knows of these commands.
    @available(*, noasync, message: "blocks on the disk")
    package func knownCommands(
        among commands: [NewCommand], of destination: DestinationName
    ) throws(StorageError) -> KnownCommands {
        try perform("read commands") { (writer) throws(SQLiteError) in
            try writer.tables.commands.known(among: commands, of: destination)
        }
    }

    /// When the latest rows of the journal were added, newest first.
    ///
    /// - Parameter limit: that many at most.
    @available(*, noasync, message: "blocks on the disk")
    package func arrivalsOfCommands(
        of destination: DestinationName, limit: Int
    ) throws(StorageError) -> [Timestamp] {
        try perform("read commands") { (writer) throws(SQLiteError) in
            try writer.tables.commands.arrivals(of: destination, limit: limit)
        }
    }

    /// The oldest command of this destination that has yet to be run.
    ///
    /// - Parameter uploading: one that is left out, because it is under way.
    @available(*, noasync, message: "blocks on the disk")
    package func nextCommand(
        of destination: DestinationName, besides uploading: CommandRecord? = nil
    ) throws(StorageError) -> CommandRecord? {
        try perform("read command") { (writer) throws(SQLiteError) in
            try writer.tables.commands.next(of: destination, besides: uploading)
        }
    }

    /// The command has been run, or refused. Called after its effect is durable.
    ///
    /// - Parameter wasBegun: false: nothing was tried, because its time was over or had not come.
    @available(*, noasync, message: "blocks on the disk")
    package func finish(
        _ command: CommandRecord, with outcome: CommandOutcome, at time: Timestamp, wasBegun: Bool = true
    ) throws(StorageError) {
        try performAtAnyCost("write result") { (writer) throws(SQLiteError) in
            try writer.finish(command, with: outcome, at: time, wasBegun: wasBegun)
        }
    }

    /// Results that the server does not have yet, oldest first.
    @available(*, noasync, message: "blocks on the disk")
    package func queuedResults(
        for destination: DestinationName, limit: Int
    ) throws(StorageError) -> [CommandRecord] {
        try perform("read results") { (writer) throws(SQLiteError) in
            try writer.tables.commands.queued(for: destination, limit: limit)
        }
    }

    /// Commands that nobody is to run any more.
    ///
    /// - Parameters:
    ///   - destination: whose commands are still run; nil: nobody's.
    ///   - error: the reason, for their results.
    /// - Returns: how many there were.
    @available(*, noasync, message: "blocks on the disk")
    package func refuseCommands(
        besides destination: DestinationName?, error: String, at time: Timestamp
    ) throws(StorageError) -> Int {
        try performAtAnyCost("refuse commands") { (writer) throws(SQLiteError) in
            try writer.refuseCommands(besides: destination, error: error, at: time)
        }
    }

    /// Commands of this name that something newer has been wished against: they are not run any more. One that is being run
    /// all the same has its own outcome in the end.
    ///
    /// - Returns: those that there were, as they are now.
    @available(*, noasync, message: "blocks on the disk")
    package func supersedeCommands(named name: String, at time: Timestamp) throws(StorageError)
        -> [CommandRecord]
    {
        try performAtAnyCost("supersede commands") { (writer) throws(SQLiteError) in
            try writer.supersedeCommands(named: name, at: time)
        }
    }

    /// Commands with one of these names that have been done, or are to be.
    @available(*, noasync, message: "blocks on the disk")
    package func commands(named names: [String]) throws(StorageError) -> [CommandRecord] {
        try perform("read commands") { (writer) throws(SQLiteError) in
            try writer.tables.commands.named(names)
        }
    }

    /// The highest number of a signed list that commands came in; nil when there is none.
    ///
    /// - Parameter limit: higher ones do not count.
    @available(*, noasync, message: "blocks on the disk")
    package func highestCommandCounter(upTo limit: Int64 = .max) throws(StorageError) -> Int64? {
        try perform("read counter") { (writer) throws(SQLiteError) in
            try writer.tables.commands.highestCounter(upTo: limit)
        }
    }
}
