internal import Base
internal import SQLite

/// What the next batch carries.
extension Writer {
    /// The rows for the next batch: the oldest session with pending rows, its oldest rows, all stored under the same
    /// extras; or the newest of each. nil when nothing is pending, or a frozen batch goes first.
    ///
    /// - Parameters:
    ///   - limit: locations, and as many events.
    ///   - asOne: one of either, whichever is older, or newer; at the same time the location.
    ///   - sent: a batch that is taken for acknowledged.
    mutating func draftBatch(
        for destination: DestinationName, limit: Int, asOne: Bool = false, order: BatchOrder = .oldest,
        after sent: FrozenBatch? = nil
    ) throws(SQLiteError) -> BatchDraft? {
        let backlog = ledger[destination]
        let isNext = sent.map { backlog.queue.isAlone($0) } ?? backlog.queue.frozen.isEmpty
        let sessions = isNext ? backlog.sessionsLeft(after: sent?.members) : []
        for session in order == .oldest ? sessions : sessions.reversed() {
            let locations = try pendingLocations(
                of: session, backlog, limit: limit, order: order, besides: sent?.members)
            let hasEvents = backlog.events.bySession[session] != nil
            let owed = backlog.owed.events.subtracting(sent?.members.events ?? SeqSet())
            let events =
                hasEvents
                ? try tables.events.pending(of: session, in: owed, limit: limit, order: order) : []
            // An unreadable session does not hold up the others.
            guard let version = Self.extras(of: locations, events, order) else { continue }
            guard let id = ledger.sessions.ids[session] else { return nil }
            let isUniform = locations.allSatisfy { $0.extras == version }
            var rows = isUniform ? locations : locations.filter { $0.extras == version }
            var eventRows = events.filter { $0.extras == version }
            if asOne, let location = rows.first, let event = eventRows.first {
                let isLocation =
                    order == .oldest ? location.key.ts <= event.key.ts : location.key.ts >= event.key.ts
                if isLocation { eventRows = [] } else { rows = [] }
            }
            let draft = draft(
                of: rows, eventRows, for: destination, session: (session, id), extras: version)
            ledger[destination].queue.drafted(
                draft.members, changes: db.totalChanges, isGapless: isUniform && order == .oldest)
            return draft
        }
        ledger[destination].queue.dropDraft()
        return nil
    }

    /// The extras that the row was stored under that must not be missing.
    private static func extras(of locations: [LocationRow], _ events: [EventRow], _ order: BatchOrder)
        -> Int64?
    {
        func edge(_ location: LocationRow?, _ event: EventRow?) -> [(key: RowKey, extras: Int64)] {
            [location.map { ($0.key, $0.extras) }, event.map { ($0.key, $0.extras) }].compactMap(\.self)
        }
        return switch order {
        case .oldest: edge(locations.first, events.first).min { $0.key < $1.key }?.extras
        case .newest: edge(locations.last, events.last).max { $0.key < $1.key }?.extras
        }
    }

    private func pendingLocations(
        of session: Int64, _ backlog: Backlog, limit: Int, order: BatchOrder, besides sent: BatchMembers?
    ) throws(SQLiteError) -> [LocationRow] {
        guard let expected = backlog.locations.bySession[session],
            let start = backlog.pendingFrom(session: session, after: sent)
        else { return [] }
        if order == .newest {
            return try tables.locations.newestPending(
                of: session, id: ledger.sessions.ids[session], in: backlog.owed.locations, limit: limit,
                besides: sent)
        }
        return try tables.locations.pending(
            of: session, id: ledger.sessions.ids[session], in: backlog.owed.locations, from: start,
            limit: limit, besides: sent, expected: expected)
    }

    private func draft(
        of rows: some Collection<LocationRow>, _ events: some Collection<EventRow>,
        for destination: DestinationName, session: (key: Int64, id: UUIDv7), extras: Int64
    ) -> BatchDraft {
        let sorted = events.events(session: session.id)
        return BatchDraft(
            destination: destination, session: session.id, extras: ledger.extras.json(of: extras),
            locations: rows.map(\.location), events: sorted.crossings, vehicleEvents: sorted.vehicle,
            members: BatchMembers(
                session: session.key, extras: extras, runs: RowRun.runs(of: rows.lazy.map(\.key)),
                events: SeqSet(events.map { $0.key.seq...$0.key.seq })),
            vehicleMembers: SeqSet(events.filter(\.isOfVehicle).map { $0.key.seq...$0.key.seq }))
    }

    /// Whether all rows of the draft are still there, and owed; none can have joined them.
    func isComplete(_ draft: BatchDraft, isUntouched: Bool = false) throws(SQLiteError) -> Bool {
        if isUntouched { return true }
        let (members, owed) = (draft.members, ledger[draft.destination].owed)
        guard try tables.locations.count(members) == members.count,
            try tables.events.count(in: members.events) == members.events.count
        else { return false }
        return owed.locations.isSuperset(of: members.seqs) && owed.events.isSuperset(of: members.events)
    }

    func isUntouched(_ draft: BatchDraft) -> Bool {
        ledger[draft.destination].queue.isUntouched(draft, changes: db.totalChanges)
    }

    /// The rows of a batch in two halves, each as a draft of its own: locations and events first, then each of them. Without
    /// what the destination is not owed any more, as events that it is to have no longer; and so perhaps only one, or none.
    func halves(of batch: FrozenBatch) throws(SQLiteError) -> [BatchDraft] {
        let (ids, owed) = (ledger.sessions.ids, ledger[batch.destination].owed)
        let rows = try tables.locations.members(batch.members, sessionID: { ids[$0] })
            .filter { owed.locations.contains($0.key.seq) }
        let events = try tables.events.rows(in: batch.members.events.intersection(owed.events))
        var halves: [(rows: ArraySlice<LocationRow>, events: ArraySlice<EventRow>)]
        if rows.isEmpty || events.isEmpty {
            let (middle, eventMiddle) = (rows.count / 2, events.count / 2)
            halves = [
                (rows[..<middle], events[..<eventMiddle]), (rows[middle...], events[eventMiddle...]),
            ]
        } else {
            halves = [(rows[...], []), ([], events[...])]
        }
        halves.removeAll { $0.rows.isEmpty && $0.events.isEmpty }
        return halves.map { half(of: batch, $0.rows, $0.events) }
    }

    private func half(
        of batch: FrozenBatch, _ rows: ArraySlice<LocationRow>, _ events: ArraySlice<EventRow>
    ) -> BatchDraft {
        draft(
            of: rows, events, for: batch.destination, session: (batch.members.session, batch.session),
            extras: batch.members.extras)
    }
}
