internal import Base
internal import Tracking

/// What is known of the rows without asking the database. A value, changed only once a transaction has been committed.
///
/// Only sequence numbers may run ahead of the database: one that is skipped does no harm, one that is given twice does.
struct Ledger: Equatable, Sendable {
    var locations = Tally()
    var events = Tally()
    /// Events of which the time is not known yet.
    var untimedEvents = 0
    /// Backlogs of `main`, and of each destination that may have something to get, in the order of their names.
    private(set) var backlogs = [Backlog(name: .main, owed: .everything)]
    var sessions = KnownSessions()
    var extras = KnownExtras()
    /// Rows that nobody has received, as the counters in the database say.
    var losses = Losses()
    /// What is left to do for the commands of servers; empty where there is nothing.
    var commands: [DestinationName: CommandCounts] = [:]
    /// No uploaded location lies before this one.
    var uploadedFrom = RowKey.first
    private var prunable = Prunable()
    private var unsent = Prunable()

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

    /// Where a search for rows outside every batch begins.
    private struct Prunable: Equatable, Sendable {
        var from = RowKey.first
        /// The stamp of the queues when the place was found.
        var stamp = 0
    }

    // MARK: Destinations

    /// A destination that is not known is owed nothing, and a change to it has no effect.
    subscript(_ name: DestinationName) -> Backlog {
        get { backlogs.first { $0.name == name } ?? Backlog(name: name) }
        _modify {
            if let index = backlogs.firstIndex(where: { $0.name == name }) {
                yield &backlogs[index]
            } else {
                var unknown = Backlog(name: name)
                yield &unknown
            }
        }
    }

    /// `main` first, the others by name.
    var names: [DestinationName] { backlogs.map(\.name) }

    /// Each debt is written down; otherwise `main` is owed everything.
    private(set) var hasDebts = false

    /// Replaces what is known of the destinations. Without any, `main` is owed everything.
    mutating func replace(backlogs new: [Backlog]) {
        hasDebts = !new.isEmpty
        let all = new.isEmpty ? [Backlog(name: .main, owed: .everything)] : new
        backlogs = all.sorted { $0.name < $1.name }
        prunable = Prunable(stamp: -1)
        unsent = prunable
    }

    /// What the others are owed.
    func owed(besides name: DestinationName) -> Backlog.Owed {
        var owed = Backlog.Owed()
        for backlog in backlogs where backlog.name != name {
            owed.locations.formUnion(backlog.owed.locations)
            owed.events.formUnion(backlog.owed.events)
        }
        return owed
    }

    /// What any of the others has received, or refused.
    func settled(besides name: DestinationName) -> Backlog.Owed {
        var settled = Backlog.Owed()
        for backlog in backlogs where backlog.name != name {
            settled.locations.formUnion(backlog.offered.locations.subtracting(backlog.owed.locations))
            settled.events.formUnion(backlog.offered.events.subtracting(backlog.owed.events))
        }
        return settled
    }

    /// The rows that nobody is owed, or only destinations that are not configured any more.
    var owedToNobodyConfigured: Backlog.Owed {
        backlogs.filter { !$0.isOrphaned }.reduce(.everything) { $0.subtracting($1.owed) }
    }

    /// The rows that `main` is not owed.
    var hadByMain: Backlog.Owed { .everything.subtracting(self[.main].owed) }

    /// At most so many pending locations, and events, are owed to nobody that is configured: where there are none, no table
    /// need be searched for them.
    var mostOwedToNobodyConfigured: (locations: Int, events: Int) {
        guard hasDebts else { return (0, 0) }
        let configured = backlogs.filter { !$0.isOrphaned }
        return (
            locations.rows - locations.uploaded - (configured.map(\.locations.count).max() ?? 0),
            events.rows - events.uploaded - (configured.map(\.events.count).max() ?? 0)
        )
    }

    /// The pending locations that `main` is not owed.
    var countHadByMain: Int { locations.rows - locations.uploaded - self[.main].locations.count }

    /// Dead letters of all kinds and destinations.
    var rejected: Int { backlogs.reduce(0) { $0 + $1.rejected } }

    /// What neither the cap nor age may take.
    var reserved: [BatchMembers] { backlogs.flatMap(\.queue.reserved) }

    // MARK: Changes

    /// A new fix has been stored.
    mutating func inserted(_ row: LocationRow, in session: CurrentSession) {
        locations.pass(row.key.seq)
        locations.added()
        owe(row.key, session: row.session)
        sessions.current = session
    }

