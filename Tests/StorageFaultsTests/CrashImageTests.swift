import Base
import Linux
import SQLite
import Storage
import Support
import Testing

/// What a power cut leaves, at thousands of points of a workload, opened with the real code.
///
/// A VFS of SQLite records every write, truncation, sync, creation and deletion of a random workload. At each point the
/// directory is built as a cut could have left it: all that was synced, and of the rest any subset, whole or torn
/// (`Disk`). In a second form the device fails syncs now and then as well. Reproduce a failure with BEEKOND_SEED=<the seed it prints>. BEEKOND_LONG=1
/// takes 24,000 points (some minutes) instead of 360.
@Suite struct CrashImageTests {
    private let points = Effort.isLong ? 6000 : 90
    private let operations = Effort.isLong ? 1500 : 250

    @Test(arguments: [StoreOptions.Durability.full, .normal], [false, true])
    func everyImageOpens(durability: StoreOptions.Durability, syncsFail: Bool) throws {
        let folder = try Folder()
        let recording = try #require(Recording(directory: folder.path))
        let what = "crash images, durability \(durability)\(syncsFail ? ", syncs fail" : "")"
        print("\(what): BEEKOND_SEED=\(Effort.seed)")
        let workload = try Workload(
            on: Ground(folder, recording), durability: durability, seed: Effort.seed, syncsFail: syncsFail)
        try workload.run(operations: operations)
        workload.close()
        let events = recording.events()
        var examination = try Examination(states: workload.states, durability: durability)
        var disk = Disk()
        let chosen = choose(from: events)
        let losses = Self.losses(durability: durability, syncsFail: syncsFail)
        for (index, event) in events.enumerated() {
            disk.apply(event)
            examination.pass(event)
            guard chosen.contains(index) else { continue }
            var random = SeededGenerator(seed: Effort.seed &+ UInt64(index) << 20)
            let loss = losses.randomElement(using: &random) ?? .any
            let fault = examination.fault(of: disk.image(after: loss, using: &random))
            try #require(
                fault == nil,
                "\(fault ?? "") (BEEKOND_SEED=\(Effort.seed), event \(index) of \(events.count), loss \(loss))"
            )
        }
        let failures = events.count { if case .syncFailed = $0 { true } else { false } }
        print("\(what): \(events.count) events, \(failures) failed syncs, \(examination.summary)")
        #expect(failures == 0 || syncsFail)
        #expect(examination.images >= points)
    }

    /// Known not to be covered at NORMAL: a device that fails its syncs, and that garbles what it was writing when the power
    /// went. Seen: rows of one table without those of another. The likely way: after a failed sync the WAL is written once more
    /// in its place, behind pages of a checkpoint that already follow from it.
    static func losses(durability: StoreOptions.Durability, syncsFail: Bool) -> [PowerLoss] {
        PowerLoss.allCases.filter { !syncsFail || durability == .full || $0 != .garbled }
    }

    /// Half of the points anywhere, half where something else than the WAL changes: rare, and where the danger is.
    private func choose(from events: [Recording.Event]) -> Set<Int> {
        var random = SeededGenerator(seed: Effort.seed)
        let rare = events.indices.filter { index in
            switch events[index] {
            case .open(_, let isNew): isNew
            case .write(let name, _, _), .sync(let name, _): !name.hasSuffix("-wal")
            case .truncate, .delete, .syncFailed: true
            case .mark: false
            }
        }
        var chosen = Set(rare.shuffled(using: &random).prefix(points / 2))
        for index in events.indices.shuffled(using: &random) {
            if chosen.count >= points { break }
            chosen.insert(index)
        }
        return chosen
    }
}

/// Opens images and compares what is in them with what the workload left at that time.
struct Examination {
    private let states: [Workload.State]
    private let durability: StoreOptions.Durability
    /// Which operations left a database like this.
    private let operations: [String: [Int]]
    private let folder = Result { try Folder() }
    private var probes: UUIDv7Generator
    /// The latest operation that had returned.
    private var returned = 0
    /// The latest one after which everything had been folded into the database.
    private var folded = 0
    private(set) var images = 0
    private var lost = 0
    private var mostLost = 0

    init(states: [Workload.State], durability: StoreOptions.Durability) throws {
        self.states = states
        self.durability = durability
        operations = Dictionary(grouping: states.indices, by: { states[$0].text })
        var random = SeededGenerator(seed: Effort.seed &+ 1)
        probes = UUIDv7Generator(using: &random)
    }

    var summary: String {
        "\(states.count) operations, \(images) images, \(lost) of them older than the last operation"
            + " (by \(mostLost) at most)"
    }

    mutating func pass(_ event: Recording.Event) {
        if case .mark(let number) = event { pass(mark: number) }
    }

    mutating func pass(mark number: Int) {
        folded = states[returned...number].lastIndex(where: \.isReopened) ?? folded
        returned = number
    }

    mutating func fault(of image: [String: FileBytes]) -> String? {
        do {
            let folder = try folder.get()
            try folder.clear()
            for (name, content) in image { try folder.write(name, content.bytes) }
            return fault(in: Ground(folder))
        } catch {
            return "\(error)"
        }
    }

    mutating func fault(in ground: Ground) -> String? {
        images += 1
        do {
            let options = StoreOptions(maxRows: Workload.cap, durability: durability, destinations: .main)
            let store = try Store(directory: ground.directory, options: options, on: ground.files)
            // A header that was not synced yet may be torn; whether anything is missing is seen below.
            let events = store.takeEvents().filter { if case .logDamaged = $0 { false } else { true } }
            if let event = events.first { return "\(event)" }
            let db = try Connection(path: ground.database, access: .readOnly, vfs: ground.files.vfs)
            if let fault = try Contents.fault(db) { return fault }
            let text = try Contents.text(db)
            // At FULL what had returned is there; the operation under way may be. At NORMAL any earlier state will do.
            let earliest = durability == .full ? returned : folded
            let candidates = operations[text, default: []].filter { earliest...returned + 1 ~= $0 }
            guard let first = candidates.first, let last = candidates.last else { return fault(found: text) }
            if last < returned { lost += 1 }
            mostLost = max(mostLost, returned - last)
            return try faultOfUse(store, db, after: first)
        } catch {
            return "\(error)"
        }
    }

    private func fault(found text: String) -> String {
        guard let any = operations[text] else {
            return "holds what the store never held: a hole, or a mixture"
        }
        return "holds what operation \(any) left, but \(returned) had returned"
    }

    /// The store goes on where the image ends.
    private mutating func faultOfUse(
        _ store: Store, _ db: Connection, after operation: Int
    ) throws -> String? {
        guard try store.nextFrozen()?.request.body == states[operation].body else {
            return "the frozen batch has other bytes"
        }
        let time = Timestamp(milliseconds: 1_800_000_000_000)
        let (id, session) = (probes.next(at: time), probes.next(at: time))
        _ = try store.insert(NewLocation(at: time, id: id, session: session, odometer: 0))
        let seq = Int64(try db.value("SELECT seq FROM locations WHERE id = x'\(id.hex)'") ?? "") ?? 0
        let last = states[operation].lastSeq
        return seq > last ? nil : "sequence number \(seq) is used again, \(last) had been given"
    }
}
