internal import Base
internal import SQLite
internal import Tracking

/// Writes what was salvaged, under its own ids, with new sequence numbers. Everything may be repeated after a kill: what is
/// there already is not written again.
extension Writer {
    /// What has to be remembered of the damaged database, whether or not its rows read.
    ///
    /// - Parameter name: of the file.
    /// - Returns: nil, or when it is not to be read any more, whether all of it has been imported: it was read to its end,
    ///   or has been tried too often without a row of it coming over.
    mutating func beginImport(_ salvage: borrowing Salvage, name: String) throws(SQLiteError) -> Bool? {
        let attempt = Self.attempt(name)
        let attempts = try tables.counters.value(attempt)
        guard (0..<Salvage.attempts).contains(attempts) else { return attempts == Salvage.complete }
        let (losses, erased, ages) = (salvage.losses, salvage.erased, salvage.ages)
        let settings = max(salvage.odometerSettings, ledger.sessions.odometerSettings)
        let destinations = salvage.destinations
        let marks = salvage.counters.filter { $0.key.hasPrefix(Self.attempt("")) }
        let known = try tables.counters.deletions()
        let deletions = known.filter { bounds in !erased.contains { $0.covers(bounds) } } + erased
        let knowsAges = try tables.counters.ages() != nil
        var numbers = Ledger.Numbers()
        for bounds in erased { numbers.cover(Ledger.Numbers(past: bounds)) }
        ledger.cover(numbers)
        try db.transaction { () throws(SQLiteError) in
            try tables.counters.set(attempt, to: attempts + 1)
            guard attempts == 0 else { return }
            try tables.counters.add(LossAccount(all: losses, byName: destinations.losses))
            if !erased.isEmpty {
                try tables.counters.set(deletions: Array(deletions.suffix(Counters.deletionLimit)))
            }
            if !knowsAges, let ages { try tables.counters.set(ages) }
            if settings > 0 { try tables.counters.set(Self.odometerSettings, to: settings) }
            try adopt(destinations)
            // Of files that were moved aside before this one.
            for (mark, value) in marks where try tables.counters.value(mark) == 0 {
                try tables.counters.set(mark, to: value)
            }
        }
        try adoptOrphans(destinations.backlogs ?? [])
        return nil
    }

    static func attempt(_ name: String) -> String { "salvage of " + name }

    /// The time of the last row that came over.
    private static func reached(_ name: String) -> String { attempt(name) + " reached" }

    /// Records that the import is done, whatever becomes of the file's name: what the user or an acknowledgement has
    /// deleted since must not come back.
    func endImport(name: String, isComplete: Bool) throws(SQLiteError) {
        try tables.counters.set(Self.attempt(name), to: isComplete ? Salvage.complete : Salvage.attempts)
    }

    /// Deletions that were under way in a database of which nothing reads.
    func remember(_ erasing: [Deletion.Bounds]) throws(SQLiteError) {
        guard try tables.counters.deletions().isEmpty else { return }
        try db.transaction { () throws(SQLiteError) in try tables.counters.set(deletions: erasing) }
    }

    /// - Parameters:
    ///   - name: of the file.
    ///   - done: how many rows have been, locations and events.
    mutating func importRows(_ salvage: inout Salvage, name: String, done: inout Int) throws(SQLiteError) {
        // No set may be forgotten before its rows are written; the salvage bounds them.
        ledger.extras.keepAll()
        var names = Names()
        salvage.readMembers()
        var letters = salvage.deadLetters()[...]
        var cursor = Salvage.Cursor()
        while !cursor.isAtEnd {
            var rows = salvage.next(&cursor)
            // In order of time, because a session resumes from its last row.
            let end = rows.last?.row.key
            let due = letters.prefix { letter in cursor.isAtEnd || end.map { letter.row.key <= $0 } ?? false }
            letters = letters.dropFirst(due.count)
            rows = Self.merge(rows, due)
            for start in stride(from: 0, to: rows.count, by: Salvage.step) {
                try write(rows[start..<min(start + Salvage.step, rows.count)], of: name, &salvage, &names)
                salvage.progress.advance()
            }
            done += rows.count
            try checkpointIfDue()
        }
        try settle(names.sessions)
        let trips = salvage.trips()
        try db.transaction { () throws(SQLiteError) in try tables.trips.insert(trips, replaces: false) }
        done += try importEvents(&salvage, &names)
        try importBatches(salvage, names)
        let commands = salvage.commands()
        try db.transaction { () throws(SQLiteError) in try tables.commands.insert(salvaged: commands) }
    }

