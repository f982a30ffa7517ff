internal import Base
internal import SQLite

/// Which destinations rows are owed to. With `main` alone nothing of it is written down.
extension Writer {
    /// Seconds for which a destination that is not configured any more is still owed what is stored: a typing error in a
    /// file must not cost a backlog.
    private static let orphanPatience = 7.0 * 86_400

    /// Brings what is written down into line with the configuration.
    mutating func reconcile() throws(SQLiteError) {
        let configured = options.destinations
        let isPlain = configured.allSatisfy { $0.name == .main && $0.carriesEvents && $0.carriesCrossings }
        guard ledger.hasDebts || !isPlain else { return }
        let old = ledger.hasDebts ? ledger.backlogs : []
        var new = ledger.backlogs.filter { Self.isNeeded($0, configured) }
        // Without an endpoint it was never in use, and is owed only what was stored while nothing else was configured.
        let wasUsed = try tables.counters.value(.endpoint) != 0
        for index in new.indices where new[index].name == .main && !wasUsed && !configured.isEmpty {
            if !configured.contains(where: { $0.name == .main }) { new[index].close(before: ledger.numbers) }
        }
        for index in new.indices where !configured.contains(where: { $0.name == new[index].name }) {
            new[index].isOrphaned = true
        }
        for destination in configured {
            configure(destination, leaves: try leaves(owedTo: destination), in: &new)
        }
        if configured.isEmpty || !new.contains(where: \.owed.locations.isOpen) { keepForMain(in: &new) }
        if isPlain, try isSettled(new) { return try forgetDebts() }
        try write(new, in: old)
    }

    /// Not an orphan that has nothing, and is owed nothing any more.
    private static func isNeeded(_ backlog: Backlog, _ configured: [StoreOptions.Destination]) -> Bool {
        backlog.name == .main || !backlog.isOrphaned || backlog.owed.locations.isOpen || backlog.pending > 0
            || backlog.rejected > 0 || configured.contains { $0.name == backlog.name }
    }

    /// Exits that a destination is owed still which is to have no crossings any more: who has been told of an entry, or may
    /// have been, would believe the vehicle inside for ever.
    private func leaves(owedTo destination: StoreOptions.Destination) throws(SQLiteError) -> SeqSet {
        guard destination.endsEntries else { return SeqSet() }
        let backlog = ledger[destination.name]
        let frozen = backlog.queue.frozen.reduce(into: SeqSet()) { $0.formUnion($1.members.events) }
        return try tables.events.leaves(in: backlog.owed.events, besides: frozen)
            .union(frozen.intersection(backlog.owed.events))
    }

    private func configure(
        _ destination: StoreOptions.Destination, leaves: SeqSet, in backlogs: inout [Backlog]
    ) {
        if !backlogs.contains(where: { $0.name == destination.name }) {
            var backlog = Backlog(name: destination.name)
            backlog.offered = Backlog.Owed()
            backlogs.append(backlog)
        }
        for index in backlogs.indices where backlogs[index].name == destination.name {
            backlogs[index].isOrphaned = false
            backlogs[index].orphanedAt = nil
            backlogs[index].open(
                from: ledger.numbers, carriesEvents: destination.carriesEvents, leaves: leaves)
        }
    }

    /// What is stored while nothing is configured is for `main`, once that is.
    private func keepForMain(in backlogs: inout [Backlog]) {
        if !backlogs.contains(where: { $0.name == .main }) {
            var main = Backlog(name: .main)
            main.offered = Backlog.Owed()
            main.isOrphaned = true
            backlogs.append(main)
        }
        for index in backlogs.indices where backlogs[index].name == .main {
            backlogs[index].open(from: ledger.numbers, carriesEvents: true)
        }
    }

    /// Whether only `main` is left, and is owed all that is pending.
    private func isSettled(_ backlogs: [Backlog]) throws(SQLiteError) -> Bool {
        guard backlogs.count == 1, let main = backlogs.first, main.owed.events.isOpen else { return false }
        let others = SeqSet.everything.subtracting(main.owed.locations)
        let otherEvents = SeqSet.everything.subtracting(main.owed.events)
        guard try tables.locations.countPending(in: others).isEmpty else { return false }
        return try tables.events.pending(in: otherEvents).counts.isEmpty
    }

