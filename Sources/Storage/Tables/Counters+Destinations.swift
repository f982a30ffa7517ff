internal import Base
internal import SQLite

/// What is counted, or remembered as a number, of each destination. None has a name elsewhere: so a salvage knows them all.
enum DestinationCounter: String, CaseIterable {
    /// Where batches are sent, and what may have been refused there, as a number.
    case endpoint
    /// In which format batches are, as a number.
    case format
    /// Failures in a row because of size or time, and the tag of the batch that had them.
    case oversizedFailures = "oversized_failures"
    case oversizedBatch = "oversized_batch"
    /// Batches that were rejected since the latest acknowledgement, and the tag of the last of them.
    case consecutiveRejections = "consecutive_rejections"
    case rejectedBatch = "rejected_batch"
    /// Unix milliseconds: the first trusted time after the latest suspicion ended; 0 before there was any.
    case suspicionEnded = "suspicion_ended"
    /// The id of the batch with the oldest row, in halves, if it was refused for good, and the runs on which it was.
    case refusedBatchHigh = "refused_batch_high"
    case refusedBatchLow = "refused_batch_low"
    case refusals
    /// Connections in a row that were closed without an answer.
    case silentCloses = "silent_closes"
    /// The broker that has accepted MQTT 5, as a number of its url; 0: none has.
    case knownBroker = "known_broker"
    /// Losses; the names alone, without a destination, are those of all.
    case dropped = "dropped_unsent"
    case pruned, expired, refused
    /// The place of its oldest row, while the database is closed.
    case tallyOldestTime = "tally_oldest_ts"
    case tallyOldestSeq = "tally_oldest_seq"

    /// What becomes of it when the database is damaged.
    enum Survival {
        /// The counter is the same in the next database.
        case kept
        /// The counter is kept once the endpoint is suspected. Before that it counts dead letters, which are
        /// pending again: counted twice, two batches that are at fault would raise a suspicion that nothing
        /// ends.
        case keptOnceSuspected
        /// The counter is added to that of the next database.
        case added
        /// The counter says where rows are, and rows are counted anew.
        case countedAnew
    }

    var survival: Survival {
        switch self {
        case .endpoint, .format, .oversizedFailures, .oversizedBatch, .suspicionEnded, .refusedBatchHigh,
            .refusedBatchLow, .refusals, .silentCloses, .knownBroker:
            .kept
        case .consecutiveRejections, .rejectedBatch: .keptOnceSuspected
        case .dropped, .pruned, .expired, .refused: .added
        case .tallyOldestTime, .tallyOldestSeq: .countedAnew
        }
    }
}

extension Counters {
    func value(
        _ counter: DestinationCounter, of destination: DestinationName = .main
    ) throws(SQLiteError) -> Int64 {
        try value(Self.name(counter, of: destination))
    }

    /// Writes only what differs.
    func set(
        _ counter: DestinationCounter, of destination: DestinationName, to value: Int64
    ) throws(SQLiteError) {
        try set(Self.name(counter, of: destination), to: value)
    }

    /// The stored name of a counter. For `main` it has no destination in it, unless it is a loss: the names
    /// of losses alone are for all.
    static func name(_ counter: DestinationCounter, of destination: DestinationName) -> String {
        destination == .main && counter.survival != .added
            ? counter.rawValue : counter.rawValue + suffix(destination)
    }

    static func suffix(_ destination: DestinationName) -> String { "@\(destination)" }

    /// Forgets what is kept under its name.
    func removeAll(of destination: DestinationName) throws(SQLiteError) {
        try db.prepare("DELETE FROM counters WHERE substr(name, -?1) = ?2").run(
            .integer(Int64(destination.text.utf8.count + 1)), .text(Self.suffix(destination)))
    }

    // MARK: Losses

    /// Part of the transaction that loses them.
    func add(_ lost: LossAccount) throws(SQLiteError) {
        try add(lost.all) { $0.rawValue }
        for (name, losses) in lost.byName { try add(losses) { Self.name($0, of: name) } }
    }

    private func add(_ lost: Losses, _ name: (DestinationCounter) -> String) throws(SQLiteError) {
        for (counter, field) in Losses.counters where lost[keyPath: field] > 0 {
            try raise.run(.text(name(counter)), .integer(Int64(lost[keyPath: field])))
        }
    }

    /// - Parameter destination: nil for the losses of all.
    func losses(of destination: DestinationName? = nil) throws(SQLiteError) -> Losses {
        try Losses(of: destination, reading: { (name) throws(SQLiteError) in try value(name) })
    }
}

extension Losses {
    fileprivate static let counters:
        [(counter: DestinationCounter, field: any (WritableKeyPath<Losses, Int> & Sendable))] = [
            (.dropped, \.dropped), (.pruned, \.pruned), (.expired, \.expired), (.refused, \.refused),
        ]

    /// - Parameter destination: nil for the losses of all.
    init<Failure>(
        of destination: DestinationName? = nil, reading counter: Counters.Reading<Failure>
    ) throws(Failure) {
        self.init()
        for (name, field) in Self.counters {
            let name = destination.map { Counters.name(name, of: $0) } ?? name.rawValue
            self[keyPath: field] = Bounded.losses(try counter(name))
        }
    }
}
