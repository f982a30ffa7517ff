package import Base

/// A deletion that the user asked for, carried out in steps of at most 1,000 rows so that fixes continue to be written.
package struct Deletion: Sendable {
    /// Rows at or before this go; nil means all.
    package internal(set) var cutoff: Timestamp?
    /// Rows that came after the request stay.
    var maxSeq: Int64
    /// Geofence events that came after the request stay.
    var maxEventSeq: Int64
    /// Requests that come after this one, each with an earlier cutoff than the one before it.
    var following: [Bounds] = []
    /// Locations, geofence events and dead letters removed so far.
    package internal(set) var removed = 0
    /// Whether nothing is left to remove.
    package var isFinished: Bool { stage == .done }
    /// Names of files that were moved aside and that nothing can be cut out of: they are kept when there is a cutoff.
    package internal(set) var kept: [String] = []
    var stage = Stage.rows
    /// Attempts to empty the log.
    var waits = 0

    /// The next step.
    enum Stage: Sendable {
        case rows, sessions, files, freeSpace, log, done
    }

    /// What one request covers.
    struct Bounds: Equatable, Sendable {
        var cutoff: Timestamp?
        var maxSeq: Int64
        var maxEventSeq: Int64

        /// Covers a row of any table, its parameter being `lastTime`. A row without a time goes with everything only.
        static let coversTime = "coalesce(ts, \(Int64.max)) <= ?"

        var lastTime: Int64 { cutoff?.milliseconds ?? .max }

        /// Whether nothing remains to do for `earlier` once this is done. Sequence numbers only grow.
        func covers(_ earlier: Bounds) -> Bool {
            guard let cutoff else { return true }
            return earlier.cutoff.map { $0 <= cutoff } ?? false
        }
    }

    init(_ bounds: [Bounds]) {
        cutoff = bounds.first?.cutoff
        maxSeq = bounds.first?.maxSeq ?? .min
        maxEventSeq = bounds.first?.maxEventSeq ?? .min
        following = Array(bounds.dropFirst())
    }

    /// All that is to be done, in order.
    var bounds: [Bounds] {
        [current] + following
    }

    /// What is being done.
    var current: Bounds { Bounds(cutoff: cutoff, maxSeq: maxSeq, maxEventSeq: maxEventSeq) }

    /// Counts what waited in memory for the disk, and is not written any more.
    package mutating func add(discarded count: Int) {
        removed += count
    }

    /// Goes on with other requests, from their first step.
    mutating func proceed(to bounds: [Bounds]) {
        var next = Deletion(bounds)
        (next.removed, next.dissolved) = (removed, dissolved)
        self = next
    }

    /// Frozen batches that held such rows; what is left of them goes into new ones.
    package internal(set) var dissolved: [UUIDv7] = []
}
