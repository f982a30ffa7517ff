internal import Base
internal import SQLite

/// Rows that must go because of the cap or their age. Never a member of a batch that is frozen or about to be.
extension Writer {
    /// At most this many rows are pruned with one write, so that a lowered cap is reached in steps.
    private static let pruneLimit = 100
    /// At most this many rows are pruned with one write where no fix waits to be written.
    private static let shrinkStep = 1000
    /// At most this many events are pruned with one write.
    private static let eventPruneLimit = 16
    /// Rows looked at for their age with one write: more than one, so that it catches up.
    private static let ageLimit = 8
    /// Rows read at once in search of some that no batch holds.
    private static let searchStep = 64

    /// Rows from before these times are deleted for their age.
    ///
    /// - Parameter limit: none is for more than what lies before this.
    func cutoffs(at time: Timestamp, onlyBefore limit: Timestamp?) -> AgeCutoffs {
        func cutoff(_ age: Double) -> Int64 {
            min(time.advanced(bySeconds: -age), limit ?? time).milliseconds
        }
        return AgeCutoffs(
            retention: cutoff(options.retention),
            unsent: options.holdsRows ? nil : options.unsentRetention.map(cutoff))
    }

    /// What the rules of retention say must go, oldest first, once another row has been written.
    ///
    /// - Parameter cutoffs: older rows are deleted for their age; nil: none are.
    mutating func prunable(before cutoffs: AgeCutoffs?) throws(SQLiteError) -> [RetainedRow] {
        var doomed = try overCap(adding: 1, limit: Self.pruneLimit)
        guard let cutoffs else { return doomed }
        let cutoff = cutoffs.retention
        var old =
            try options.isSyncing
            ? uploaded(before: cutoff, limit: Self.ageLimit)
            : oldest(Self.ageLimit).filter { $0.key.ts < cutoff }
        let most = options.isSyncing ? ledger.mostOwedToNobodyConfigured.locations : 0
        if most > 0 {
            let seqs = ledger.owedToNobodyConfigured.locations
            old += try oldest(min(Self.ageLimit, most), pendingIn: seqs, before: cutoff)
        }
        if let cutoff = cutoffs.unsent { old += try unsent(before: cutoff) }
        for var row in old where !doomed.contains(where: { $0.key == row.key }) {
            row.isOld = true
            doomed.append(row)
        }
        return doomed
    }

    /// The oldest pending rows outside every batch, whoever is owed them.
    private mutating func unsent(before cutoff: Int64) throws(SQLiteError) -> [RetainedRow] {
        guard let first = ledger.firstPending, first.ts < cutoff else { return [] }
        let (found, end) = try search(
            Self.ageLimit, from: max(first, ledger.unsentFrom), before: cutoff
        ) { !$0.isUploaded }
        // The last page may reach beyond the cutoff.
        ledger.unsentFrom = found.first?.key ?? min(end, RowKey(ts: cutoff, seq: .min))
        return found
    }

    /// The rows that exceed the cap once `count` more have been written: first those that everybody has received; then
    /// those that only destinations are owed which are not configured any more; then those that `main` has; then the
    /// oldest.
    private mutating func overCap(adding count: Int = 0, limit: Int) throws(SQLiteError) -> [RetainedRow] {
        let surplus = min(ledger.locations.rows + count - rowLimit, limit)
        guard surplus > 0 else { return [] }
        var doomed = try uploaded(before: .max, limit: surplus)
        func add(_ rows: [RetainedRow]) {
            // Those that are counted already lie among them.
            let more = rows.filter { row in !row.isUploaded && !doomed.contains { $0.key == row.key } }
            doomed += more.prefix(surplus - doomed.count)
        }
        for (seqs, count) in classes() where doomed.count < surplus && count > 0 {
            add(try oldest(min(surplus, count), pendingIn: seqs))
        }
        if doomed.count < surplus { add(try oldest(surplus)) }
        return doomed
    }

    /// Which numbers go before the oldest, and how many of them there may be outside every batch.
    private func classes() -> [(seqs: SeqSet, count: Int)] {
        guard ledger.hasDebts else { return [] }
        let reserved = SeqSet(ledger.reserved.flatMap(\.seqs.ranges))
        let all = [
            (ledger.owedToNobodyConfigured.locations, ledger.mostOwedToNobodyConfigured.locations),
            (ledger.hadByMain.locations, ledger.countHadByMain),
        ]
        return all.map { seqs, count in (seqs, count - reserved.intersection(seqs).count) }
    }

    /// One step towards a cap that has been lowered, without a new fix.
    ///
    /// - Returns: whether another step is to follow.
    mutating func shrink() throws(SQLiteError) -> Bool {
        let pruned = try overCap(limit: Self.shrinkStep)
        guard !pruned.isEmpty else { return false }
        let lost = ledger.losses(of: pruned, \.locations)
        try db.transaction { () throws(SQLiteError) in
            try tables.locations.remove(pruned)
            try tables.counters.add(lost)
            try writeTail()
        }
        ledger.lost(lost)
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
        let (found, end) = try search(limit, from: ledger.prunableFrom, before: .max) { _ in true }
        ledger.prunableFrom = found.first?.key ?? end
        return found
    }

