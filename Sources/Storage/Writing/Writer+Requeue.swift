internal import SQLite

/// Dead letters on their way back into the queue, or out of the database, in steps of at most 1,000 rows so that fixes
/// continue to be written.
package struct RejectedWork: Sendable {
    /// What happens to them.
    package enum Act: Sendable {
        /// They are pending again, under their own ids, and go into new batches.
        case requeue
        /// They are deleted and overwritten.
        case purge
    }

    let act: Act
    /// No more than there were when it began: those that come meanwhile are the last in the order of rejection.
    var left: Int
    /// Rows dealt with so far.
    package internal(set) var done = 0

    /// Nothing is left to do.
    package var isFinished: Bool { left == 0 }
}

extension Writer {
    private static let rejectedStep = 1000

    /// One step: locations first, then events. Re-queueing ends when the row cap leaves no room: returning rows must not
    /// displace others.
    mutating func proceed(with work: inout RejectedWork) throws(SQLiteError) {
        var limit = min(work.left, Self.rejectedStep, ledger.locations.rejected)
        var doomed: [RetainedRow] = []
        if work.act == .requeue { (limit, doomed) = try room(for: limit) }
        let letters = try tables.deadLetters.locations(limit: limit)
        // What has no room stays.
        guard let last = letters.last else { return try proceedWithEvents(&work) }
        switch work.act {
        case .requeue:
            try db.transaction { () throws(SQLiteError) in
                try tables.locations.remove(doomed)
                try requeue(letters)
            }
            try removed(doomed)
            requeued(letters)
        case .purge:
            try securely { () throws(SQLiteError) in try tables.deadLetters.removeLocations(upTo: last) }
            ledger.locations.remove(rejected: letters.count)
        }
        work.done += letters.count
        work.left -= letters.count
    }

    private mutating func proceedWithEvents(_ work: inout RejectedWork) throws(SQLiteError) {
        var limit = min(work.left, ledger.events.rejected, Self.rejectedStep)
        var doomed: [RetainedRow] = []
        if work.act == .requeue { (limit, doomed) = try eventRoom(for: limit) }
        guard limit > 0 else { return work.left = 0 }
        switch work.act {
        case .requeue:
            try db.transaction { () throws(SQLiteError) in
                try tables.events.remove(doomed)
                try tables.deadLetters.requeueEvents(limit: limit)
            }
        case .purge:
            try securely { () throws(SQLiteError) in try tables.deadLetters.removeEvents(limit: limit) }
        }
        try countEvents()
        work.done += limit
        work.left -= limit
    }

    /// Part of a transaction; `requeued` follows.
    func requeue(_ letters: [DeadLetters.Letter]) throws(SQLiteError) {
        guard !letters.isEmpty else { return }
        try tables.deadLetters.requeue(letters, below: ledger.lowestSeq)
        try tables.counters.set(Counters.lowestSeq, to: ledger.lowestSeq - Int64(letters.count))
    }

    /// After COMMIT.
    mutating func requeued(_ letters: [DeadLetters.Letter]) {
        ledger.locations.remove(rejected: letters.count)
        ledger.returned(letters.map { ($0.ts, $0.session) })
    }
}
