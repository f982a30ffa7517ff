/// Where a location stands among the others: by the time of its fix, then by arrival. It is the rowid of its row.
///
/// The lower bits tell rows of one millisecond apart. More of them than the bits can count go to the milliseconds behind.
struct Place: Hashable, Comparable, Sendable {
    let rowid: Int64

    /// As in the schema.
    static let bits: Int64 = 14
    /// Until the year 10889: gpsd's four digits end in 9999.
    private static let times: ClosedRange<Int64> = -1 << 48...(1 << 48) - 1

    /// No row lies before this one.
    static let first = Place(rowid: .min)
    /// No row lies behind this one.
    static let last = Place(rowid: .max)

    init(rowid: Int64) {
        self.rowid = rowid
    }

    /// The first of a time, in Unix milliseconds.
    init(firstAt ts: Int64) {
        rowid = min(max(ts, Self.times.lowerBound), Self.times.upperBound) << Self.bits
    }

    /// The last of a time, in Unix milliseconds.
    init(lastAt ts: Int64) {
        rowid = Place(firstAt: ts).rowid | (1 << Self.bits - 1)
    }

    /// Unix milliseconds.
    var ts: Int64 { rowid >> Self.bits }

    var next: Place { Place(rowid: rowid < .max ? rowid + 1 : rowid) }
    var previous: Place { Place(rowid: rowid > .min ? rowid - 1 : rowid) }

    /// Oldest first, as batches and history read them.
    static func < (left: Place, right: Place) -> Bool {
        left.rowid < right.rowid
    }
}