    /// The oldest pending rows outside every batch with these numbers.
    private func oldest(
        _ limit: Int, pendingIn seqs: SeqSet, before cutoff: Int64 = .max
    ) throws(SQLiteError) -> [RetainedRow] {
        try search(limit, from: ledger.prunableFrom, before: cutoff) {
            !$0.isUploaded && seqs.contains($0.key.seq)
        }.found
    }

    private func search(
        _ limit: Int, from start: RowKey, before cutoff: Int64, where isMeant: (RetainedRow) -> Bool
    ) throws(SQLiteError) -> (found: [RetainedRow], end: RowKey) {
        let reserved = ledger.reserved
        var step = limit
        var found: [RetainedRow] = []
        var from = start
        while found.count < limit, from.ts < cutoff {
            let page = try tables.locations.oldest(from: from, limit: step)
            found += page.filter { row in
                row.key.ts < cutoff && isMeant(row) && !reserved.contains { $0.contains(row.key) }
            }
            guard page.count == step, let last = page.last?.key else { break }
            from = last.next
            step = max(limit, Self.searchStep)
        }
        return (Array(found.prefix(limit)), from)
    }

    /// After COMMIT: these locations are deleted.
    mutating func removed(_ rows: [RetainedRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        ledger.locations.removed(rows)
        for name in ledger.names {
            let oldest = ledger[name].locations.oldest
            if ledger[name].removed(rows), let oldest { try findOldestPending(of: name, from: oldest) }
        }
    }

    // MARK: Events

    /// What must go once so many more have been written. The rules are those of the locations, with a cap of their own.
    ///
    /// - Parameter cutoffs: older rows are deleted for their age; nil: none are.
    func prunableEvents(before cutoffs: AgeCutoffs?, besides count: Int) throws(SQLiteError) -> [RetainedRow]
    {
        var doomed = try eventsOverCap(min(ledger.events.rows + count - Events.limit, Self.eventPruneLimit))
        guard let cutoffs, ledger.events.rows > 0 else { return doomed }
        let cutoff = cutoffs.retention
        var old: [RetainedRow] = []
        if !options.isSyncing || ledger.events.uploaded > 0 {
            let rule = "ts < \(cutoff)" + (options.isSyncing ? " AND uploaded <> 0" : "")
            old = try tables.events.oldest(where: rule, besides: reservedEvents, limit: Self.eventPruneLimit)
        }
        if options.isSyncing, ledger.mostOwedToNobodyConfigured.events > 0 {
            old += try tables.events.oldest(
                where: "ts < \(cutoff) AND uploaded = 0", in: ledger.owedToNobodyConfigured.events,
                besides: reservedEvents, limit: Self.eventPruneLimit)
        }
        if let cutoff = cutoffs.unsent, let first = ledger.firstPendingEvent, first.ts < cutoff {
            old += try tables.events.oldest(
                where: "ts < \(cutoff) AND uploaded = 0", besides: reservedEvents, limit: Self.eventPruneLimit
            )
        }
        for var row in old where !doomed.contains(where: { $0.key == row.key }) {
            row.isOld = true
            doomed.append(row)
        }
        return doomed
    }

    /// In the same order as the locations.
    private func eventsOverCap(_ surplus: Int) throws(SQLiteError) -> [RetainedRow] {
        guard surplus > 0 else { return [] }
        var reserved = reservedEvents
        var doomed = try tables.events.oldest(where: "uploaded <> 0", besides: reserved, limit: surplus)
        let classes =
            ledger.hasDebts
            ? [ledger.owedToNobodyConfigured.events, ledger.hadByMain.events, .everything] : [.everything]
        for seqs in classes where doomed.count < surplus {
            let more = try tables.events.oldest(
                where: "uploaded = 0", in: seqs, besides: reserved, limit: surplus - doomed.count)
            reserved.formUnion(SeqSet(more.map { $0.key.seq...$0.key.seq }))
            doomed += more
        }
        return doomed
    }

    /// How many of the wanted events have room, and which must go for that; see `room(for:)` for locations.
    func eventRoom(for wanted: Int) throws(SQLiteError) -> (count: Int, doomed: [RetainedRow]) {
        let free = max(Events.limit - ledger.events.rows, 0)
        let doomed =
            wanted > free
            ? try tables.events.oldest(where: "uploaded = 1", besides: reservedEvents, limit: wanted - free)
            : []
        return (min(wanted, free + doomed.count), doomed)
    }

    private var reservedEvents: SeqSet {
        SeqSet(ledger.reserved.flatMap(\.events.ranges))
    }

    /// After COMMIT: these events are deleted.
    mutating func removed(events rows: [RetainedRow]) throws(SQLiteError) {
        guard !rows.isEmpty else { return }
        ledger.events.removed(rows)
        ledger.untimedEvents -= rows.count { $0.key.ts == RowKey.untimed }
        for name in ledger.names where ledger[name].removed(events: rows) { try countPendingEvents(of: name) }
    }
}

/// Milliseconds: rows from before these times are deleted for their age.
struct AgeCutoffs: Equatable, Sendable {
    /// Cutoff of rows that everybody has received, or that no configured destination is to get.
    var retention: Int64
    /// Cutoff of rows that are pending, for whatever destination; nil: none are deleted.
    var unsent: Int64?
}

extension Losses {
    /// Losses among the rows to be deleted: those that no backend has received.
    init(of pruned: [RetainedRow]) {
        self.init(
            dropped: pruned.count { !$0.isUploaded && !$0.isOld },
            pruned: pruned.count { !$0.isUploaded && $0.isOld })
    }
}
