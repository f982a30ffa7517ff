import Base
import Linux
import SQLite
import Support
import Testing
import Tracking

@testable import Storage

extension DestinationName {
    static let fleet = DestinationName("fleet") ?? .main
    static let home = DestinationName("home") ?? .main
}

/// Three destinations on a recorded disk, one of which comes and goes; and after each operation what each must hold.
final class DestinationWorkload {
    /// After an operation.
    struct State {
        let ledger: DestinationLedger
        let holdings: [DestinationName: DestinationLedger.Holding]
        let destinations: [StoreOptions.Destination]
        /// The store was closed and opened again: everything is in the database file, and synced.
        let isReopened: Bool
        /// In the midst of an operation of several transactions.
        let isPassing: Bool
    }

    /// `home` is of a format that carries no events.
    static let all = [
        StoreOptions.Destination(.main), StoreOptions.Destination(.fleet),
        StoreOptions.Destination(.home, carriesEvents: false),
    ]
    private static let names = all.map(\.name)

    private let ground: Ground
    private var random: SeededGenerator
    private var ids: UUIDv7Generator
    private var options: StoreOptions
    private var store: Store
    private var ledger = DestinationLedger()
    private let session: UUIDv7
    private var time = Timestamp(milliseconds: 1_700_000_000_000)
    private(set) var states: [State] = []

    init(
        on ground: Ground, durability: StoreOptions.Durability, seed: UInt64
    ) throws {
        self.ground = ground
        random = SeededGenerator(seed: seed)
        ids = UUIDv7Generator(using: &random)
        session = ids.next(at: time)
        options = StoreOptions(durability: durability, destinations: Array(Self.all.prefix(2)))
        options.uploadedEvents = [.trip]
        store = try Self.open(ground, options)
        for destination in options.destinations { ledger.add(destination.name, carriesEvents: true) }
        try note()
    }

    /// Checkpoints and tallies are far more frequent than in earnest.
    private static func open(_ ground: Ground, _ options: StoreOptions) throws -> Store {
        try Store(
            directory: ground.directory, options: options, checkpointPages: 40, largeTable: 20,
            on: ground.files)
    }

    func run(operations: Int) throws {
        for _ in 0..<operations { try step() }
    }

    func close() {
        store.close()
    }

