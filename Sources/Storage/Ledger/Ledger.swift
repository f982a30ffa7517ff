/// What is known of the rows without asking the database. A value, changed only once a transaction has been committed.
///
/// Only sequence numbers may run ahead of the database: one that is skipped does no harm, one that is given twice does.
struct Ledger: Equatable, Sendable {
    var locations = Tally()
    var events = Tally()
    var queue = BatchQueue()
    var sessions = KnownSessions()
    var extras = KnownExtras()
    /// As the counters in the database say.
    var losses = Losses()
    /// Whether there have been dead letters since the latest acknowledgement.
    var hasStreak = false
    /// The lowest sequence number given to a location: those of re-queued rows count down from 0.
    private(set) var lowestSeq: Int64 = 0
    /// No uploaded location lies before this one.
    var uploadedFrom = RowKey.first

    /// A batch without its bytes.
    struct Frozen: Equatable, Sendable {
        var key: Int64
        var members: BatchMembers
        /// The latest answer was a permanent refusal.
        var isPermanent: Bool

        func isOf(_ batch: FrozenBatch?) -> Bool {
            key == batch?.key && members == batch?.members
        }
    }

    /// Dead letters of all kinds.
    var rejected: Int { locations.rejected + events.rejected }

    /// The sessions with pending rows besides those of `sent`, oldest first.
    func sessionsLeft(after sent: FrozenBatch?) -> [Int64] {
        func left(_ pending: [Int64: Int], _ count: Int?) -> [Int64] {
            pending.filter { $0.key != sent?.members.session || $0.value > count ?? 0 }.map(\.key)
        }
        return Set(left(locations.pending, sent?.locations) + left(events.pending, sent?.events)).sorted()
    }

    /// Where the pending locations of a session begin. Behind a batch without gaps none of its rows need be read again
    /// and skipped.
    func pendingFrom(session: Int64, after sent: BatchMembers?) -> RowKey? {
        if let sent, sent == queue.gapless, sent.session == session, sent.count > 0 { return sent.last.next }
        return locations.oldestPending
    }

    // MARK: Changes

    /// A new fix has been stored.
    mutating func inserted(_ row: LocationRow, in session: CurrentSession) {
        locations.pass(row.key.seq)
        add(row.key, session: row.session)
        sessions.current = session
    }

    mutating func inserted(_ rows: [EventRow]) {
        for row in rows {
            events.pass(row.key.seq)
            events.add(row.key, session: row.session)
        }
    }

    /// Locations are pending again, under the numbers below `lowestSeq`, in this order.
    mutating func returned(_ rows: [(ts: Int64, session: Int64)]) {
        for row in rows {
            lowestSeq -= 1
            add(RowKey(ts: row.ts, seq: lowestSeq), session: row.session)
        }
    }

    private mutating func add(_ key: RowKey, session: Int64) {
        locations.add(key, session: session)
        queue.added(key)
    }

    mutating func acknowledged(_ batch: FrozenBatch, locations count: Int, areKept: Bool) {
        queue.remove(batch)
        locations.acknowledge(count, session: batch.members.session, areKept: areKept)
        if areKept { uploadedFrom = min(uploadedFrom, batch.members.first) }
    }

    // MARK: Numbers

    /// What has been numbered. Numbers are not reused in the next database: the uploader, and a deletion that is under
    /// way, identify rows by them.
    struct Numbers: Equatable, Sendable {
        var next: Int64 = 1
        var nextEvent: Int64 = 1
        var lowest: Int64 = 0

        mutating func cover(_ other: Numbers) {
            next = max(next, other.next)
            nextEvent = max(nextEvent, other.nextEvent)
            lowest = min(lowest, other.lowest)
        }
    }

    var numbers: Numbers {
        Numbers(next: locations.nextSeq, nextEvent: events.nextSeq, lowest: lowestSeq)
    }

    mutating func cover(_ other: Numbers) {
        locations.pass(other.next - 1)
        events.pass(other.nextEvent - 1)
        lowestSeq = min(lowestSeq, other.lowest)
    }
}

extension Ledger.Numbers {
    /// Those that a deletion covers, which covers nothing that comes later, even if all that it covers has gone.
    init(past bounds: Deletion.Bounds) {
        self.init(next: Bounded.seq(bounds.maxSeq) + 1, nextEvent: Bounded.seq(bounds.maxEventSeq) + 1)
    }
}
