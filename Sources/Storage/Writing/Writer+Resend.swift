package import Base
internal import SQLite

/// Kept rows on their way back into the queue, in steps of at most 1,000 so that fixes continue to be written. Rows
/// that are pending, frozen or dead are not changed. If interrupted, the rows reached so far are pending, and another
/// request continues with the rest.
package struct Resend: Sendable {
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
    ///   - from: the first time of a row, inclusive.
    /// - to: the last time, inclusive; nil: no end.
    package init(from: Timestamp, to: Timestamp?) {
        self.from = from.milliseconds
        self.to = to?.milliseconds ?? .max
        locationsUpTo = RowKey(ts: from.milliseconds, seq: .min)
        eventsUpTo = locationsUpTo
    }
}

extension Writer {
    private static let resendStep = 1000
    /// Number of rows that one step examines.
    private static let resendSearch = 10_000

    /// One step: locations first, then events.
    mutating func proceed(with work: inout Resend) throws(SQLiteError) {
        if work.hasAllLocations {
            try resendEvents(&work)
        } else {
            try resendLocations(&work)
        }
    }

    /// The next kept rows after `key`, at most one step of them.
    ///
    /// - Returns: the rows, and where to continue; nil at the end of the range. Kept rows may be few among many: a
    ///   step examines no more than a few thousand.
    private func kept(
        _ kind: RecordKind, after key: RowKey, to: Int64
    ) throws(SQLiteError) -> (rows: [(key: RowKey, session: Int64)], next: RowKey?) {
        let rows = try db.prepare(
            """
            SELECT ts, seq, session, uploaded FROM \(kind.table) WHERE (ts, seq) > (?, ?) AND ts <= ? \
            ORDER BY ts, seq LIMIT \(Self.resendSearch)
            """)
        try rows.bind([.integer(key.ts), .integer(key.seq), .integer(to)])
        var found: [(RowKey, Int64)] = []
        var last: RowKey?
        var looked = 0
        while found.count < Self.resendStep, try rows.step() {
            let key = RowKey(ts: rows.integer(0), seq: rows.integer(1))
            if rows.integer(3) != 0 { found.append((key, rows.integer(2))) }
            last = key
            looked += 1
        }
        let isAll = found.count < Self.resendStep && looked < Self.resendSearch
        return (found, isAll ? nil : last)
    }

    /// They get new sequence numbers, lower than any given before, like re-queued dead letters: none may join a batch
    /// that is frozen, or about to be, and be acknowledged with it unsent.
    private mutating func resendLocations(_ work: inout Resend) throws(SQLiteError) {
        let (rows, next) = try kept(.locations, after: work.locationsUpTo, to: work.to)
        work.locationsUpTo = next ?? work.locationsUpTo
        work.hasAllLocations = next == nil
        guard !rows.isEmpty else { return }
        let lowest = ledger.lowestSeq
        try db.transaction { () throws(SQLiteError) in
            try tables.locations.resend(rows.map(\.key), below: lowest)
            try tables.counters.set(Counters.lowestSeq, to: lowest - Int64(rows.count))
            // The newest row of a session is identified by its number.
            try writeTail()
        }
        ledger.locations.remove(uploaded: rows.count)
        ledger.returned(rows.map { ($0.key.ts, $0.session) })
        work.done += rows.count
    }

    private mutating func resendEvents(_ work: inout Resend) throws(SQLiteError) {
        let (rows, next) = try kept(.events, after: work.eventsUpTo, to: work.to)
        work.eventsUpTo = next ?? work.eventsUpTo
        work.isFinished = next == nil
        guard !rows.isEmpty else { return }
        try db.transaction { () throws(SQLiteError) in try tables.events.resend(rows.map(\.key)) }
        try countEvents()
        work.done += rows.count
    }
}