    private mutating func forgetDebts() throws(SQLiteError) {
        let names = ledger.names
        try db.transaction { () throws(SQLiteError) in
            for name in names { try tables.debts.remove(name) }
        }
        ledger.replace(backlogs: [])
        try load()
    }

    /// Writes down what has changed.
    mutating func write(_ new: [Backlog], in old: [Backlog]) throws(SQLiteError) {
        guard new != old else { return }
        let dropped = endedEvents(from: old, to: new)
        let counts = try db.transaction { () throws(SQLiteError) in
            for backlog in old where !new.contains(where: { $0.name == backlog.name }) {
                try tables.debts.remove(backlog.name)
            }
            for backlog in new {
                try tables.debts.set(backlog, from: old.first { $0.name == backlog.name })
            }
            var lost = LossAccount()
            for (name, events) in dropped {
                lost.byName[name] = Losses(dropped: try tables.events.count(in: events))
            }
            let left = new.reduce(into: SeqSet()) { $0.formUnion($1.owed.events) }
            let ended = dropped.reduce(into: SeqSet()) { $0.formUnion($1.1) }
            lost.all.dropped = try tables.events.settle(ended.subtracting(left), keeps: false)
            try tables.counters.add(lost)
            return lost.byName
        }
        uncarried += counts.filter { $0.value.dropped > 0 }.sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.dropped) }
        // Rare enough for everything to be counted anew.
        try load()
    }

    /// The events that a destination was owed whose format cannot carry them any more.
    private func endedEvents(from old: [Backlog], to new: [Backlog]) -> [(DestinationName, SeqSet)] {
        new.compactMap { backlog in
            let former = old.first { $0.name == backlog.name } ?? ledger[backlog.name]
            let ended = former.owed.events.subtracting(backlog.owed.events)
            guard !backlog.isOrphaned, !ended.isEmpty else { return nil }
            return (backlog.name, ended)
        }
    }

    // MARK: Orphans

    /// Notes since when destinations are orphaned, and ends what they are owed once that is too long ago.
    ///
    /// - Parameter time: trusted.
    mutating func ageOrphans(at time: Timestamp) throws(SQLiteError) {
        guard ledger.backlogs.contains(where: \.isOrphaned) else { return }
        var changed = ledger.backlogs
        for index in changed.indices where changed[index].isOrphaned {
            let since = changed[index].orphanedAt ?? time
            changed[index].orphanedAt = since
            if time.seconds(since: since) > Self.orphanPatience {
                changed[index].close(before: ledger.numbers)
            }
        }
        if options.destinations.isEmpty || !changed.contains(where: \.owed.locations.isOpen) {
            keepForMain(in: &changed)
        }
        guard changed != ledger.backlogs else { return }
        let old = ledger.backlogs
        try db.transaction { () throws(SQLiteError) in
            for backlog in changed {
                try tables.debts.set(backlog, from: old.first { $0.name == backlog.name })
            }
        }
        ledger.replace(backlogs: changed)
    }
}

extension Backlog {
    /// Owed what comes from now on.
    ///
    /// - Parameter leaves: all that it is owed still of events, if it carries none.
    mutating func open(from numbers: Ledger.Numbers, carriesEvents: Bool, leaves: SeqSet = SeqSet()) {
        if !owed.locations.isOpen {
            owed.locations.formUnion(.from(numbers.next))
            offered.locations.formUnion(.from(numbers.next))
        }
        if !carriesEvents {
            owed.events = leaves
            offered.events.close(before: numbers.nextEvent)
        } else if !owed.events.isOpen {
            owed.events.formUnion(.from(numbers.nextEvent))
            offered.events.formUnion(.from(numbers.nextEvent))
        }
    }

    /// Owed nothing that comes from now on.
    fileprivate mutating func close(before numbers: Ledger.Numbers) {
        owed.locations.close(before: numbers.next)
        owed.events.close(before: numbers.nextEvent)
        offered.locations.close(before: numbers.next)
        offered.events.close(before: numbers.nextEvent)
    }
}
