internal import Base
internal import SQLite

/// Rows that must go because of the cap or their age. Never a member of a batch that is frozen or about to be.
extension Writer {
    /// At most this many rows are pruned with one write, so that a lowered cap is reached in steps.
    private static let pruneLimit = 100
    /// The same where no fix waits to be written.
    private static let shrinkStep = 1000
    /// The same for events.
    private static let eventPruneLimit = 16
    /// Rows looked at for their age with one write: more than one, so that it catches up.
    private static let ageLimit = 8
    /// Rows read at once in search of some that no batch holds.
    private static let searchStep = 64

    /// Older rows are deleted for their age.
    func cutoff(at time: Timestamp, onlyBefore limit: Timestamp?) -> Int64 {
        min(time.advanced(bySeconds: -options.retention), limit ?? time).milliseconds
    }

    /// What the rules of retention say must go, oldest first, once another row has been written.
    ///
    /// - Parameter cutoff: older rows are deleted for their age; nil: none are.
    mutating func prunable(before cutoff: Int64?) throws(SQLiteError) -> [RetainedRow] {
        var doomed = try overCap(adding: 1, limit: Self.pruneLimit)
        guard let cutoff else { return doomed }
        var old =
            try options.isSyncing
            ? uploaded(before: cutoff, limit: Self.ageLimit)
            : oldest(Self.ageLimit).filter { $0.key.ts < cutoff }
        for index in old.indices { old[index].isOld = true }
        doomed += old.filter { row in !doomed.contains { $0.key == row.key } }
        return doomed
    }

    /// The rows that exceed the cap once `count` more have been written: first those that a backend has received.
    private mutating func overCap(adding count: Int = 0, limit: Int) throws(SQLiteError) -> [RetainedRow] {
        let surplus = min(ledger.locations.rows + count - rowLimit, limit)
        guard surplus > 0 else { return [] }
        let received = try uploaded(before: .max, limit: surplus)
        guard received.count < surplus else { return received }
        return Array((received + (try oldest(surplus).filter { !$0.isUploaded })).prefix(surplus))
    }

    /// One step towards a cap that has been lowered, without a new fix.
    ///
    /// - Returns: whether another step is to follow.
    mutating func shrink() throws(SQLiteError) -> Bool {
        let pruned = try overCap(limit: Self.shrinkStep)
        guard !pruned.isEmpty else { return false }
        let lost = Losses(of: pruned)
        try db.transaction { () throws(SQLiteError) in
            try tables.locations.remove(pruned)
            try tables.counters.add(lost)
            try writeTail()
        }
        ledger.losses = ledger.losses + lost
        try removed(pruned)
        return ledger.locations.rows > rowLimit
    }

    /// Which rows to delete to make room for `wanted` dead letters, and for how many of these there is room then.
    /// Only rows that a backend has received are deleted for this.
    mutating func room(for wanted: Int) throws(SQLiteError) -> (count: Int, doomed: [RetainedRow]) {
        let free = max(rowLimit - ledger.locations.rows, 0)
        let doomed = wanted > free ? try uploaded(before: .max, limit: wanted - free) : []
        return (min(wanted, free + doomed.count), doomed)
    }

    /// Uploaded rows, oldest first; all of them must be deleted, because the next search begins after them.
    private mutating func uploaded(before cutoff: Int64, limit: Int) throws(SQLiteError) -> [RetainedRow] {
        guard ledger.locations.uploaded > 0 else { return [] }
        let start = ledger.uploadedFrom
        let found = try tables.locations.uploaded(from: start, before: cutoff, limit: limit)
        let last = found.last?.key.next
        let end = found.count < limit ? RowKey(ts: cutoff, seq: .min) : last
        ledger.uploadedFrom = max(start, end ?? start)
        return found
    }

    /// The oldest rows outside every batch.
    private mutating func oldest(_ limit: Int) throws(SQLiteError) -> [RetainedRow] {
        let reserved = ledger.queue.reserved
        var step = limit
        var found: [RetainedRow] = []
        var from = ledger.queue.prunableFrom
        while found.count < limit {
            let page = try tables.locations.oldest(from: from, limit: step)
            found += page.filter { row in !reserved.contains { row.isMember(of: $0) } }
            guard page.count == step, let last = page.last?.key else { break }
            from = last.next
            step = max(limit, Self.searchStep)
        }
        ledger.queue.prunableFrom = found.first?.key ?? from
        return Array(found.prefix(limit))
    }

    /// After COMMIT: these locations are deleted.
    mutating func removed(_ rows: [RetainedRow]) throws(SQLiteError) {
        let oldest = ledger.locations.oldestPending
        if ledger.locations.remove(rows), let oldest { try findOldestPending(from: oldest) }
    }

    // MARK: Events

    /// What must go once so many more have been written. The rules are those of the locations, with a cap of their own.
    ///
    /// - Parameter cutoff: older rows are deleted for their age; nil: none are.
    func prunableEvents(before cutoff: Int64?, besides count: Int) throws(SQLiteError) -> [RetainedRow] {
        let surplus = ledger.events.rows + count - Events.limit
        var doomed =
            surplus > 0 ? try tables.events.oldest(limit: min(surplus, Self.eventPruneLimit)) : []
        if let cutoff, ledger.events.rows > 0, !options.isSyncing || ledger.events.uploaded > 0 {
            let rule = "ts < \(cutoff)" + (options.isSyncing ? " AND uploaded = 1" : "")
            for var row in try tables.events.oldest(where: rule, limit: Self.eventPruneLimit)
            where !doomed.contains(where: { $0.key == row.key }) {
                row.isOld = true
                doomed.append(row)
            }
        }
        return doomed
    }

    /// The same for events as `room(for:)` for locations.
    func eventRoom(for wanted: Int) throws(SQLiteError) -> (count: Int, doomed: [RetainedRow]) {
        let free = max(Events.limit - ledger.events.rows, 0)
        let doomed =
            wanted > free ? try tables.events.oldest(where: "uploaded = 1", limit: wanted - free) : []
        return (min(wanted, free + doomed.count), doomed)
    }

    /// After COMMIT: these events are deleted.
    mutating func removed(events rows: [RetainedRow]) throws(SQLiteError) {
        if ledger.events.remove(rows) { try findOldestPendingEvent() }
    }
}

extension Losses {
    /// Those of the rows to be deleted that no backend has received.
    init(of pruned: [RetainedRow]) {
        self.init(
            dropped: pruned.count { !$0.isUploaded && !$0.isOld },
            pruned: pruned.count { !$0.isUploaded && $0.isOld })
    }
}