    /// A row that one destination refused is still there while others are owed it.
    private static func merge(_ rows: [Salvage.Row], _ letters: ArraySlice<Salvage.Row>) -> [Salvage.Row] {
        var merged = Dictionary(
            rows.map { ($0.row.location.id, $0) }, uniquingKeysWith: { first, _ in first })
        for letter in letters {
            merged[letter.row.location.id, default: letter].refusedBy = letter.refusedBy
            merged[letter.row.location.id]?.isUploaded = false
        }
        return merged.values.sorted { $0.row.key < $1.row.key }
    }

    /// The keys in this database of the sessions and extras of the damaged one.
    struct Names {
        var sessions: [Int64: Int64] = [:]
        var extras: [Int64: Int64] = [0: 0]
        /// Sessions that have yet to be written.
        var new: [(key: Int64, session: Salvage.Session)] = []
    }

    private mutating func write(
        _ rows: ArraySlice<Salvage.Row>, of name: String, _ salvage: inout Salvage, _ names: inout Names
    ) throws(SQLiteError) {
        var renamed: [Salvage.Row] = []
        var backlogs = ledger.backlogs
        for var salvaged in rows {
            let row = salvaged.row
            salvaged.row.session = key(ofSession: row.session, firstTime: row.key.ts, &salvage, &names)
            salvaged.row.extras = try version(ofExtras: row.extras, &salvage, &names)
            salvaged.row.key.seq = ledger.locations.nextSeq
            ledger.locations.pass(salvaged.row.key.seq)
            renamed.append(salvaged)
            claim(
                salvaged.row.key.seq, .locations, salvage.destinations.claims(on: row.key.seq, .locations),
                refusedBy: salvaged.refusedBy, in: &backlogs)
        }
        let new = names.new
        let firstSeq = renamed.first?.row.key.seq ?? ledger.locations.nextSeq
        try db.transaction { () throws(SQLiteError) in
            try tables.sessions.insert(salvaged: new, firstSeq: firstSeq)
            let isNew = try tables.locations.insert(salvaged: renamed) > 0
            // Attempts that came to nothing are counted anew from here; a place counts once, whatever becomes of its rows.
            if isNew, let time = renamed.last?.row.key.ts,
                try tables.counters.value(Self.reached(name)) < time
            {
                try tables.counters.set(Self.reached(name), to: time)
                try tables.counters.set(Self.attempt(name), to: 1)
            }
            try write(claims: backlogs)
        }
        for backlog in backlogs { ledger[backlog.name] = backlog }
        names.new = []
    }

    /// A salvaged row has this number now.
    ///
    /// - Parameters:
    ///   - claims: who was owed it, or had been; nil: everybody is.
    ///   - refusers: those who are owed it again.
    private func claim(
        _ seq: Int64, _ kind: RecordKind,
        _ claims: (owed: Set<DestinationName>, offered: Set<DestinationName>)?,
        refusedBy refusers: Set<DestinationName>, in backlogs: inout [Backlog]
    ) {
        guard let claims, ledger.hasDebts else { return }
        for index in backlogs.indices {
            let name = backlogs[index].name
            backlogs[index].claim(
                seq, kind, isOwed: claims.owed.contains(name) || refusers.contains(name),
                isOffered: claims.offered.contains(name))
        }
    }

    /// Part of a transaction.
    private func write(claims backlogs: [Backlog]) throws(SQLiteError) {
        guard ledger.hasDebts else { return }
        for backlog in backlogs { try tables.debts.set(backlog, from: ledger[backlog.name]) }
    }

