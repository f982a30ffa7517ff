package import Base
internal import SQLite

/// Dead letters on their way back into the queue, or out of the database, in steps of at most 1,000 rows so that fixes
/// continue to be written.
package struct RejectedWork: Sendable {
    /// What happens to the dead letters.
    package enum Act: Sendable {
        /// The dead letters are pending again, under their own ids, and go into new batches.
        case requeue
        /// The dead letters are deleted and overwritten.
        case purge
    }

    let act: Act
    /// The destination that refused the rows.
    package let destination: DestinationName
    /// No more than there were when it began: those that come meanwhile are the last in the order of rejection.
    var left: Int
    /// Rows dealt with so far.
    package internal(set) var done = 0

    /// Whether nothing is left to do.
    package var isFinished: Bool { left == 0 }
}

extension Writer {
    private static let rejectedStep = 1000

    /// One step: locations first, then events. Re-queueing ends when the row cap leaves no room: returning rows must not
    /// displace others.
    mutating func proceed(with work: inout RejectedWork) throws(SQLiteError) {
        let name = work.destination
        var limit = min(work.left, Self.rejectedStep, ledger[name].locations.rejected)
        var doomed: [RetainedRow] = []
        if work.act == .requeue { (limit, doomed) = try room(for: limit) }
        // What has no room stays.
        guard limit > 0 else { return try proceedWithEvents(&work) }
        switch work.act {
        case .requeue:
            let letters = try tables.deadLetters.first(.locations, of: name, limit: limit)
            let rows = try db.transaction { () throws(SQLiteError) in
                try tables.locations.remove(doomed)
                return try requeue(letters, .locations, of: name)
            }
            try removed(doomed)
            requeued(rows, of: name)
        case .purge:
            try securely { () throws(SQLiteError) in
                try tables.deadLetters.remove(.locations, of: name, limit: limit)
            }
            ledger[name].locations.rejected -= limit
        }
        work.done += limit
        work.left -= limit
    }

    private mutating func proceedWithEvents(_ work: inout RejectedWork) throws(SQLiteError) {
        let name = work.destination
        var limit = min(work.left, ledger[name].events.rejected, Self.rejectedStep)
        var doomed: [RetainedRow] = []
        if work.act == .requeue { (limit, doomed) = try eventRoom(for: limit) }
        guard limit > 0 else { return work.left = 0 }
        switch work.act {
        case .requeue:
            let letters = try tables.deadLetters.first(.events, of: name, limit: limit)
            let rows = try db.transaction { () throws(SQLiteError) in
                try tables.events.remove(doomed)
                return try requeue(letters, .events, of: name)
            }
            try removed(events: doomed)
            try requeued(events: rows, of: name)
        case .purge:
            try securely { () throws(SQLiteError) in
                try tables.deadLetters.remove(.events, of: name, limit: limit)
            }
            try countEvents()
        }
        work.done += limit
        work.left -= limit
    }

    // MARK: Owed again

    /// Part of a transaction, which `requeued` follows.
    func requeue(
        _ letters: [DeadLetters.Letter], _ kind: RecordKind, of name: DestinationName
    ) throws(SQLiteError) -> [DeadLetters.Returned] {
        let isLocation = kind.code == RecordKind.locations.code
        let returned = try tables.deadLetters.requeue(
            letters, kind, of: name,
            nextSeq: isLocation ? ledger.locations.nextSeq : ledger.events.nextSeq)
        try writeDebts(afterOwing(returned, kind, to: name))
        return returned
    }

    /// After COMMIT.
    mutating func requeued(_ rows: [DeadLetters.Returned], of name: DestinationName) {
        ledger[name].locations.rejected -= rows.count
        owe(rows, to: name)
    }

    /// Notes requeued events, after COMMIT.
    mutating func requeued(events rows: [DeadLetters.Returned], of name: DestinationName) throws(SQLiteError)
    {
        guard !rows.isEmpty else { return }
        for (name, owed) in afterOwing(rows, .events, to: name) { ledger[name].owed = owed }
        try countEvents()
    }

    /// Locations that one destination is owed again.
    mutating func owe(_ rows: [DeadLetters.Returned], to name: DestinationName) {
        let before = ledger[name].owed.locations
        for (name, owed) in afterOwing(rows, .locations, to: name) { ledger[name].owed = owed }
        for row in rows {
            ledger.locations.pass(row.key.seq)
            if row.isNew { ledger.locations.added() }
            if row.wasKept { ledger.locations.returned(1) }
            let wasOwed = !row.isNew && !row.wasKept && before.contains(row.key.seq)
            if !wasOwed { ledger.owe(row.key, session: row.session, to: name) }
        }
    }

    /// What each destination is owed once `name` is owed these rows. Nobody else is owed one that nobody was: it may have a
    /// number that others have long received.
    func afterOwing(
        _ rows: [DeadLetters.Returned], _ kind: RecordKind, to name: DestinationName
    ) -> [(DestinationName, Backlog.Owed)] {
        guard ledger.hasDebts else { return [] }
        let all = SeqSet(rows.map { $0.key.seq...$0.key.seq })
        let own = SeqSet(rows.lazy.filter { $0.isNew || $0.wasKept }.map { $0.key.seq...$0.key.seq })
        return ledger.backlogs.map { backlog in
            var owed = backlog.owed
            let field = kind.code == RecordKind.locations.code ? \Backlog.Owed.locations : \.events
            if backlog.name == name {
                owed[keyPath: field].formUnion(all)
            } else {
                owed[keyPath: field].subtract(own)
            }
            return (backlog.name, owed)
        }
    }

    /// Part of a transaction.
    func writeDebts(_ changed: [(DestinationName, Backlog.Owed)]) throws(SQLiteError) {
        for (name, owed) in changed { try tables.debts.change(name, from: ledger[name].owed, to: owed) }
    }
}
