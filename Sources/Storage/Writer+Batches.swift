internal import Base
internal import SQLite

extension Writer {
    static let endpoint = "endpoint"

    /// The rows for the next batch: the oldest session with pending rows, its oldest rows, all stored under the same
    /// extras. nil when nothing is pending, or a frozen batch goes first.
    ///
    /// - Parameter sent: a batch that is taken for acknowledged.
    mutating func draftBatch(limit: Int, after sent: FrozenBatch? = nil) throws(SQLiteError) -> BatchDraft? {
        let isNext = sent.map { goes($0) } ?? frozen.isEmpty
        for session in isNext ? sessionsLeft(after: sent) : [] {
            let locations = try pendingLocations(of: session, limit: limit, besides: sent?.members)
            let events = try pendingEvents(of: session, limit: limit)
            let oldest = [
                locations.first.map { ($0.key, $0.extras) }, events.first.map { ($0.key, $0.extras) },
            ]
            // A session of which nobody can read anything does not hold up the others.
            guard let version = oldest.compactMap(\.self).min(by: { $0.0 < $1.0 })?.1 else { continue }
            let isUniform = locations.allSatisfy { $0.extras == version }
            let drafted = draft(
                of: isUniform ? locations : locations.filter { $0.extras == version },
                events.filter { $0.extras == version }, session: session, extras: version)
            gapless = isUniform ? drafted?.members : nil
            return drafted
        }
        draft = nil
        return nil
    }

    /// Nothing else is frozen, and it is whole: then what comes behind it can be told before it is acknowledged.
    private func goes(_ batch: FrozenBatch) -> Bool {
        frozen.count == 1 && frozen[0].isOf(batch) && !batch.isPiece
    }

    /// The sessions with pending rows besides those of `sent`, oldest first.
    private func sessionsLeft(after sent: FrozenBatch?) -> [Int64] {
        func left(_ pending: [Int64: Int], _ count: Int?) -> [Int64] {
            pending.filter { $0.key != sent?.members.session || $0.value > count ?? 0 }.map(\.key)
        }
        return Set(left(tally.pending, sent?.locations) + left(events.pending, sent?.events)).sorted()
    }

    private func pendingLocations(
        of session: Int64, limit: Int, besides sent: BatchMembers?
    ) throws(SQLiteError) -> [LocationRow] {
        guard let pending = tally.pending[session], let oldest = tally.oldestPending else { return [] }
        // Behind a batch without gaps nothing of it needs to be read again, to be passed over.
        let behind = sent.flatMap {
            $0 == gapless && $0.session == session && $0.count > 0
                ? $0.last.next : nil
        }
        let start = behind ?? oldest
        try statements.draft.bind([
            .integer(start.ts), .integer(start.seq), .integer(session),
            .integer(Int64(limit + (sent?.count ?? 0))),
        ])
        defer { statements.draft.reset() }
        let id = sessions[session]
        var rows: [LocationRow] = []
        rows.reserveCapacity(min(limit, pending))
        while rows.count < limit, try statements.draft.step() {
            guard let row = LocationRow(statements.draft, sessionID: { _ in id }) else {
                // A row that nobody can read is in no batch: it would be deleted with it, or be missed in it.
                guard rows.isEmpty else { break }
                continue
            }
            let isSent = sent?.contains(
                row.key, session: row.session, extras: row.extras, isUploaded: false)
            if isSent != true { rows.append(row) }
        }
        return rows
    }

    private mutating func draft(
        of rows: [LocationRow], _ events: [EventRow], session: Int64, extras version: Int64
    ) -> BatchDraft? {
        guard let id = sessions[session] else { return nil }
        var members = BatchMembers(
            session: session, extras: version, first: BatchMembers.none.first, last: BatchMembers.none.last,
            maxSeq: tally.nextSeq - 1, minSeq: tally.lowestSeq, count: rows.count, events: events.count)
        if let first = rows.first, let last = rows.last {
            (members.first, members.last) = (first.key, last.key)
        }
        draft = members
        changesAtDraft = db.totalChanges
        return draft(of: rows, events, members, session: id)
    }

