internal import SQLite
internal import Tracking

extension Writer {
    /// How many batches in a row may be rejected before the endpoint is suspected instead of the data.
    private static let suspicionLimit: Int64 = 3
    private static let consecutiveRejections = "consecutive_rejections"

    /// The rows for the next batch: the oldest session with pending rows, its oldest rows, all stored under the same
    /// extras. nil when nothing is pending, or a frozen batch goes first.
    mutating func draftBatch(limit: Int) throws(SQLiteError) -> BatchDraft? {
        guard frozen.isEmpty, let session = tally.pending.keys.min(), let start = tally.oldestPending else {
            draft = nil
            return nil
        }
        try statements.draft.bind([
            .integer(start.ts), .integer(start.seq), .integer(session), .integer(Int64(limit)),
        ])
        var rows: [LocationRow] = []
        while try statements.draft.step() {
            if let row = LocationRow(statements.draft, sessionID: { sessions[$0] }) { rows.append(row) }
        }
        statements.draft.reset()
        guard let version = rows.first?.extras else { return nil }
        return draft(of: rows.filter { $0.extras == version }, session: session)
    }

    private mutating func draft(of rows: [LocationRow], session: Int64) -> BatchDraft? {
        guard let first = rows.first, let last = rows.last, let id = sessions[session] else { return nil }
        let members = BatchMembers(
            session: session, extras: first.extras, first: first.key, last: last.key,
            maxSeq: tally.nextSeq - 1, minSeq: tally.lowestSeq, count: rows.count)
        draft = members
        return BatchDraft(
            session: id, extras: extras.first { $0.value == first.extras }?.key,
            locations: rows.map(\.location),
            members: members)
    }

    /// Commits a batch: from here on it has these bytes and this id for ever.
    ///
    /// - Returns: nil when rows of the draft were deleted meanwhile; take a new draft.
    mutating func freeze(_ draft: BatchDraft, id: UUIDv7, body: [UInt8]) throws(SQLiteError) -> FrozenBatch? {
        guard try isComplete(draft) else { return nil }
        try insertBatch(id: id, members: draft.members, body: body, isPiece: false)
        self.draft = nil
        return try nextFrozen()
    }

    /// Whether all rows of the draft are still there; none can have joined them.
    private func isComplete(_ draft: BatchDraft) throws(SQLiteError) -> Bool {
        let rows = try db.prepare("SELECT COUNT(*) FROM locations WHERE " + Statements.isMember)
        try rows.bind(Statements.memberValues(draft.members))
        return try rows.step() && rows.integer(0) == Int64(draft.members.count)
    }

    private mutating func insertBatch(
        id: UUIDv7, members: BatchMembers, body: [UInt8], isPiece: Bool
    ) throws(SQLiteError) {
        try statements.insertBatch.run(
            .blob(id.bytes), .integer(members.session), .integer(members.extras), .integer(members.first.ts),
            .integer(members.first.seq), .integer(members.last.ts), .integer(members.last.seq),
            .integer(members.maxSeq), .integer(members.minSeq), .integer(Int64(members.count)), .blob(body),
            .integer(isPiece ? 1 : 0))
        let key = Int64(try db.value("SELECT last_insert_rowid()") ?? "") ?? 0
        frozen.append(Frozen(key: key, members: members, isPermanent: false))
    }

    /// The frozen batch that is to be sent next.
    func nextFrozen() throws(SQLiteError) -> FrozenBatch? {
        guard let next = frozen.first, let session = sessions[next.members.session] else { return nil }
        let row = try db.prepare("SELECT id, body, is_piece FROM batches WHERE key = ?")
        try row.bind([.integer(next.key)])
        guard try row.step(), let id = UUIDv7(bytes: row.blob(0)) else { return nil }
        return FrozenBatch(
            id: id, session: session, locations: next.members.count, body: row.blob(1),
            isPiece: row.integer(2) != 0, key: next.key, members: next.members)
    }

    /// A complete 2xx: the backend has them now. Deletes the rows, or marks them, and forgets the batch, in one
    /// transaction.
    ///
    /// - Returns: how many rows this acknowledged; fewer than were sent when the user deleted some meanwhile.
    mutating func acknowledge(_ batch: FrozenBatch) throws(SQLiteError) -> Int {
        let count = try db.transaction { () throws(SQLiteError) in
            let values = Statements.memberValues(batch.members)
            if options.keepsUploaded {
                try statements.markMembers.run(values)
            } else {
                try statements.deleteMembers.run(values)
            }
            let count = db.changes
            try statements.deleteBatch.run(.integer(batch.key), .blob(batch.id.bytes))
            try setCounter(Self.consecutiveRejections, 0)
            try writeTail()
            return count
        }
        frozen.removeAll { $0.key == batch.key }
        if options.keepsUploaded {
            tally.uploaded += count
            tally.uploadedFrom = min(tally.uploadedFrom, batch.members.first)
        } else {
            tally.rows -= count
        }
        remove(pending: count, ofSession: batch.members.session)
        try findOldestPending(from: tally.oldestPending ?? batch.members.first)
        return count
    }

