internal import Base
internal import SQLite

/// The journal of the commands of servers. An id that came with other content than before has one more row, which says that
/// this was refused, however often it comes. Without commands nothing is prepared or written.
struct Commands {
    private let db: Connection

    init(_ db: Connection) {
        self.db = db
    }

    /// In the order in which `record` reads them.
    private static let columns = """
        seq, destination, id, digest, batch, name, text, received_at, counter, expires_at, done_at, error, result, \
        position_at, is_sent
        """
    /// Has been run, and the server does not know it yet.
    private static let isQueued = "done_at IS NOT NULL AND is_sent = 0"

    // MARK: Reading

    /// What is left to do; nothing for a destination that has nothing.
    func counts() throws(SQLiteError) -> [DestinationName: CommandCounts] {
        let rows = try db.prepare(
            """
            SELECT destination, SUM(done_at IS NULL), SUM(\(Self.isQueued)) FROM commands GROUP BY destination
            """)
        var counts: [DestinationName: CommandCounts] = [:]
        while try rows.step() {
            guard let name = rows.text(0).flatMap({ DestinationName($0) }) else { continue }
            let found = CommandCounts(
                waiting: Bounded.count(rows.integer(1)), results: Bounded.count(rows.integer(2)))
            if found != CommandCounts() { counts[name] = found }
        }
        return counts
    }

    /// What the journal has under the id of a command.
    private enum Standing {
        case unknown
        /// This very command is known. Its result may have been sent.
        case same(Row)
        /// Another, and that has been said of the id already, or not.
        case other(refusal: Row?)
    }

    private struct Row {
        var seq: Int64
        var isSent: Bool
    }

    private func standing(
        of command: NewCommand, _ destination: DestinationName
    ) throws(SQLiteError) -> Standing {
        let rows = try db.prepare(
            """
            SELECT digest = ?, seq, done_at IS NOT NULL AND is_sent, error IS '\(CommandRecord.reused)' FROM commands \
            WHERE destination = ? AND id = ?
            """)
        try rows.bind([.blob(command.digest), .text(destination.text), .text(command.id)])
        var (isKnown, refusal): (Bool, Row?) = (false, nil)
        while try rows.step() {
            isKnown = true
            let row = Row(seq: rows.integer(1), isSent: rows.integer(2) != 0)
            if rows.integer(0) != 0 { return .same(row) }
            if rows.integer(3) != 0 { refusal = row }
        }
        return isKnown ? .other(refusal: refusal) : .unknown
    }

    func known(
        among commands: [NewCommand], of destination: DestinationName
    ) throws(SQLiteError) -> KnownCommands {
        var known = KnownCommands()
        // What those before it in the list leave under an id: the first of them, and whether another was refused.
        var (first, reused): ([String: [UInt8]], Set<String>) = ([:], [])
        for command in commands {
            switch try standing(of: command, destination) {
            case .unknown:
                guard let digest = first[command.id] else {
                    first[command.id] = command.digest
                    known.added += 1
                    continue
                }
                if digest != command.digest, reused.insert(command.id).inserted { known.added += 1 }
            case .same, .other(refusal: .some): known.ids.insert(command.id)
            case .other(refusal: nil):
                known.ids.insert(command.id)
                if reused.insert(command.id).inserted { known.added += 1 }
            }
        }
        return known
    }

    /// When those came that were written down last, newest first.
    func arrivals(of destination: DestinationName, limit: Int) throws(SQLiteError) -> [Timestamp] {
        let rows = try db.prepare(
            "SELECT received_at FROM commands WHERE destination = ? ORDER BY seq DESC LIMIT ?")
        try rows.bind([.text(destination.text), .integer(Int64(limit))])
        var times: [Timestamp] = []
        while try rows.step() { times.append(Timestamp(milliseconds: rows.integer(0))) }
        return times
    }

    /// The one that is to be run next, but for one that is under way.
    func next(
        of destination: DestinationName, besides uploading: CommandRecord?
    ) throws(SQLiteError) -> CommandRecord? {
        // By more than its number, which another database gives anew.
        try all(
            "destination = ? AND done_at IS NULL", [.text(destination.text)], limit: uploading == nil ? 1 : 2
        )
        .first { $0.id != uploading?.id || $0.digest != uploading?.digest }
    }

    /// The oldest results that have yet to be sent.
    func queued(for destination: DestinationName, limit: Int) throws(SQLiteError) -> [CommandRecord] {
        try all("destination = ? AND \(Self.isQueued)", [.text(destination.text)], limit: limit)
    }

