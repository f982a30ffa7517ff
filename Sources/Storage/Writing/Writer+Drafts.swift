internal import Base
internal import SQLite

/// What the next batch carries.
extension Writer {
    /// The rows for the next batch: the oldest session with pending rows, its oldest rows, all stored under the same
    /// extras. nil when nothing is pending, or a frozen batch goes first.
    ///
    /// - Parameter sent: a batch that is taken for acknowledged.
    mutating func draftBatch(limit: Int, after sent: FrozenBatch? = nil) throws(SQLiteError) -> BatchDraft? {
        let isNext = sent.map { ledger.queue.isAlone($0) } ?? ledger.queue.frozen.isEmpty
        for session in isNext ? ledger.sessionsLeft(after: sent) : [] {
            let locations = try pendingLocations(of: session, limit: limit, besides: sent?.members)
            let hasEvents = ledger.events.pending[session] != nil
            let events = hasEvents ? try tables.events.pending(of: session, limit: limit) : []
            let oldest = [
                locations.first.map { ($0.key, $0.extras) }, events.first.map { ($0.key, $0.extras) },
            ]
            // An unreadable session does not hold up the others.
            guard let version = oldest.compactMap(\.self).min(by: { $0.0 < $1.0 })?.1 else { continue }
            guard let id = ledger.sessions.ids[session] else { return nil }
            let isUniform = locations.allSatisfy { $0.extras == version }
            let rows = isUniform ? locations : locations.filter { $0.extras == version }
            let eventRows = events.filter { $0.extras == version }
            let members = members(of: rows, eventRows, session: session, extras: version)
            ledger.queue.drafted(members, changes: db.totalChanges, isGapless: isUniform)
            return draft(of: rows, eventRows, members, session: id)
        }
        ledger.queue.dropDraft()
        return nil
    }

    private func pendingLocations(
        of session: Int64, limit: Int, besides sent: BatchMembers?
    ) throws(SQLiteError) -> [LocationRow] {
        guard let expected = ledger.locations.pending[session],
            let start = ledger.pendingFrom(session: session, after: sent)
        else { return [] }
        return try tables.locations.pending(
            of: session, id: ledger.sessions.ids[session], from: start, limit: limit, besides: sent,
            expected: expected)
    }

    private func members(
        of rows: [LocationRow], _ events: [EventRow], session: Int64, extras: Int64
    ) -> BatchMembers {
        var members = BatchMembers(
            session: session, extras: extras, first: BatchMembers.none.first, last: BatchMembers.none.last,
            maxSeq: ledger.locations.nextSeq - 1, minSeq: ledger.lowestSeq, count: rows.count,
            events: events.count)
        if let first = rows.first, let last = rows.last {
            (members.first, members.last) = (first.key, last.key)
        }
        return members
    }

    private func draft(
        of rows: some Collection<LocationRow>, _ events: some Collection<EventRow>, _ members: BatchMembers,
        session: UUIDv7
    ) -> BatchDraft {
        BatchDraft(
            session: session, extras: ledger.extras.json(of: members.extras),
            locations: rows.map(\.location), events: events.map { $0.event(session: session) },
            members: members, eventKeys: events.map(\.key))
    }

    /// Whether all rows of the draft are still there; none can have joined them.
    func isComplete(_ draft: BatchDraft, isUntouched: Bool = false) throws(SQLiteError) -> Bool {
        if isUntouched { return true }
        guard try tables.locations.count(draft.members) == Int64(draft.members.count) else { return false }
        return try tables.events.arePending(draft.eventKeys)
    }

    func isUntouched(_ draft: BatchDraft) -> Bool {
        ledger.queue.isUntouched(draft, changes: db.totalChanges)
    }

    /// The rows of a batch in two halves, each as a draft of its own: locations and events first, then each of them.
    func halves(of batch: FrozenBatch) throws(SQLiteError) -> [BatchDraft] {
        let ids = ledger.sessions.ids
        let rows = try tables.locations.members(batch.members, sessionID: { ids[$0] })
        let events = try tables.events.members(of: batch)
        if rows.isEmpty || events.isEmpty {
            let (middle, eventMiddle) = (rows.count / 2, events.count / 2)
            return [
                half(of: batch, rows[..<middle], events[..<eventMiddle]),
                half(of: batch, rows[middle...], events[eventMiddle...]),
            ]
        }
        return [half(of: batch, rows[...], []), half(of: batch, [], events[...])]
    }

    private func half(
        of batch: FrozenBatch, _ rows: ArraySlice<LocationRow>, _ events: ArraySlice<EventRow>
    ) -> BatchDraft {
        var members = batch.members
        members.first = rows.first?.key ?? BatchMembers.none.first
        members.last = rows.last?.key ?? BatchMembers.none.last
        (members.count, members.events) = (rows.count, events.count)
        return draft(of: rows, events, members, session: batch.session)
    }
}