    /// Counts a rejection, unless it is one of a piece, and tells whether the endpoint is to be suspected now.
    mutating func countRejection(of batch: FrozenBatch) throws(SQLiteError) -> Bool {
        let consecutive = try counter(Self.consecutiveRejections) + (batch.isPiece ? 0 : 1)
        try setCounter(Self.consecutiveRejections, consecutive)
        return !batch.isPiece && consecutive >= Self.suspicionLimit
    }

    /// A 400 or 422: the rows become dead letters, unless the endpoint is to be suspected instead. A full table of dead
    /// letters acts the same way and evicts nothing.
    ///
    /// - Parameter expiry: dead letters rejected before this have had their time; nil when no clock can be believed.
    mutating func reject(
        _ batch: FrozenBatch, status: Int, at time: Timestamp, expiry: Timestamp?
    ) throws(SQLiteError) -> Rejection {
        if let expiry { try forgetRejected(before: expiry) }
        let consecutive = try counter(Self.consecutiveRejections) + (batch.isPiece ? 0 : 1)
        let isFull = tally.rejected + batch.locations > Self.rejectedLimit
        if isFull || !batch.isPiece && consecutive >= Self.suspicionLimit {
            try setCounter(Self.consecutiveRejections, max(consecutive, Self.suspicionLimit))
            return .suspected
        }
        let count = try db.transaction { () throws(SQLiteError) in
            let members = Statements.memberValues(batch.members)
            try statements.rejectMembers.run(
                members + [.blob(batch.id.bytes), .integer(Int64(status)), .integer(time.milliseconds)])
            try statements.deleteMembers.run(members)
            let count = db.changes
            try statements.deleteBatch.run(.integer(batch.key), .blob(batch.id.bytes))
            try setCounter(Self.consecutiveRejections, consecutive)
            try writeTail()
            return count
        }
        frozen.removeAll { $0.key == batch.key }
        tally.rows -= count
        tally.rejected += count
        remove(pending: count, ofSession: batch.members.session)
        try findOldestPending(from: tally.oldestPending ?? batch.members.first)
        return .deadLettered(count)
    }

    private mutating func forgetRejected(before expiry: Timestamp) throws(SQLiteError) {
        try db.prepare("DELETE FROM rejected WHERE rejected_at < ?").run(.integer(expiry.milliseconds))
        tally.rejected -= db.changes
    }

    /// The rows of a batch in two halves, each as a draft of its own.
    func halves(of batch: FrozenBatch) throws(SQLiteError) -> [BatchDraft] {
        let select = try db.prepare(
            "SELECT \(Schema.columns) FROM locations WHERE \(Statements.isMember) ORDER BY ts, seq")
        try select.bind(Statements.memberValues(batch.members))
        var rows: [LocationRow] = []
        while try select.step() {
            if let row = LocationRow(select, sessionID: { sessions[$0] }) { rows.append(row) }
        }
        let middle = rows.count / 2
        return [rows[..<middle], rows[middle...]].compactMap { half in
            guard let first = half.first, let last = half.last else { return nil }
            var members = batch.members
            (members.first, members.last, members.count) = (first.key, last.key, half.count)
            return BatchDraft(
                session: batch.session, extras: extras.first { $0.value == first.extras }?.key,
                locations: half.map(\.location), members: members)
        }
    }

    /// Puts pieces in the place of a rejected batch, ahead of everything else.
    mutating func split(
        _ batch: FrozenBatch, into pieces: [(draft: BatchDraft, id: UUIDv7, body: [UInt8])]
    ) throws(SQLiteError) {
        for piece in pieces { guard try isComplete(piece.draft) else { return } }
        let before = frozen
        frozen = []
        do {
            try db.execute("BEGIN IMMEDIATE")
            try statements.deleteBatch.run(.integer(batch.key), .blob(batch.id.bytes))
            for piece in pieces {
                try insertBatch(id: piece.id, members: piece.draft.members, body: piece.body, isPiece: true)
            }
            try db.execute("COMMIT")
        } catch {
            frozen = before
            if !db.isInAutocommit { try? db.execute("ROLLBACK") }
            throw error
        }
        frozen += before.filter { $0.key != batch.key }
    }

    /// Remembers that the latest answer was a permanent refusal.
    mutating func markPermanent(_ batch: FrozenBatch) throws(SQLiteError) {
        try db.prepare("UPDATE batches SET is_permanent = 1 WHERE key = ?").run(.integer(batch.key))
        for index in frozen.indices where frozen[index].key == batch.key { frozen[index].isPermanent = true }
    }

    /// Dissolves batches whose latest answer was a permanent refusal when `endpoint` is another than before.
    mutating func adopt(endpoint: Int64) throws(SQLiteError) {
        guard try counter("endpoint") != endpoint else { return }
        try db.transaction { () throws(SQLiteError) in
            try db.execute("DELETE FROM batches WHERE is_permanent = 1")
            try setCounter("endpoint", endpoint)
        }
        frozen.removeAll(where: \.isPermanent)
    }

    func counter(_ name: String) throws(SQLiteError) -> Int64 {
        let row = try db.prepare("SELECT value FROM counters WHERE name = ?")
        try row.bind([.text(name)])
        return try row.step() ? row.integer(0) : 0
    }

    func setCounter(_ name: String, _ value: Int64) throws(SQLiteError) {
        if try counter(name) == value { return }
        try db.prepare("INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)").run(
            .text(name), .integer(value))
    }
}
