import Base
import SQLite
import Storage
import Support
import Testing
import Tracking

/// What a power cut leaves of several destinations: at every image each of them has, or is owed, each of its rows once, and
/// gets what it is owed once. Reproduce a failure with BEEKOND_SEED; BEEKOND_LONG=1 takes 6,000 points instead of 80.
@Suite struct DestinationImageTests {
    private let points = Effort.isLong ? 3000 : 40
    private let operations = Effort.isLong ? 1500 : 250

    @Test(arguments: [StoreOptions.Durability.full, .normal])
    func everyImageOwes(durability: StoreOptions.Durability) throws {
        let folder = try Folder()
        let recording = try #require(Recording(directory: folder.path))
        let workload = try DestinationWorkload(
            on: Ground(folder, recording), durability: durability, seed: Effort.seed)
        try workload.run(operations: operations)
        workload.close()
        let events = recording.events()
        var examination = try DestinationExamination(states: workload.states, durability: durability)
        var disk = Disk()
        var choice = SeededGenerator(seed: Effort.seed)
        let chosen = Set(events.indices.shuffled(using: &choice).prefix(points))
        for (index, event) in events.enumerated() {
            disk.apply(event)
            examination.pass(event)
            guard chosen.contains(index) else { continue }
            var random = SeededGenerator(seed: Effort.seed &+ UInt64(index) << 20)
            let loss = PowerLoss.allCases.randomElement(using: &random) ?? .any
            let image = disk.image(after: loss, using: &random)
            do {
                try examination.examine(image, isLater: random.chance(0.5))
            } catch {
                Issue.record(
                    "\(error): BEEKOND_SEED=\(Effort.seed), event \(index) of \(events.count), loss \(loss)")
                return
            }
        }
        print(
            """
            images of several destinations, durability \(durability), BEEKOND_SEED=\(Effort.seed): \
            \(events.count) events, \(examination.summary)
            """)
        #expect(examination.images == min(points, events.count))
    }
}

/// Opens images, compares what each destination is owed with what the workload left, and delivers it.
struct DestinationExamination {
    private let states: [DestinationWorkload.State]
    private let durability: StoreOptions.Durability
    private let indices: [[DestinationName: DestinationLedger.Holding]: [Int]]
    private let folder: Folder
    private var probes: UUIDv7Generator
    /// The latest operation that had returned.
    private var returned = 0
    /// The latest one after which everything had been folded into the database.
    private var folded = 0
    private(set) var images = 0
    private var older = 0
    private var orphaned = 0
    private var delivered = 0

    init(states: [DestinationWorkload.State], durability: StoreOptions.Durability) throws {
        self.states = states
        self.durability = durability
        indices = Dictionary(grouping: states.indices, by: { states[$0].holdings })
        folder = try Folder()
        var random = SeededGenerator(seed: Effort.seed &+ 1)
        probes = UUIDv7Generator(using: &random)
    }

    var summary: String {
        """
        \(states.count) operations, \(images) images, \(older) of them older than the last operation, \(orphaned) with an \
        orphan; \(delivered) rows delivered from them
        """
    }

    mutating func pass(_ event: Recording.Event) {
        if case .mark(let number) = event { pass(mark: number) }
    }

    mutating func pass(mark number: Int) {
        folded = states[returned...number].lastIndex(where: \.isReopened) ?? folded
        returned = number
    }

    /// - Parameter isLater: the configuration is that of the operation under way, if that changes it.
    mutating func examine(_ image: [String: FileBytes], isLater: Bool) throws {
        try folder.clear()
        for (name, content) in image { try folder.write(name, content.bytes) }
        try examine(Ground(folder), isLater: isLater)
    }

