internal import Base

/// What one destination is owed, and what is under way to it.
struct Backlog: Equatable, Sendable {
    let name: DestinationName
    var locations = Pending()
    var events = Pending()
    var owed = Owed()
    var queue = FrozenBatches()
    /// Whether there have been dead letters since the latest acknowledgement.
    var hasStreak = false
    /// What it has ever been owed: what lies outside was stored before it was added, or while it was not configured.
    var offered = Owed.everything
    /// The destination is not configured any more.
    var isOrphaned = false
    /// The first trusted time since then.
    var orphanedAt: Timestamp?
    /// Rows of it that are gone without having arrived.
    var losses = Losses()

    init(name: DestinationName, owed: Owed = Owed()) {
        self.name = name
        self.owed = owed
    }

    /// The numbers of the rows, of those that are stored and not yet received by all.
    struct Owed: Equatable, Sendable {
        var locations = SeqSet()
        var events = SeqSet()

        static let everything = Owed(locations: .everything, events: .everything)

        func subtracting(_ other: Owed) -> Owed {
            Owed(locations: locations.subtracting(other.locations), events: events.subtracting(other.events))
        }

        func intersection(_ other: Owed) -> Owed {
            Owed(
                locations: locations.intersection(other.locations), events: events.intersection(other.events))
        }
    }

    /// Dead letters of all kinds.
    var rejected: Int { locations.rejected + events.rejected }

    /// Locations and events.
    var pending: Int { locations.count + events.count }

    var oldest: RowKey? { [locations.oldest, events.oldest].compactMap(\.self).min() }

    /// The sessions with pending rows besides those of `sent`, oldest first.
    func sessionsLeft(after sent: BatchMembers?) -> [Int64] {
        func left(_ pending: [Int64: Int], _ count: Int) -> [Int64] {
            pending.filter { $0.key != sent?.session || $0.value > count }.map(\.key)
        }
        let sessions = left(locations.bySession, sent?.count ?? 0)
        return Set(sessions + left(events.bySession, sent?.events.count ?? 0)).sorted()
    }

    /// Where the pending locations of a session begin. Behind a batch without gaps none of its rows need be read again
    /// and skipped.
    func pendingFrom(session: Int64, after sent: BatchMembers?) -> RowKey? {
        if let sent, sent == queue.gapless, sent.session == session, let last = sent.last { return last.next }
        return locations.oldest
    }

    // MARK: Changes

    /// A location has been stored, or is owed again.
    mutating func added(_ key: RowKey, session: Int64) {
        guard owed.locations.contains(key.seq) else { return }
        locations.add(key, session: session)
        queue.added(key)
    }

    mutating func added(event key: RowKey, session: Int64) {
        if owed.events.contains(key.seq) { events.add(key, session: session) }
    }

    /// Rows have been deleted.
    ///
    /// - Returns: whether the oldest pending one is among them, so that the next is to be looked for.
    mutating func removed(_ rows: [RetainedRow]) -> Bool {
        Self.remove(rows, from: &locations, owed: owed.locations)
    }

    mutating func removed(events rows: [RetainedRow]) -> Bool {
        Self.remove(rows, from: &events, owed: owed.events)
    }

    private static func remove(_ rows: [RetainedRow], from pending: inout Pending, owed: SeqSet) -> Bool {
        var isOldestGone = false
        for row in rows where !row.isUploaded && row.key.ts != RowKey.untimed && owed.contains(row.key.seq) {
            pending.subtract(1, session: row.session)
            isOldestGone = isOldestGone || row.key == pending.oldest
        }
        return isOldestGone
    }
}