    /// Commands of these names that were not refused.
    func named(_ names: [String]) throws(SQLiteError) -> [CommandRecord] {
        let places = names.map { _ in "?" }.joined(separator: ", ")
        return try all(
            "error IS NULL AND name IN (\(places))", names.map { .text($0) }, limit: CommandRecord.limit)
    }

    /// Commands that came after one, in their order.
    static func page(
        after seq: Int64, limit: Int, _ db: Connection
    ) throws(SQLiteError) -> (records: [CommandRecord], last: Int64?, isLast: Bool) {
        let rows = try db.prepare("SELECT \(columns) FROM commands WHERE seq > ? ORDER BY seq LIMIT ?")
        try rows.bind([.integer(seq), .integer(Int64(limit))])
        var (records, last, count): ([CommandRecord], Int64?, Int) = ([], nil, 0)
        while try rows.step() {
            count += 1
            last = rows.integer(0)
            if let record = record(rows) { records.append(record) }
        }
        return (records, last, count < limit)
    }

    /// The highest number of a signed list that may still be run, or was. Of one that was begun the small file knows it, too.
    func highestCounter(upTo limit: Int64) throws(SQLiteError) -> Int64? {
        try db.value("SELECT MAX(counter) FROM commands WHERE counter <= \(limit)").flatMap { Int64($0) }
    }

    private func all(
        _ condition: String, _ values: [Value], limit: Int
    ) throws(SQLiteError) -> [CommandRecord] {
        let rows = try db.prepare(
            "SELECT \(Self.columns) FROM commands WHERE \(condition) ORDER BY seq LIMIT \(limit)")
        try rows.bind(values)
        var records: [CommandRecord] = []
        while try rows.step() { if let record = Self.record(rows) { records.append(record) } }
        return records
    }

    /// nil for one that a damaged file may hold.
    private static func record(_ row: borrowing Statement) -> CommandRecord? {
        guard let destination = row.text(1).flatMap({ DestinationName($0) }),
            let batch = UUIDv7(bytes: row.blob(4))
        else { return nil }
        func time(_ column: Int32) -> Timestamp? {
            row.optionalInteger(column).map { Timestamp(milliseconds: $0) }
        }
        return CommandRecord(
            seq: row.integer(0), digest: row.blob(3), destination: destination, id: row.text(2) ?? "",
            batch: batch, name: row.text(5) ?? "", text: row.text(6),
            receivedAt: Timestamp(milliseconds: row.integer(7)), counter: row.optionalInteger(8),
            expiresAt: time(9), doneAt: time(10),
            outcome: CommandOutcome(error: row.text(11), result: row.text(12), positionAt: time(13)),
            isSent: row.integer(14) != 0)
    }

    // MARK: Writing

    /// Part of the transaction that acknowledges what they are the answer to.
    ///
    /// - Parameter waiting: how many have yet to be run.
    func write(_ list: CommandList, waiting: Int) throws(SQLiteError) -> Journaling {
        var journaling = Journaling()
        guard waiting + list.commands.count <= CommandRecord.limit else {
            journaling.unheard = list.commands.count
            return journaling
        }
        for command in list.commands { try write(command, of: list, &journaling) }
        try trim()
        return journaling
    }