    /// The session's key in this database. A session that is not there yet is written in the transaction of its rows.
    private mutating func key(
        ofSession old: Int64, firstTime: Int64, _ salvage: inout Salvage, _ names: inout Names
    ) -> Int64 {
        if let known = names.sessions[old] { return known }
        let found = salvage.session(old)
        if let id = found?.id, let known = ledger.sessions.key(of: id) {
            names.sessions[old] = known
            return known
        }
        var random = SystemRandomNumberGenerator()
        var generator = UUIDv7Generator(using: &random)
        let session =
            found
            ?? Salvage.Session(
                id: generator.next(at: Timestamp(milliseconds: firstTime)), startedAt: firstTime,
                stoppedAt: firstTime, odometer: 0)
        let key = ledger.sessions.nextKey
        ledger.sessions.add(key, session.id)
        names.sessions[old] = key
        names.new.append((key, session))
        return key
    }

    private mutating func version(
        ofExtras old: Int64, _ salvage: inout Salvage, _ names: inout Names
    ) throws(SQLiteError) -> Int64 {
        if let known = names.extras[old] { return known }
        let version = try version(ofExtras: salvage.extras(old))
        names.extras[old] = version
        return version
    }

    /// Settles sessions whose rows have new numbers, and may lie between those of others.
    private func settle(_ keys: [Int64: Int64]) throws(SQLiteError) {
        let wanted = Set(keys.values)
        let found = try tables.locations.counts().filter { wanted.contains($0.session) }
        try db.transaction { () throws(SQLiteError) in try tables.sessions.setNumbers(found) }
    }

    // MARK: Events, batches

    /// - Returns: how many there are.
    private mutating func importEvents(_ salvage: inout Salvage, _ names: inout Names) throws(SQLiteError)
        -> Int
    {
        var renamed = salvage.events()
        var backlogs = ledger.backlogs
        for index in renamed.indices {
            let row = renamed[index].row
            let firstTime = row.key.ts == RowKey.untimed ? 0 : row.key.ts
            renamed[index].row.session = key(
                ofSession: row.session, firstTime: firstTime, &salvage, &names)
            renamed[index].row.extras = try version(ofExtras: row.extras, &salvage, &names)
            renamed[index].row.key.seq = ledger.events.nextSeq
            ledger.events.pass(renamed[index].row.key.seq)
            claim(
                renamed[index].row.key.seq, .events, salvage.destinations.claims(on: row.key.seq, .events),
                refusedBy: renamed[index].refusedBy, in: &backlogs)
        }
        let (new, nextSeq) = (names.new, ledger.locations.nextSeq)
        try db.transaction { () throws(SQLiteError) in
            try tables.sessions.insert(salvaged: new, firstSeq: nextSeq)
            try tables.events.insert(salvaged: renamed.map(\.row))
            try write(claims: backlogs)
        }
        for backlog in backlogs { ledger[backlog.name] = backlog }
        names.new = []
        return renamed.count
    }

    /// After their rows. A batch is imported only if all of its rows were.
    private func importBatches(_ salvage: borrowing Salvage, _ names: Names) throws(SQLiteError) {
        for key in salvage.members.keys {
            guard let batch = salvage.batch(key), let session = names.sessions[batch.members.session],
                let extras = names.extras[batch.members.extras], try tables.batches.key(of: batch.id) == nil,
                let rows = try tables.locations.pending(batch.locations, of: session, extras: extras),
                let events = try tables.events.pending(batch.events, of: session, extras: extras)
            else { continue }
            let members = BatchMembers(
                session: session, extras: extras, runs: RowRun.runs(of: rows.sorted()), events: events)
            guard try isFree(members, of: batch.destination) else { continue }
            try db.transaction { () throws(SQLiteError) in
                let key = try tables.batches.insert(
                    members, to: batch.destination, id: batch.id, batch.request, isPiece: batch.isPiece)
                if batch.isPermanent { try tables.batches.markPermanent(key: key) }
            }
        }
    }

    /// Whether it is owed all of these rows, and no batch of it holds any of them: two of a damaged file may claim the same.
    private func isFree(_ members: BatchMembers, of destination: DestinationName) throws(SQLiteError) -> Bool
    {
        let owed = ledger[destination].owed
        guard owed.locations.isSuperset(of: members.seqs), owed.events.isSuperset(of: members.events) else {
            return false
        }
        let others = try tables.batches.all().filter { $0.destination == destination }.map(\.batch.members)
        return others.allSatisfy {
            $0.seqs.intersection(members.seqs).isEmpty && $0.events.intersection(members.events).isEmpty
        }
    }
}
