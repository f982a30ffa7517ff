package import Base
internal import SQLite

/// Kept rows on their way back into the queue, in steps of at most 1,000 so that fixes continue to be written. Rows
/// that are pending, frozen or dead are not changed. If interrupted, the rows reached so far are pending, and another
/// request continues with the rest.
package struct Resend: Sendable {
    /// The destination that is to get the rows again.
    package let destination: DestinationName
    let from: Int64
    let to: Int64
    /// Rows at or before these keys have been processed, and may have been acknowledged again meanwhile.
    var locationsUpTo: RowKey
    var eventsUpTo: RowKey
    var hasAllLocations = false
    /// Number of locations and geofence events that are pending again.
    package internal(set) var done = 0
    /// Whether nothing is left to do.
    package internal(set) var isFinished = false

    /// - Parameters:
    ///   - destination: who is to get them again.
    ///   - from: the first time of a row, inclusive.
    ///   - to: the last time, inclusive; nil: no end.
    package init(for destination: DestinationName = .main, from: Timestamp, to: Timestamp?) {
        self.destination = destination
        self.from = from.milliseconds
        self.to = to?.milliseconds ?? .max
        locationsUpTo = RowKey(ts: from.milliseconds, seq: .min)
        eventsUpTo = locationsUpTo
    }
}

extension Writer {
    /// One step: locations first, then events.
    mutating func proceed(with work: inout Resend) throws(SQLiteError) {
        // Nobody would ever get them.
        guard ledger.names.contains(work.destination) else { return work.isFinished = true }
        if work.hasAllLocations {
            try resendEvents(&work)
        } else {
            try resendLocations(&work)
        }
    }

    /// What the destination has received: rows that are kept, and those that only others are owed.
    private mutating func resendLocations(_ work: inout Resend) throws(SQLiteError) {
        let name = work.destination
        let received = try received(by: name, .locations)
        let (rows, next) = try RecordKind.locations.page(db, after: work.locationsUpTo, to: work.to) {
            key, isKept in
            received.kept.contains(key.seq) && (isKept || received.others.contains(key.seq))
        }
        work.locationsUpTo = next ?? work.locationsUpTo
        work.hasAllLocations = next == nil
        guard !rows.isEmpty else { return }
        try db.transaction { () throws(SQLiteError) in
            try tables.locations.resend(rows.map(\.key))
            try writeDebts(afterOwing(rows, .locations, to: name))
        }
        owe(rows, to: name)
        work.done += rows.count
    }

    /// Among the rows that are kept, and among those that others are still owed.
    private func received(
        by name: DestinationName, _ kind: RecordKind
    ) throws(SQLiteError) -> (kept: SeqSet, others: SeqSet) {
        let backlog = ledger[name]
        let refused = backlog.rejected > 0 ? try tables.deadLetters.seqs(kind, of: name) : SeqSet()
        guard ledger.hasDebts else { return (SeqSet.everything.subtracting(refused), SeqSet()) }
        let isLocation = kind.code == RecordKind.locations.code
        let offered = isLocation ? backlog.offered.locations : backlog.offered.events
        let owed = isLocation ? backlog.owed.locations : backlog.owed.events
        let kept = offered.subtracting(refused)
        return (kept, kept.subtracting(owed))
    }

    private mutating func resendEvents(_ work: inout Resend) throws(SQLiteError) {
        let name = work.destination
        let received = try received(by: name, .events)
        let (rows, next) = try RecordKind.events.page(db, after: work.eventsUpTo, to: work.to) {
            key, isKept in
            received.kept.contains(key.seq) && (isKept || received.others.contains(key.seq))
        }
        work.eventsUpTo = next ?? work.eventsUpTo
        work.isFinished = next == nil
        guard !rows.isEmpty else { return }
        try db.transaction { () throws(SQLiteError) in
            try tables.events.resend(rows.map(\.key))
            try writeDebts(afterOwing(rows, .events, to: name))
        }
        for (name, owed) in afterOwing(rows, .events, to: name) { ledger[name].owed = owed }
        try countEvents()
        work.done += rows.count
    }
}
