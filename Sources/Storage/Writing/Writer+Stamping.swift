internal import Base
internal import SQLite
internal import Tracking

/// Events that happened before the time was known.
extension Writer {
    /// Gives all of them the time that they happened at, for good; from then on they are pending like any others.
    mutating func stamp(by anchor: EventTime.Anchor) throws(SQLiteError) -> Int {
        let rows = try tables.events.untimed()
        guard !rows.isEmpty else { return 0 }
        // None of this boot is stored that is later than they are: it would have stamped them.
        let last = try tables.lastTime().map { Timestamp(milliseconds: $0) }
        let times = rows.compactMap { row in
            var time = row.time
            time.settle(by: anchor, lastTrusted: last)
            return switch time {
            case .known(let time, let isEstimated): (row.key.seq, time, isEstimated)
            case .pending: nil as (Int64, Timestamp, Bool)?
            }
        }
        try db.transaction { () throws(SQLiteError) in try tables.events.stamp(times) }
        try countEvents()
        return times.count
    }
}

extension Tables {
    /// The latest time that is known of any row, also of locations that have left.
    func lastTime() throws(SQLiteError) -> Int64? {
        let newest = try sessions.lastTime()
        return [newest, try locations.lastTime(), try events.lastTime()].compactMap(\.self).max()
    }
}
