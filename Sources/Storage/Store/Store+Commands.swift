package import Base
internal import SQLite

/// The journal of the commands of servers. A command is written down with the acknowledgement that it came with, run after
/// that, and its result is written after its effect: what was under way when the power failed is run once more.
extension Store {
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