    func draft(
        of rows: some Collection<LocationRow>, _ events: some Collection<EventRow>, _ members: BatchMembers,
        session: UUIDv7
    ) -> BatchDraft {
        BatchDraft(
            session: session, extras: extras.first { $0.value == members.extras }?.key,
            locations: rows.map(\.location), events: events.map { $0.event(session: session) },
            members: members, eventKeys: events.map(\.key))
    }

    /// Commits a batch: from here on it has these bytes and this id for ever.
    ///
    /// - Returns: nil when rows of the draft were deleted meanwhile; take a new draft.
    mutating func freeze(_ draft: BatchDraft, id: UUIDv7, body: [UInt8]) throws(SQLiteError) -> FrozenBatch? {
        guard try isComplete(draft, isUntouched: isUntouched(draft)) else { return nil }
        let key = try db.transaction { () throws(SQLiteError) in
            try insertBatch(draft, id: id, body: body, isPiece: false)
        }
        frozen.append(Frozen(key: key, members: draft.members, isPermanent: false))
        self.draft = nil
        return try nextFrozen()
    }

    /// Whether nothing at all has been written on this connection, the only one that writes, since the draft was read. Asked
    /// before a transaction: what that one writes counts as well.
    private func isUntouched(_ draft: BatchDraft) -> Bool {
        draft.members == self.draft && db.totalChanges == changesAtDraft
    }

    /// Whether all rows of the draft are still there; none can have joined them.
    private func isComplete(_ draft: BatchDraft, isUntouched: Bool = false) throws(SQLiteError) -> Bool {
        if isUntouched { return true }
        try statements.countMembers.bind(Statements.memberValues(draft.members))
        defer { statements.countMembers.reset() }
        guard try statements.countMembers.step(),
            statements.countMembers.integer(0) == Int64(draft.members.count)
        else { return false }
        return try areThere(draft.eventKeys)
    }

    /// Part of a transaction. Returns the batch's key.
    private func insertBatch(
        _ draft: BatchDraft, id: UUIDv7, body: [UInt8], isPiece: Bool
    ) throws(SQLiteError) -> Int64 {
        let members = draft.members
        try statements.insertBatch.run(
            .blob(id.bytes), .integer(members.session), .integer(members.extras), .integer(members.first.ts),
            .integer(members.first.seq), .integer(members.last.ts), .integer(members.last.seq),
            .integer(members.maxSeq), .integer(members.minSeq), .integer(Int64(members.count)),
            .integer(Int64(members.events)), .blob(body), .integer(isPiece ? 1 : 0))
        let key = db.lastInsertRowid
        try assign(draft.eventKeys, toBatch: key)
        return key
    }

    /// The frozen batch that is to be sent next.
    func nextFrozen() throws(SQLiteError) -> FrozenBatch? {
        guard let next = frozen.first, let session = sessions[next.members.session] else { return nil }
        try statements.batch.bind([.integer(next.key)])
        defer { statements.batch.reset() }
        guard try statements.batch.step(), let id = UUIDv7(bytes: statements.batch.blob(0)) else {
            return nil
        }
        return FrozenBatch(
            id: id, session: session, locations: next.members.count, events: next.members.events,
            body: statements.batch.blob(1),
            isPiece: statements.batch.integer(2) != 0, key: next.key, members: next.members)
    }

