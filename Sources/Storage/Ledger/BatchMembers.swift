internal import SQLite

/// Rows of a batch that follow each other: by time and, without a gap, by number. No row that comes later, or comes back,
/// can lie between the two keys and have a number between theirs.
struct RowRun: Equatable, Sendable {
    var first: RowKey
    var last: RowKey

    var seqs: ClosedRange<Int64> { first.seq...max(first.seq, last.seq) }

    func contains(_ key: RowKey) -> Bool { key >= first && key <= last && seqs.contains(key.seq) }

    /// The runs of rows that are ordered by time. Almost always one.
    static func runs(of keys: some Sequence<RowKey>) -> [RowRun] {
        var runs: [RowRun] = []
        for key in keys {
            if let last = runs.last?.last, last.seq < .max, key.seq == last.seq + 1, key > last {
                runs[runs.count - 1].last = key
            } else {
                runs.append(RowRun(first: key, last: key))
            }
        }
        return runs
    }
}

/// Which rows a batch holds: exactly these, whatever becomes owed later.
struct BatchMembers: Equatable, Sendable {
    var session: Int64
    /// The version of the extras that all of them were stored under.
    var extras: Int64
    /// The locations, oldest first.
    var runs: [RowRun]
    /// The numbers of the events.
    var events = SeqSet()

    /// The numbers of the locations.
    var seqs: SeqSet { SeqSet(runs.map(\.seqs)) }

    /// The parts of the runs with these numbers.
    func parts(in seqs: SeqSet) -> [(run: RowRun, seqs: ClosedRange<Int64>)] {
        runs.flatMap { run in seqs.intersection(SeqSet([run.seqs])).ranges.map { (run, $0) } }
    }

    var count: Int { runs.reduce(0) { Int(clamping: Int64($0) &+ ($1.last.seq &- $1.first.seq &+ 1)) } }
    var first: RowKey? { runs.first?.first }
    var last: RowKey? { runs.last?.last }

    /// Whether the batch holds this location.
    func contains(_ key: RowKey) -> Bool {
        guard let first, let last, key >= first, key <= last else { return false }
        return runs.contains { $0.contains(key) }
    }

    /// Whether it holds one of the locations up to `end` whose numbers are at most `maxSeq`.
    func holdsLocations(upTo end: RowKey, maxSeq: Int64) -> Bool {
        runs.contains { $0.first <= end && $0.first.seq <= maxSeq }
    }
}

// MARK: As columns

extension BatchMembers {
    /// The columns of `batches` for the members, in the order of `values`.
    static let columns = "session, extras, first_ts, first_seq, last_ts, last_seq, runs, events"

    /// A batch that is a single run, as nearly all are, needs no list.
    var values: [Value] {
        let list =
            runs.count < 2 ? nil : runs.map { "\($0.first.ts) \($0.first.seq) \($0.last.ts) \($0.last.seq)" }
        return [
            .integer(session), .integer(extras), .optional(first?.ts), .optional(first?.seq),
            .optional(last?.ts), .optional(last?.seq), list.map { .text($0.joined(separator: ";")) } ?? .null,
            events.text.map { .text($0) } ?? .null,
        ]
    }

    /// - Parameter column: the first of `columns`.
    /// - Returns: nil for what `values` does not write.
    init?(_ row: borrowing Statement, from column: Int32 = 0) {
        guard let events = SeqSet(text: row.text(column + 7)),
            let runs = row.isNull(column + 6)
                ? Self.singleRun(row, column + 2) : Self.runs(row.text(column + 6) ?? "")
        else { return nil }
        self.init(session: row.integer(column), extras: row.integer(column + 1), runs: runs, events: events)
    }

    private static func singleRun(_ row: borrowing Statement, _ column: Int32) -> [RowRun]? {
        if row.isNull(column) { return [] }
        return checked([
            RowRun(
                first: RowKey(ts: row.integer(column), seq: row.integer(column + 1)),
                last: RowKey(ts: row.integer(column + 2), seq: row.integer(column + 3)))
        ])
    }

    private static func runs(_ text: String) -> [RowRun]? {
        var runs: [RowRun] = []
        for part in text.split(separator: ";") {
            let numbers = part.split(separator: " ").compactMap { Int64($0) }
            guard numbers.count == 4 else { return nil }
            runs.append(
                RowRun(
                    first: RowKey(ts: numbers[0], seq: numbers[1]),
                    last: RowKey(ts: numbers[2], seq: numbers[3])))
        }
        return checked(runs)
    }

    /// More rows than any batch has.
    private static let largest: Int64 = 1 << 20

    private static func checked(_ runs: [RowRun]) -> [RowRun]? {
        let areOrdered = zip(runs, runs.dropFirst()).allSatisfy { $0.last < $1.first }
        let areRuns = runs.allSatisfy {
            $0.first <= $0.last && $0.first.seq <= $0.last.seq && $0.last.seq &- $0.first.seq < largest
                && $0.last.seq < .max
        }
        return areOrdered && areRuns ? runs : nil
    }
}
