import Base

/// What each destination has received and is owed, as sets of rows: the contract, without a database.
struct DestinationLedger {
    /// What the database says of one of them.
    struct Holding: Hashable, Sendable {
        var owed: Set<UUIDv7> = []
        /// Dead letters of the destination.
        var dead: Set<UUIDv7> = []
        var batch: Batch?
    }

    struct Batch: Hashable, Sendable {
        var id: UUIDv7
        var body: [UInt8]
    }

    struct Account {
        let carriesEvents: Bool
        /// All that it was ever to get, but for what was deleted before it did.
        var offered: Set<UUIDv7> = []
        var received: Set<UUIDv7> = []
        var holding = Holding()
        /// Rows of its batch.
        var members: Set<UUIDv7> = []
        /// What became a dead letter since the latest acknowledgement.
        var streak: Set<UUIDv7> = []
        var rejections = 0

        /// Whether each row is in exactly one place: received, owed, or a dead letter.
        func isBalanced(with holding: Holding) -> Bool {
            let count = received.count + holding.owed.count + holding.dead.count
            return count == offered.count && received.union(holding.owed).union(holding.dead) == offered
        }

        mutating func endBatch() {
            holding.batch = nil
            members = []
        }
    }

    private(set) var accounts: [DestinationName: Account] = [:]
    private var events: Set<UUIDv7> = []
    private var times: [UUIDv7: Int64] = [:]

    var holdings: [DestinationName: Holding] { accounts.mapValues(\.holding) }

    /// The rows that somebody is owed: all that are stored, as what has been received is not kept.
    var stored: Set<UUIDv7> { accounts.values.reduce(into: []) { $0.formUnion($1.holding.owed) } }

    // MARK: Rows

    /// A row is owed to all that are known, orphaned or not.
    mutating func insert(_ id: UUIDv7, ts: Int64, isEvent: Bool) {
        times[id] = ts
        if isEvent { events.insert(id) }
        for (name, account) in accounts where !isEvent || account.carriesEvents {
            accounts[name]?.offered.insert(id)
            accounts[name]?.holding.owed.insert(id)
        }
    }

    mutating func delete(upTo cutoff: Int64) {
        let doomed = Set(times.filter { $0.value <= cutoff }.keys)
        for (name, account) in accounts {
            accounts[name]?.offered.subtract(doomed.subtracting(account.received))
            accounts[name]?.holding.owed.subtract(doomed)
            accounts[name]?.holding.dead.subtract(doomed)
            accounts[name]?.streak.subtract(doomed)
            if !account.members.isDisjoint(with: doomed) { accounts[name]?.endBatch() }
        }
    }

    // MARK: Batches

    mutating func freeze(_ batch: Batch, of members: Set<UUIDv7>, for name: DestinationName) {
        accounts[name]?.holding.batch = batch
        accounts[name]?.members = members
    }

    mutating func acknowledge(_ name: DestinationName) {
        guard var account = accounts[name] else { return }
        account.holding.owed.subtract(account.members)
        account.received.formUnion(account.members)
        account.endBatch()
        (account.streak, account.rejections) = ([], 0)
        accounts[name] = account
    }

    /// The third in a row is not believed: what the others took is owed again, and the batch stays.
    mutating func reject(_ name: DestinationName) {
        guard var account = accounts[name] else { return }
        account.rejections += 1
        if account.rejections >= 3 {
            account.holding.owed.formUnion(account.streak)
            account.holding.dead.subtract(account.streak)
            account.streak = []
        } else {
            account.holding.owed.subtract(account.members)
            account.holding.dead.formUnion(account.members)
            account.streak.formUnion(account.members)
            account.endBatch()
        }
        accounts[name] = account
    }

    /// Dead letters are owed again: locations, and once there are none, events.
    mutating func requeue(_ name: DestinationName) {
        guard let dead = accounts[name]?.holding.dead else { return }
        let locations = dead.subtracting(events)
        let back = locations.isEmpty ? dead : locations
        accounts[name]?.holding.dead.subtract(back)
        accounts[name]?.streak.subtract(back)
        accounts[name]?.holding.owed.formUnion(back)
    }

    // MARK: Destinations

    mutating func add(_ name: DestinationName, carriesEvents: Bool) {
        if accounts[name] == nil { accounts[name] = Account(carriesEvents: carriesEvents) }
    }

    /// Owes the destination what is stored, and was not offered to it before.
    mutating func backfill(_ name: DestinationName) {
        guard let account = accounts[name] else { return }
        let found = stored.subtracting(account.offered).subtracting(account.carriesEvents ? [] : events)
        accounts[name]?.offered.formUnion(found)
        accounts[name]?.holding.owed.formUnion(found)
    }

    /// Begins to forget a destination: its batch and dead letters go first.
    mutating func beginForgetting(_ name: DestinationName) {
        guard var account = accounts[name] else { return }
        account.endBatch()
        account.offered.subtract(account.holding.dead)
        account.holding.dead = []
        account.streak = []
        accounts[name] = account
    }

    mutating func forget(_ name: DestinationName) {
        accounts[name] = nil
    }
}