    /// A complete 2xx: the backend has them now. Deletes the rows, or marks them, and forgets the batch, in one
    /// transaction.
    ///
    /// - Parameter next: a batch that is frozen in the same transaction, unless rows of it were deleted meanwhile. Drafted
    ///   after this one.
    /// - Returns: how many rows this acknowledged; fewer than were sent when the user deleted some meanwhile.
    mutating func acknowledge(
        _ batch: FrozenBatch, freezing next: (draft: BatchDraft, id: UUIDv7, body: [UInt8])? = nil
    ) throws(SQLiteError) -> Int {
        let mayFreeze = goes(batch)
        let isNextUntouched = next.map { isUntouched($0.draft) } ?? false
        let (count, eventCount, key) = try db.transaction { () throws(SQLiteError) in
            let values = Statements.memberValues(batch.members)
            if options.keepsUploaded {
                try statements.markMembers.run(values)
            } else {
                try statements.deleteMembers.run(values)
            }
            let count = db.changes
            let eventCount = try acknowledgeEvents(of: batch)
            try statements.deleteBatch.run(.integer(batch.key), .blob(batch.id.bytes))
            try endStreak()
            try writeTail()
            var key: Int64?
            if mayFreeze, let next, try isComplete(next.draft, isUntouched: isNextUntouched) {
                key = try insertBatch(next.draft, id: next.id, body: next.body, isPiece: false)
            }
            return (count, eventCount, key)
        }
        hasStreak = false
        // By more than its key, which the next one may have got.
        frozen.removeAll { $0.isOf(batch) }
        if let next, let key {
            frozen.append(Frozen(key: key, members: next.draft.members, isPermanent: false))
            draft = nil
        }
        if options.keepsUploaded {
            tally.uploaded += count
            tally.uploadedFrom = min(tally.uploadedFrom, batch.members.first)
        } else {
            tally.rows -= count
        }
        remove(pending: count, ofSession: batch.members.session)
        try findOldestPending(from: tally.oldestPending ?? batch.members.first)
        try bookEvents(eventCount, of: batch, areKept: options.keepsUploaded)
        return count + eventCount
    }

    /// The rows of a batch in two halves, each as a draft of its own: locations and events first, then each of them.
    func halves(of batch: FrozenBatch) throws(SQLiteError) -> [BatchDraft] {
        let select = try db.prepare(
            "SELECT \(Schema.columns) FROM locations WHERE \(Statements.isMember) ORDER BY ts, seq")
        try select.bind(Statements.memberValues(batch.members))
        var rows: [LocationRow] = []
        while try select.step() {
            if let row = LocationRow(select, sessionID: { sessions[$0] }) { rows.append(row) }
        }
        let events = try events(of: batch)
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

    /// Puts pieces in the place of a rejected batch, ahead of everything else.
    mutating func split(
        _ batch: FrozenBatch, into pieces: [(draft: BatchDraft, id: UUIDv7, body: [UInt8])]
    ) throws(SQLiteError) {
        for piece in pieces { guard try isComplete(piece.draft) else { return } }
        let keys = try db.transaction { () throws(SQLiteError) in
            try statements.deleteBatch.run(.integer(batch.key), .blob(batch.id.bytes))
            var keys: [Int64] = []
            for piece in pieces {
                keys.append(try insertBatch(piece.draft, id: piece.id, body: piece.body, isPiece: true))
            }
            return keys
        }
        frozen =
            zip(keys, pieces).map { Frozen(key: $0, members: $1.draft.members, isPermanent: false) }
            + frozen.filter { !$0.isOf(batch) }
    }

    /// Remembers that the latest answer was a permanent refusal.
    mutating func markPermanent(_ batch: FrozenBatch) throws(SQLiteError) {
        try writePermanent(batch)
        notePermanent(batch)
    }

    func writePermanent(_ batch: FrozenBatch) throws(SQLiteError) {
        try db.prepare("UPDATE batches SET is_permanent = 1 WHERE key = ? AND id = ?").run(
            .integer(batch.key), .blob(batch.id.bytes))
    }

    mutating func notePermanent(_ batch: FrozenBatch) {
        for index in frozen.indices where frozen[index].isOf(batch) { frozen[index].isPermanent = true }
    }

    /// Dissolves batches whose latest answer was a permanent refusal when `endpoint` is another than before.
    mutating func adopt(endpoint: Int64) throws(SQLiteError) {
        guard try counter(Self.endpoint) != endpoint else { return }
        try db.transaction { () throws(SQLiteError) in
            for batch in frozen where batch.isPermanent { try releaseEvents(ofBatch: batch.key) }
            try db.execute("DELETE FROM batches WHERE is_permanent = 1")
            try setCounter(Self.endpoint, endpoint)
        }
        frozen.removeAll(where: \.isPermanent)
    }

    func counter(_ name: String) throws(SQLiteError) -> Int64 {
        try statements.counter.bind([.text(name)])
        defer { statements.counter.reset() }
        return try statements.counter.step() ? statements.counter.integer(0) : 0
    }

    func setCounter(_ name: String, _ value: Int64) throws(SQLiteError) {
        if try counter(name) == value { return }
        try db.prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)").run(
            .text(name), .integer(value))
    }
}