    mutating func inserted(_ rows: [EventRow]) {
        for row in rows {
            events.pass(row.key.seq)
            events.added()
            if !row.time.isKnown { untimedEvents += 1 }
            guard row.custody == .pending else {
                events.paid(1, areKept: true)
                continue
            }
            guard row.time.isKnown else { continue }
            for index in backlogs.indices { backlogs[index].added(event: row.key, session: row.session) }
        }
    }

    /// A location is pending for all that are owed its number.
    private mutating func owe(_ key: RowKey, session: Int64) {
        searchFrom(key)
        for index in backlogs.indices { backlogs[index].added(key, session: session) }
    }

    /// A location that came back is pending for this one.
    mutating func owe(_ key: RowKey, session: Int64, to name: DestinationName) {
        searchFrom(key)
        self[name].added(key, session: session)
    }

    /// A destination is no longer owed the rows of the batch, which is gone.
    mutating func paid(_ batch: FrozenBatch, _ payment: Payment) {
        let session = batch.members.session
        locations.paid(payment.settled.locations, areKept: false)
        locations.paid(payment.kept.locations, areKept: true)
        events.paid(payment.settled.events, areKept: false)
        events.paid(payment.kept.events, areKept: true)
        self[batch.destination].queue.remove(batch)
        self[batch.destination].owed = payment.owed
        self[batch.destination].locations.subtract(payment.locations, session: session)
        self[batch.destination].events.subtract(payment.events, session: session)
        if payment.kept.locations > 0, let first = batch.members.first {
            uploadedFrom = min(uploadedFrom, first)
        }
    }

    mutating func lost(_ account: LossAccount) {
        losses = losses + account.all
        for (name, lost) in account.byName { self[name].losses = self[name].losses + lost }
    }

    /// What is lost with rows that are to be deleted.
    func losses(of rows: [RetainedRow], _ owed: (Backlog.Owed) -> SeqSet) -> LossAccount {
        var account = LossAccount(all: Losses(of: rows))
        guard hasDebts, account.all != Losses() else { return account }
        for backlog in backlogs {
            let own = rows.filter { owed(backlog.owed).contains($0.key.seq) }
            account.byName[backlog.name] = Losses(of: own)
        }
        return account
    }

    // MARK: Pruning

    /// What lies before this one belongs to a batch.
    var prunableFrom: RowKey {
        get { prunable.stamp == queueStamp ? prunable.from : .first }
        set { prunable = Prunable(from: newValue, stamp: queueStamp) }
    }

    /// What lies before this one belongs to a batch, or is pending no longer.
    var unsentFrom: RowKey {
        get { unsent.stamp == queueStamp ? unsent.from : .first }
        set { unsent = Prunable(from: newValue, stamp: queueStamp) }
    }

    /// No location that is pending lies before this one; nil when none is pending.
    var firstPending: RowKey? { firstPending(of: locations) { $0.locations } }

    /// No event that is pending lies before this one; nil when none is pending.
    var firstPendingEvent: RowKey? { firstPending(of: events) { $0.events } }

    private func firstPending(of tally: Tally, _ pending: (Backlog) -> Pending) -> RowKey? {
        let count = tally.rows - tally.uploaded
        guard count > 0 else { return nil }
        // Unless somebody is owed them all, some may be owed to nobody.
        guard !hasDebts || backlogs.contains(where: { pending($0).count == count }) else { return .first }
        return backlogs.compactMap { pending($0).oldest }.min()
    }

    private mutating func searchFrom(_ key: RowKey) {
        prunable.from = min(prunable.from, key)
        unsent.from = min(unsent.from, key)
    }

    private var queueStamp: Int { backlogs.reduce(0) { $0 &+ $1.queue.stamp } }

    // MARK: Numbers

    /// What has been numbered. Numbers are not reused in the next database: the uploader, and a deletion that is under
    /// way, identify rows by them.
    struct Numbers: Equatable, Sendable {
        var next: Int64 = 1
        var nextEvent: Int64 = 1

        mutating func cover(_ other: Numbers) {
            next = max(next, other.next)
            nextEvent = max(nextEvent, other.nextEvent)
        }
    }

    var numbers: Numbers { Numbers(next: locations.nextSeq, nextEvent: events.nextSeq) }

    mutating func cover(_ other: Numbers) {
        locations.pass(other.next - 1)
        events.pass(other.nextEvent - 1)
    }
}

extension Ledger.Numbers {
    /// The numbers past a deletion, which covers nothing that comes later, even if all that it covers has
    /// gone.
    init(past bounds: Deletion.Bounds) {
        self.init(next: Bounded.seq(bounds.maxSeq) + 1, nextEvent: Bounded.seq(bounds.maxEventSeq) + 1)
    }
}
