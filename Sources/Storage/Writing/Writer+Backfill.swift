package import Base
internal import SQLite

/// What was stored before a destination was added, on its way to becoming owed to it, in steps of at most 1,000 rows. If
/// interrupted, the rows reached so far are pending, and another request continues with the rest.
package struct Backfill: Sendable {
    package let destination: DestinationName
    /// Rows at or before these keys have been processed.
    var locationsUpTo: RowKey
    var eventsUpTo: RowKey
    var hasAllLocations = false
    /// Number of locations and events that are owed now.
    package internal(set) var done = 0
    /// Whether nothing is left to do.
    package internal(set) var isFinished = false

    /// - Parameter from: the first time of a row, inclusive; nil: all.
    package init(of destination: DestinationName, from: Timestamp?) {
        self.destination = destination
        locationsUpTo = RowKey(ts: from?.milliseconds ?? .min, seq: .min)
        eventsUpTo = locationsUpTo
    }
}

/// A destination that is not configured any more, on its way out, in steps of at most 1,000 rows. If interrupted, it is still
/// there, and another request continues.
package struct Forgetting: Sendable {
    package let destination: DestinationName
    var upTo = RowKey.first
    /// Rows that nobody else was owed.
    package internal(set) var removed = 0
    /// Whether nothing is left to do.
    package internal(set) var isFinished = false

    package init(_ destination: DestinationName) {
        self.destination = destination
    }
}

extension Writer {
    /// One step: locations first, then events.
    mutating func proceed(with work: inout Backfill) throws(SQLiteError) {
        let name = work.destination
        guard ledger.backlogs.contains(where: { $0.name == name }), ledger.hasDebts else {
            return work.isFinished = true
        }
        let kind = work.hasAllLocations ? RecordKind.events : .locations
        let offered = ledger[name].offered
        let known = work.hasAllLocations ? offered.events : offered.locations
        let (rows, next) = try kind.page(
            db, after: work.hasAllLocations ? work.eventsUpTo : work.locationsUpTo, to: .max
        ) { key, _ in !known.contains(key.seq) }
        if work.hasAllLocations {
            work.eventsUpTo = next ?? work.eventsUpTo
            work.isFinished = next == nil
        } else {
            work.locationsUpTo = next ?? work.locationsUpTo
            work.hasAllLocations = next == nil
            if !ledger[name].owed.events.isOpen { work.isFinished = next == nil }
        }
        guard !rows.isEmpty else { return }
        try offer(rows, kind, to: name)
        work.done += rows.count
    }

    private mutating func offer(
        _ rows: [DeadLetters.Returned], _ kind: RecordKind, to name: DestinationName
    ) throws(SQLiteError) {
        let isLocation = kind.code == RecordKind.locations.code
        let keys = rows.lazy.filter(\.wasKept).map(\.key)
        var backlog = ledger[name]
        let seqs = SeqSet(rows.map { $0.key.seq...$0.key.seq })
        if isLocation {
            backlog.offered.locations.formUnion(seqs)
        } else {
            backlog.offered.events.formUnion(seqs)
        }
        let owed = afterOwing(rows, kind, to: name)
        try db.transaction { () throws(SQLiteError) in
            if isLocation {
                try tables.locations.resend(Array(keys))
            } else {
                try tables.events.resend(Array(keys))
            }
            try tables.debts.set(backlog, from: ledger[name])
            try writeDebts(owed)
        }
        ledger[name].offered = backlog.offered
        if isLocation { return owe(rows, to: name) }
        for (name, owed) in owed { ledger[name].owed = owed }
        try countEvents()
    }

    /// One step: its batches and dead letters first, then the rows that nobody else is owed.
    mutating func proceed(with work: inout Forgetting) throws(SQLiteError) {
        let name = work.destination
        guard ledger.hasDebts, ledger[name].isOrphaned else { return work.isFinished = true }
        if work.upTo == .first { try forgetBatches(of: name) }
        let others = ledger.owed(besides: name)
        let owed = ledger[name].owed.locations.subtracting(others.locations)
        let (rows, next) = try RecordKind.locations.page(db, after: work.upTo, to: .max) { key, isKept in
            !isKept && owed.contains(key.seq)
        }
        work.upTo = next ?? work.upTo
        // What another has received may have to be kept.
        let had = options.keepsUploaded ? ledger.settled(besides: name) : Backlog.Owed()
        let left = rows.map { RetainedRow(key: $0.key, session: $0.session, isUploaded: false) }
        let kept = left.filter { had.locations.contains($0.key.seq) }
        let gone = left.filter { !had.locations.contains($0.key.seq) }
        work.removed += left.count
        guard next == nil else {
            try db.transaction { () throws(SQLiteError) in
                try tables.locations.remove(gone)
                try tables.locations.keep(kept.map(\.key))
                try writeTail()
            }
            try self.kept(kept, of: name)
            return try removed(gone)
        }
        let events = ledger[name].owed.events.subtracting(others.events)
        work.removed += try db.transaction { () throws(SQLiteError) in
            try tables.locations.remove(gone)
            try tables.locations.keep(kept.map(\.key))
            var count = try tables.events.settle(events.intersection(had.events), keeps: true)
            count += try tables.events.settle(events, keeps: false)
            try tables.debts.remove(name)
            try tables.counters.removeAll(of: name)
            try forgetRejections(by: name)
            try writeTail()
            return count
        }
        if let first = kept.first { ledger.uploadedFrom = min(ledger.uploadedFrom, first.key) }
        try load()
        try reconcile()
        work.isFinished = true
    }

    /// After COMMIT: the last that was owed these rows is not any more.
    private mutating func kept(_ rows: [RetainedRow], of name: DestinationName) throws(SQLiteError) {
        guard let first = rows.first else { return }
        ledger.locations.paid(rows.count, areKept: true)
        ledger.uploadedFrom = min(ledger.uploadedFrom, first.key)
        let oldest = ledger[name].locations.oldest
        if ledger[name].removed(rows), let oldest { try findOldestPending(of: name, from: oldest) }
    }

    private mutating func forgetBatches(of name: DestinationName) throws(SQLiteError) {
        let batches = ledger[name].queue.frozen
        try securely { () throws(SQLiteError) in
            for batch in batches { _ = try tables.batches.remove(key: batch.key) }
            for kind in RecordKind.all {
                try tables.deadLetters.remove(kind, of: name, limit: DeadLetters.limit)
            }
            try tables.deadLetters.endStreak(of: name)
            try tables.commands.remove(of: name)
        }
        ledger[name].queue.remove { _ in true }
        ledger[name].locations.rejected = 0
        ledger[name].events.rejected = 0
        ledger[name].hasStreak = false
    }
}