    private func write(
        _ command: NewCommand, of list: CommandList, _ journaling: inout Journaling
    ) throws(SQLiteError) {
        let standing = try standing(of: command, list.destination)
        var refusal = command.refusal
        switch standing {
        case .unknown: break
        case .other(refusal: nil): refusal = CommandRecord.reused
        case .same(let row), .other(refusal: .some(let row)):
            journaling.repeated += 1
            // The server asks again, so it has not understood that it has the result.
            if row.isSent { try db.execute("UPDATE commands SET is_sent = 0 WHERE seq = \(row.seq)") }
            return
        }
        if refusal == nil { journaling.new += 1 } else { journaling.refused += 1 }
        try db.prepare(
            """
            INSERT INTO commands (destination, id, digest, batch, name, text, received_at, counter, expires_at, \
            done_at, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run(
            .text(list.destination.text), .text(command.id), .blob(command.digest), .blob(list.batch.bytes),
            .text(command.name), refusal == nil ? .text(command.text) : .null,
            .integer(list.receivedAt.milliseconds), .optional(command.counter),
            .optional(command.expiresAt?.milliseconds),
            .optional(refusal == nil ? nil : list.receivedAt.milliseconds), refusal.map { .text($0) } ?? .null
        )
    }

    /// Forgets the oldest, but none that has yet to be run.
    private func trim() throws(SQLiteError) {
        try db.execute(
            """
            DELETE FROM commands WHERE seq IN (SELECT seq FROM commands WHERE done_at IS NOT NULL ORDER BY seq \
            LIMIT max(0, (SELECT COUNT(*) FROM commands) - \(CommandRecord.limit)))
            """)
    }

    /// Finishes a command, which has been run, perhaps while it was superseded. By more than its number,
    /// which another database gives anew.
    ///
    /// - Parameter wasBegun: false: it is over without having been run. Then its list no longer counts as the latest.
    func finish(
        _ command: CommandRecord, with outcome: CommandOutcome, at time: Timestamp, wasBegun: Bool
    ) throws(SQLiteError) {
        try db.prepare(
            """
            UPDATE commands SET text = NULL, done_at = ?, error = ?, result = ?, position_at = ?, is_sent = 0, \
            counter = CASE WHEN ? THEN counter END WHERE destination = ? AND id = ? AND digest = ? AND (done_at IS NULL OR error = '\(CommandRecord.superseded)')
            """
        ).run(
            .integer(time.milliseconds), outcome.error.map { .text($0) } ?? .null,
            outcome.result.map { .text($0) } ?? .null, .optional(outcome.positionAt?.milliseconds),
            .integer(wasBegun ? 1 : 0), .text(command.destination.text), .text(command.id),
            .blob(command.digest))
    }

    /// The server has these results.
    func markSent(_ results: [CommandRecord]) throws(SQLiteError) {
        guard !results.isEmpty else { return }
        let mark = try db.prepare(
            "UPDATE commands SET is_sent = 1 WHERE destination = ? AND id = ? AND digest = ? AND \(Self.isQueued)"
        )
        for result in results {
            try mark.run(.text(result.destination.text), .text(result.id), .blob(result.digest))
        }
    }

    /// Refuses commands that have yet to be run, unless they are of this destination.
    func refuseAll(
        besides destination: DestinationName?, error: String, at time: Timestamp
    ) throws(SQLiteError) {
        try db.prepare(
            """
            UPDATE commands SET text = NULL, done_at = ?, error = ?, counter = NULL \
            WHERE done_at IS NULL AND destination IS NOT ?
            """
        ).run(
            .integer(time.milliseconds), .text(error), destination.map { .text($0.text) } ?? .null)
    }

    /// Finishes commands of this name that have yet to be run, without running them: something newer has been
    /// wished.
    ///
    /// - Returns: what they are now.
    func supersede(_ name: String, at time: Timestamp) throws(SQLiteError) -> [CommandRecord] {
        let doomed = try all(
            "done_at IS NULL AND name = ?", [.text(name)], limit: CommandRecord.limit)
        let outcome = CommandOutcome(error: CommandRecord.superseded)
        for command in doomed { try finish(command, with: outcome, at: time, wasBegun: false) }
        return doomed.map { $0.done(with: outcome, at: time) }
    }

    /// Part of a deletion: no result tells where the vehicle was up to then.
    func removePositions(upTo cutoff: Timestamp?) throws(SQLiteError) {
        try db.prepare("UPDATE commands SET result = NULL, position_at = NULL WHERE position_at <= ?").run(
            .integer(cutoff?.milliseconds ?? .max))
    }

    /// Forgets a destination.
    func remove(of destination: DestinationName) throws(SQLiteError) {
        try db.prepare("DELETE FROM commands WHERE destination = ?").run(.text(destination.text))
    }

    /// What was salvaged, unless it is known.
    func insert(salvaged records: [CommandRecord]) throws(SQLiteError) {
        guard !records.isEmpty else { return }
        let insert = try db.prepare(
            """
            INSERT OR IGNORE INTO commands (destination, id, digest, batch, name, text, received_at, counter, \
            expires_at, done_at, error, result, position_at, is_sent) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        for record in records {
            try insert.run(
                .text(record.destination.text), .text(record.id), .blob(record.digest),
                .blob(record.batch.bytes), .text(record.name), record.text.map { .text($0) } ?? .null,
                .integer(record.receivedAt.milliseconds), .optional(record.counter),
                .optional(record.expiresAt?.milliseconds), .optional(record.doneAt?.milliseconds),
                record.outcome.error.map { .text($0) } ?? .null,
                record.outcome.result.map { .text($0) } ?? .null,
                .optional(record.outcome.positionAt?.milliseconds), .integer(record.isSent ? 1 : 0))
        }
        try trim()
    }
}
