package import Base
internal import SQLite

/// A deletion that the user asked for, carried out in steps of at most 1,000 rows so that fixes go on being written.
package struct Deletion: Sendable {
    /// Rows at or before this go; nil means all.
    package internal(set) var cutoff: Timestamp?
    /// Rows that came after the request stay.
    var maxSeq: Int64
    /// The same for geofence events.
    var maxEventSeq: Int64
    /// Requests that come after this one, each with an earlier cutoff than the one before it.
    var following: [Bounds] = []
    /// Locations, geofence events and dead letters removed so far.
    package internal(set) var removed = 0
    /// Nothing is left to remove.
    package var isFinished: Bool { stage == .done }
    /// Names of files that were put aside and that nothing can be cut out of: they are kept when there is a cutoff.
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
        [Bounds(cutoff: cutoff, maxSeq: maxSeq, maxEventSeq: maxEventSeq)] + following
    }

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

extension Writer {
    private static let deletionStep: Int64 = 1000

    /// One step of a deletion.
    mutating func proceed(with deletion: inout Deletion) throws(SQLiteError) {
        let cutoff = deletion.cutoff?.milliseconds ?? .max
        let rows = try db.prepare(
            "SELECT ts, seq, session, uploaded FROM locations WHERE ts <= ? AND seq <= ? ORDER BY ts, seq LIMIT ?"
        )
        try rows.bind([.integer(cutoff), .integer(deletion.maxSeq), .integer(Self.deletionStep)])
        var last: RowKey?
        var pending: [Int64: Int] = [:]
        var counts = (all: 0, uploaded: 0)
        while try rows.step() {
            last = RowKey(ts: rows.integer(0), seq: rows.integer(1))
            counts.all += 1
            if rows.integer(3) != 0 {
                counts.uploaded += 1
            } else {
                pending[rows.integer(2), default: 0] += 1
            }
        }
        rows.reset()
        var doomed =
            try last.map { (end) throws(SQLiteError) in try batches(losingRowsUpTo: end, deletion) } ?? []
        doomed += try batchesOfEvents(in: deletion).filter { key in !doomed.contains { $0.key == key } }
            .compactMap { key in frozen.first { $0.key == key } }
        // Dead letters and events come last, with what is left of the step.
        let room = Self.deletionStep - Int64(counts.all)
        let (dissolved, left) = try delete(upTo: last, doomed: doomed, deletion, room: room)
        deletion.dissolved += dissolved
        frozen.removeAll { batch in doomed.contains { $0.key == batch.key } }
        tally.rows -= counts.all
        tally.uploaded -= counts.uploaded
        for (session, count) in pending { remove(pending: count, ofSession: session) }
        if let oldest = tally.oldestPending { try findOldestPending(from: oldest) }
        tally.rejected = Int(try db.value("SELECT COUNT(*) FROM rejected") ?? "") ?? 0
        try loadEvents()
        deletion.removed += counts.all + Int(room - left)
        if left > 0 { deletion.stage = .sessions }
    }

    /// Batches that hold one of the rows that go; others may reach as far back, with rows of their own behind.
    private func batches(losingRowsUpTo end: RowKey, _ deletion: Deletion) throws(SQLiteError) -> [Frozen] {
        let own = Statements.memberParameters + 1
        let loss = try db.prepare(
            "SELECT 1 FROM locations WHERE \(Statements.isMember) AND (ts, seq) <= (?\(own), ?\(own + 1)) AND seq <= ?\(own + 2) LIMIT 1"
        )
        var losing: [Frozen] = []
        for batch in frozen where batch.members.first <= end {
            try loss.bind(
                Statements.memberValues(batch.members)
                    + [.integer(end.ts), .integer(end.seq), .integer(deletion.maxSeq)])
            if try loss.step() { losing.append(batch) }
        }
        return losing
    }

    private func delete(
        upTo last: RowKey?, doomed: [Frozen], _ deletion: Deletion, room: Int64
    ) throws(SQLiteError) -> (dissolved: [UUIDv7], left: Int64) {
        try securely { () throws(SQLiteError) in
            var dissolved: [UUIDv7] = []
            for batch in doomed {
                try releaseEvents(ofBatch: batch.key)
                let id = try db.prepare("DELETE FROM batches WHERE key = ? RETURNING id")
                try id.bind([.integer(batch.key)])
                if try id.step(), let id = UUIDv7(bytes: id.blob(0)) { dissolved.append(id) }
            }
            if let last {
                try db.prepare("DELETE FROM locations WHERE (ts, seq) <= (?, ?) AND seq <= ?").run(
                    .integer(last.ts), .integer(last.seq), .integer(deletion.maxSeq))
            }
            let left = try deleteOthers(deletion, room: room)
            try writeTail()
            return (dissolved, left)
        }
    }

    /// Dead letters and geofence events. Returns what is left of the step.
    private func deleteOthers(_ deletion: Deletion, room: Int64) throws(SQLiteError) -> Int64 {
        var room = room
        for (table, key, maxSeq) in [
            ("rejected", "rejected_at", deletion.maxSeq), ("geofence_events", "ts", deletion.maxEventSeq),
            ("rejected_events", "rejected_at", deletion.maxEventSeq),
        ] where room > 0 {
            try db.prepare(
                """
                DELETE FROM \(table) WHERE (\(key), seq) IN \
                (SELECT \(key), seq FROM \(table) WHERE ts <= ? AND seq <= ? LIMIT ?)
                """
            ).run(.integer(deletion.cutoff?.milliseconds ?? .max), .integer(maxSeq), .integer(room))
            room -= Int64(db.changes)
        }
        return room
    }
}