    private func step() throws {
        let name = Self.names.randomElement(using: &random) ?? .main
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: try reopen()
        case 3..<9: try configure()
        case 9..<11: try backfill()
        case 11..<13: try forget()
        case 13..<15: try delete()
        case 15..<18: try requeue(name)
        // What is slow has a backlog.
        case 18..<50: try upload(name == .fleet && random.chance(0.5) ? .main : name)
        case 50..<57: try insertEvent()
        default: try insert()
        }
    }

    /// The operation has returned: whatever it changed must outlive a power cut from now on.
    private func note(isReopened: Bool = false) throws {
        ground.mark(states.count)
        try #require(
            try DestinationLedger.holdings(of: store) == ledger.holdings,
            "the store does not hold what it should, after operation \(states.count)")
        for (name, account) in ledger.accounts {
            try #require(account.isBalanced(with: account.holding), "\(name)")
        }
        add(isReopened: isReopened)
    }

    private func add(isReopened: Bool = false, isPassing: Bool = false) {
        states.append(
            State(
                ledger: ledger, holdings: ledger.holdings, destinations: options.destinations,
                isReopened: isReopened, isPassing: isPassing))
    }

    // MARK: Rows

    private func insert() throws {
        time = time.advanced(bySeconds: Double(Int.random(in: 1...60, using: &random)))
        let id = ids.next(at: time)
        _ = try store.insert(NewLocation(at: time, id: id, session: session, odometer: 0))
        ledger.insert(id, ts: time.milliseconds, isEvent: false)
        try note()
    }

    private func insertEvent() throws {
        time = time.advanced(bySeconds: 1)
        let id = ids.next(at: time)
        let crossing = Crossing(geofence: "gate", kind: .enter, time: time)
        let isOfVehicle = random.chance(0.5)
        _ = try store.insert(
            NewEvents(
                events: isOfVehicle ? [] : [GeofenceEvent(id: id, session: session, crossing: crossing)],
                changes: [], session: session, sessionStartedAt: time, isTracking: true, extras: nil,
                time: time, prunesByAge: false,
                vehicleEvents: isOfVehicle
                    ? [
                        VehicleEvent(
                            id: id, session: session, happening: .tripEnded,
                            time: .known(time, isEstimated: true))
                    ] : []))
        ledger.insert(id, ts: time.milliseconds, isEvent: true)
        try note()
    }

    private func delete() throws {
        let cutoff = time.advanced(bySeconds: -Double(Int.random(in: 200...3000, using: &random)))
        var deletion = try store.beginDeletion(before: cutoff)
        while !deletion.isFinished { try store.proceed(with: &deletion) }
        ledger.delete(upTo: cutoff.milliseconds)
        try note()
    }

    // MARK: Batches

    private func upload(_ name: DestinationName) throws {
        // Nobody sends to an orphan.
        guard options.destinations.contains(where: { $0.name == name }) else { return }
        guard let batch = try store.nextFrozen(for: name) else { return try freeze(name) }
        if random.chance(0.2) { return try reject(batch) }
        let next = random.chance(0.5) ? try store.draftBatch(limit: limit(name), after: batch) : nil
        if random.chance(0.2) { try insert() }
        ledger.acknowledge(name)
        if let next {
            let (id, request) = request(for: next)
            _ = try store.acknowledge(batch, freezing: next, id: id, request)
            ledger.freeze(.init(id: id, body: request.body), of: members(next), for: name)
        } else {
            _ = try store.acknowledge(batch)
        }
        try note()
    }

    private func freeze(_ name: DestinationName) throws {
        guard let draft = try store.draftBatch(for: name, limit: limit(name)) else { return }
        if random.chance(0.2) { try insert() }
        let (id, request) = request(for: draft)
        guard try store.freeze(draft, id: id, request) != nil else { return }
        ledger.freeze(.init(id: id, body: request.body), of: members(draft), for: name)
        try note()
    }

    private func reject(_ batch: FrozenBatch) throws {
        _ = try store.reject(batch, status: 422, at: time)
        ledger.reject(batch.destination)
        try note()
    }

    private func requeue(_ name: DestinationName) throws {
        guard ledger.accounts[name]?.holding.dead.isEmpty == false else { return }
        var work = try store.begin(.requeue, of: name)
        while !work.isFinished {
            try store.proceed(with: &work)
            ledger.requeue(name)
            try note()
        }
    }

    private func limit(_ name: DestinationName) -> Int { name == .home ? 2 : 9 }

    private func request(for draft: BatchDraft) -> (UUIDv7, StoredRequest) {
        let length = Int.random(in: 1...1500, using: &random)
        return (ids.next(at: time), StoredRequest(body: (0..<length).map { UInt8(truncatingIfNeeded: $0) }))
    }

    private func members(_ draft: BatchDraft) -> Set<UUIDv7> {
        Set(draft.locations.map(\.id) + draft.events.map(\.id) + draft.vehicleEvents.map(\.id))
    }

    // MARK: Destinations

    /// `home` is added, lost by mistake, found again.
    private func configure() throws {
        options.destinations = options.destinations.count == 2 ? Self.all : Array(Self.all.prefix(2))
        for destination in options.destinations {
            ledger.add(destination.name, carriesEvents: destination.carriesEvents)
        }
        store.configure(options)
        try note()
    }

    private func backfill() throws {
        var work = Backfill(of: .home, from: nil)
        while !work.isFinished { try store.proceed(with: &work) }
        ledger.backfill(.home)
        try note()
    }

    private func forget() throws {
        guard options.destinations.count == 2, ledger.accounts[.home] != nil else { return }
        ledger.beginForgetting(.home)
        add(isPassing: true)
        var work = Forgetting(.home)
        while !work.isFinished { try store.proceed(with: &work) }
        ledger.forget(.home)
        try note()
    }

    private func reopen() throws {
        store.close()
        store = try Self.open(ground, options)
        try note(isReopened: true)
    }
}

extension DestinationLedger {
    /// What the database says, read row by row; every row that is stored is somebody's.
    static func holdings(of store: Store) throws -> [DestinationName: Holding] {
        var (found, stored) = try store.perform("look") { (writer) throws(SQLiteError) in
            try read(&writer)
        }
        for name in found.keys {
            guard let batch = try store.nextFrozen(for: name) else { continue }
            found[name]?.batch = Batch(id: batch.id, body: batch.request.body)
        }
        let rows = found.values.reduce(into: Set()) { $0.formUnion($1.owed) }
        try #require(rows == stored, "a row is nobody's")
        return found
    }

    private static func read(
        _ writer: inout Writer
    ) throws(SQLiteError) -> ([DestinationName: Holding], Set<UUIDv7>) {
        var found: [DestinationName: Holding] = [:]
        var stored: Set<UUIDv7> = []
        for name in writer.ledger.names { found[name] = Holding() }
        for (table, field) in [("locations", \Backlog.Owed.locations), ("events", \.events)] {
            let rows = try writer.db.prepare("SELECT id, seq FROM \(table)")
            while try rows.step() {
                guard let id = UUIDv7(bytes: rows.blob(0)) else { continue }
                stored.insert(id)
                for backlog in writer.ledger.backlogs
                where backlog.owed[keyPath: field].contains(rows.integer(1)) {
                    found[backlog.name]?.owed.insert(id)
                }
            }
        }
        let letters = try writer.db.prepare(
            "SELECT id, destination FROM rejected UNION ALL SELECT id, destination FROM rejected_events")
        while try letters.step() {
            guard let id = UUIDv7(bytes: letters.blob(0)),
                let name = letters.text(1).flatMap({ DestinationName($0) })
            else { continue }
            found[name, default: Holding()].dead.insert(id)
        }
        return (found, stored)
    }
}
