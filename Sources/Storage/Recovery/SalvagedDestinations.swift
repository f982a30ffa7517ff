internal import Base
internal import SQLite

/// What the damaged database knew of each destination.
struct SalvagedDestinations {
    /// Counters that survive.
    private(set) var counters: [DestinationName: [DestinationCounter: Int64]] = [:]
    private(set) var losses: [DestinationName: Losses] = [:]
    /// What each was owed and offered, without rows; empty where all was owed to `main`, nil when it cannot be read.
    var backlogs: [Backlog]?

    init() {}

    /// - Parameter values: all counters of that database.
    init(counters values: [String: Int64]) {
        for name in Self.names(in: values) {
            func value(_ counter: DestinationCounter) -> Int64 {
                values[Counters.name(counter, of: name)] ?? 0
            }
            let isSuspected = value(.consecutiveRejections) >= Writer.suspicionLimit
            for counter in DestinationCounter.allCases where value(counter) != 0 {
                switch counter.survival {
                case .kept: counters[name, default: [:]][counter] = value(counter)
                case .keptOnceSuspected where isSuspected:
                    counters[name, default: [:]][counter] = value(counter)
                case .keptOnceSuspected, .added, .countedAnew: break
                }
            }
            losses[name] = Losses(of: name, reading: { values[$0] ?? 0 })
        }
    }

    /// Names of all destinations that counters tell of, also of those that get nothing any more: they may come back.
    private static func names(in values: [String: Int64]) -> Set<DestinationName> {
        let found = values.keys.compactMap { name in
            name.lastIndex(of: "@").flatMap { DestinationName(String(name[name.index(after: $0)...])) }
        }
        return Set(found).union([.main])
    }

    /// Destinations that a row is or was pending for; nil: all of them, as that is not known.
    ///
    /// - Parameter seq: its number in that database.
    func claims(
        on seq: Int64, _ kind: RecordKind
    ) -> (owed: Set<DestinationName>, offered: Set<DestinationName>)? {
        guard let backlogs else { return nil }
        if backlogs.isEmpty { return ([.main], [.main]) }
        let field = kind.code == RecordKind.locations.code ? \Backlog.Owed.locations : \.events
        func names(_ owed: (Backlog) -> Backlog.Owed) -> Set<DestinationName> {
            Set(backlogs.filter { owed($0)[keyPath: field].contains(seq) }.map(\.name))
        }
        return (names(\.owed), names(\.offered))
    }
}

extension Writer {
    /// Part of a transaction: numbers that the next database has are newer.
    func adopt(_ former: SalvagedDestinations) throws(SQLiteError) {
        for (name, counters) in former.counters {
            for (counter, value) in counters where try tables.counters.value(counter, of: name) == 0 {
                try tables.counters.set(counter, of: name, to: value)
            }
        }
    }

    /// Adopts destinations that are not configured, as they were: since when, and whether they are owed what
    /// is still to come.
    mutating func adoptOrphans(_ former: [Backlog]) throws(SQLiteError) {
        guard !former.isEmpty else { return }
        var changed = ledger.backlogs
        for old in former where !options.destinations.contains(where: { $0.name == old.name }) {
            if !changed.contains(where: { $0.name == old.name }) {
                var new = Backlog(name: old.name)
                new.offered = Backlog.Owed()
                changed.append(new)
            }
            for index in changed.indices where changed[index].name == old.name {
                changed[index].isOrphaned = true
                changed[index].orphanedAt = changed[index].orphanedAt ?? old.orphanedAt
                guard old.owed.locations.isOpen else { continue }
                changed[index].open(from: ledger.numbers, carriesEvents: old.owed.events.isOpen)
            }
        }
        try write(changed, in: ledger.hasDebts ? ledger.backlogs : [])
    }
}

extension Backlog {
    /// A salvaged row has this number now.
    ///
    /// - Parameter kind: that of the row.
    mutating func claim(_ seq: Int64, _ kind: RecordKind, isOwed: Bool, isOffered: Bool) {
        let field = kind.code == RecordKind.locations.code ? \Backlog.Owed.locations : \.events
        owed[keyPath: field].set(seq, isMember: isOwed)
        offered[keyPath: field].set(seq, isMember: isOwed || isOffered)
    }
}

extension SeqSet {
    fileprivate mutating func set(_ seq: Int64, isMember: Bool) {
        if isMember {
            insert(seq)
        } else if contains(seq) {
            subtract(SeqSet([seq...seq]))
        }
    }
}