    mutating func examine(_ ground: Ground, isLater: Bool) throws {
        images += 1
        let under = states[(returned + 1)...].firstIndex { !$0.isPassing } ?? returned
        let options = StoreOptions(
            durability: durability, destinations: states[isLater ? under : returned].destinations)
        let store = try Store(directory: ground.directory, options: options, on: ground.files)
        defer { store.close() }
        // A header that was not synced yet may be torn; whether anything is missing is seen below.
        let news = store.takeEvents().filter { if case .logDamaged = $0 { false } else { true } }
        try #require(news.isEmpty, "\(news)")
        let found = try DestinationLedger.holdings(of: store)
        let earliest = durability == .full ? returned : folded
        var before = found
        // At NORMAL the image may be older than the destination that the configuration adds to it.
        if durability == .normal, found[.home] == .init() { before[.home] = nil }
        let candidates = (indices[found] ?? indices[before] ?? []).filter { earliest...under ~= $0 }
        let index = try #require(
            candidates.last, "no operation from \(earliest) to \(under) left this: \(describe(found))")
        if index < returned { older += 1 }
        for (name, account) in states[index].ledger.accounts {
            let holding = try #require(found[name])
            try #require(account.isBalanced(with: holding), "\(name) has not, or is not owed, each row once")
        }
        if store.counts().others.values.contains(where: \.isOrphaned) { orphaned += 1 }
        try deliver(store, options, found)
    }

    private func describe(_ found: [DestinationName: DestinationLedger.Holding]) -> String {
        let nearest = states[returned].holdings
        return Set(found.keys).union(nearest.keys).sorted().map { name in
            let (here, there) = (found[name], nearest[name])
            let owed = (here?.owed ?? []).symmetricDifference(there?.owed ?? []).count
            let dead = (here?.dead ?? []).symmetricDifference(there?.dead ?? []).count
            return "\(name): \(owed) owed and \(dead) dead differ, batch \(here?.batch == there?.batch)"
        }.joined(separator: "; ")
    }

    /// All are configured, a fix comes, dead letters go back, and everything is accepted.
    private mutating func deliver(
        _ store: Store, _ options: StoreOptions, _ found: [DestinationName: DestinationLedger.Holding]
    ) throws {
        var options = options
        options.destinations = DestinationWorkload.all
        store.configure(options)
        let time = Timestamp(milliseconds: 1_800_000_000_000)
        let (id, session) = (probes.next(at: time), probes.next(at: time))
        _ = try store.insert(NewLocation(at: time, id: id, session: session, odometer: 0))
        for name in options.destinations.map(\.name) {
            var work = try store.begin(.requeue, of: name)
            while !work.isFinished { try store.proceed(with: &work) }
            let holding = found[name] ?? .init()
            let received = try drain(store, name, first: holding.batch)
            try #require(Set(received).count == received.count, "\(name) got a row twice")
            try #require(Set(received) == holding.owed.union(holding.dead).union([id]), "\(name)")
            delivered += received.count
        }
        try #require(store.counts().locations == 0)
    }

    private mutating func drain(
        _ store: Store, _ name: DestinationName, first: DestinationLedger.Batch?
    ) throws -> [UUIDv7] {
        var received: [UUIDv7] = []
        let time = Timestamp(milliseconds: 1_800_000_000_000)
        // What was frozen goes out unchanged, and holds rows of which nobody knows here how they were read.
        if let first {
            let before = try DestinationLedger.holdings(of: store)[name]?.owed ?? []
            let batch = try #require(try store.nextFrozen(for: name))
            try #require(batch.id == first.id && batch.request.body == first.body)
            let count = try store.acknowledge(batch)
            let after = try DestinationLedger.holdings(of: store)[name]?.owed ?? []
            try #require(before.subtracting(after).count == count)
            received += before.subtracting(after)
        }
        while let draft = try store.draftBatch(for: name, limit: 100) {
            let batch = try #require(
                try store.freeze(draft, id: probes.next(at: time), StoredRequest(body: [1])))
            received += draft.locations.map(\.id) + draft.events.map(\.id) + draft.vehicleEvents.map(\.id)
            _ = try store.acknowledge(batch)
        }
        return received
    }
}
