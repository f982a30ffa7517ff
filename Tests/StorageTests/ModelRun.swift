import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// The store and the model, fed with the same random operations.
struct ModelRun: ~Copyable {
    private static let day: Int64 = 86_400_000

    private var model: Model
    private var directory: TemporaryDirectory
    private var store: Store
    private var reader: Connection?
    private var random: SeededGenerator
    private var ids = 0
    private var session = 1
    private var now = start
    private(set) var operations: [String: Int] = [:]
    private(set) var steps = 0
    private(set) var latest = ""

    init(seed: UInt64) throws {
        let options = StoreOptions(maxRows: 60, durability: .normal, destinations: .main)
        let directory = try TemporaryDirectory(inMemory: true)
        let store = try Store(
            directory: directory.path, options: options, checkpointPages: 60, largeTable: 30)
        self.init(
            directory, store, random: SeededGenerator(seed: seed), model: Model(options: options))
    }

    private init(
        _ directory: TemporaryDirectory, _ store: Store, random: SeededGenerator, model: Model
    ) {
        (self.directory, self.store, self.random, self.model) = (directory, store, random, model)
    }

    var summary: String {
        let ends = model.ends.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        let done = operations.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        return "\(steps) operations (\(done)); \(model.inserted) rows: \(ends), there \(model.rows.count)"
    }

    mutating func step() throws {
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<560: try did("fix") { try $0.insert() }
        case 560..<680: try did("freeze") { try $0.freeze() }
        case 680..<800: try did("acknowledge") { try $0.acknowledge() }
        case 800..<840: try did("reject") { try $0.reject() }
        case 840..<855: try did("isolate") { try $0.isolate() }
        case 855..<860: try did("requeue") { try $0.moveDeadLetters() }
        case 860..<890: try did("delete") { try $0.delete() }
        case 890..<910: try did("restart") { try $0.restart() }
        case 910..<920: try did("crash") { try $0.crash() }
        case 920..<925: try did("close") { $0.close() }
        case 925..<945: try did("start") { try $0.startSession() }
        case 945..<955: try did("stop") { try $0.stopSession() }
        case 955..<970: try did("configure") { try $0.configure() }
        case 970..<975: try did("resend") { try $0.resend() }
        case 975..<985: try did("oversize") { try $0.oversize() }
        default: try did("endpoint") { try $0.changeEndpoint() }
        }
        try check()
        if steps % 50 == 0 { try checkRows() }
    }

    private mutating func did(_ name: String, _ operation: (inout ModelRun) throws -> Void) throws {
        steps += 1
        latest = name
        operations[name, default: 0] += 1
        try operation(&self)
    }

    private mutating func nextID(_ kind: Int) -> UUIDv7 {
        ids += 1
        return uuid(kind * 100_000_000 + ids)
    }

    // MARK: The reader's side

    private mutating func insert() throws {
        switch Int.random(in: 0..<200, using: &random) {
        case 0: now += Self.day * Int64.random(in: 1...9, using: &random)
        case 1: now -= Self.day * Int64.random(in: 1...9, using: &random)
        case 2..<30: now -= Int64.random(in: 0...100_000, using: &random)
        default: now += Int64.random(in: 0...10_000, using: &random)
        }
        let extras: String? =
            random.chance(0.1) ? #"{"driver":\#(Int.random(in: 1...3, using: &random))}"# : nil
        let byAge = random.chance(0.7)
        var location = location(0, id: nextID(1))
        location.fix.time = Timestamp(milliseconds: now)
        _ = try store.insert(
            NewLocation(
                location: location, session: uuid(session), sessionStartedAt: time(0), odometer: 1,
                extras: extras, prunesByAge: byAge))
        model.insert(id: location.id, ts: now, session: session, extras: extras, byAge: byAge)
    }

    private mutating func startSession() throws {
        session = random.chance(0.2) ? Int.random(in: 1...session, using: &random) : session + 1
        _ = try store.enter(session: uuid(session), startedAt: Timestamp(milliseconds: now))
        model.enter(session)
    }

    private mutating func stopSession() throws {
        try store.close(session: uuid(session), at: Timestamp(milliseconds: now))
    }

    private mutating func delete() throws {
        let row = model.rows.randomElement(using: &random)
        let cutoff = random.chance(0.15) ? nil : row?.ts
        let expected = model.delete(before: cutoff)
        var deletion = try store.beginDeletion(before: cutoff.map { Timestamp(milliseconds: $0) })
        while !deletion.isFinished { try store.proceed(with: &deletion) }
        try #require(deletion.removed == expected.count)
        try #require(Set(deletion.dissolved) == Set(expected.dissolved))
    }

    // MARK: The uploader's side

    private mutating func freeze() throws {
        let limit = Int.random(in: 1...12, using: &random)
        let expected = model.nextBatch(limit: limit)
        let draft = try store.draftBatch(limit: limit)
        try #require(draft?.locations.map(\.id) == expected?.map(\.id))
        guard let draft, let expected, let first = expected.first else {
            model.draft = []
            return
        }
        try #require(draft.session == uuid(first.session) && draft.extras == first.extras)
        model.draft = Set(expected.map(\.id))
        // While the body is made, anything may happen on the other thread; the power may fail, too.
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try delete()
        case 1: try crash()
        case 2..<6: for _ in 0..<Int.random(in: 1...5, using: &random) { try insert() }
        default: break
        }
        let isWhole = Set(model.pending.map(\.id)).isSuperset(of: expected.map(\.id))
        try finish(draft, Set(expected.map(\.id)), isWhole: isWhole)
    }

    private mutating func finish(_ draft: BatchDraft, _ rows: Set<UUIDv7>, isWhole: Bool) throws {
        let id = nextID(2)
        let body = draft.locations.flatMap(\.id.bytes)
        let batch = try store.freeze(draft, id: id, StoredRequest(body: body))
        try #require((batch != nil) == isWhole)
        guard let batch else { return }
        try #require(batch.id == id && batch.request.body == body && batch.locations == rows.count)
        model.draft = []
        model.batches.append(Model.Batch(id: id, rows: rows, body: body))
    }

    private mutating func acknowledge() throws {
        guard let expected = model.batches.first, let batch = try store.nextFrozen() else { return }
        let next = random.chance(0.5) ? try draft(after: batch, expected) : nil
        // The 2xx may come after a deletion took some of its rows, and the batch.
        if random.chance(0.1) { try delete() }
        let mayFreeze = model.batches.first?.id == expected.id
        let count = model.acknowledge(expected.rows)
        model.batches.removeAll { $0.id == expected.id }
        guard let next else {
            try #require(try store.acknowledge(batch) == count)
            if random.chance(0.1) { try #require(try store.acknowledge(batch) == 0, "a second time") }
            return
        }
        let (id, body, rows) = (nextID(2), next.locations.flatMap(\.id.bytes), Set(next.locations.map(\.id)))
        let isWhole = Set(model.pending.map(\.id)).isSuperset(of: rows)
        try #require(try store.acknowledge(batch, freezing: next, id: id, StoredRequest(body: body)) == count)
        guard mayFreeze, isWhole else { return }
        model.draft = []
        model.batches.append(Model.Batch(id: id, rows: rows, body: body))
    }

    /// What comes behind a batch is what would come if it were acknowledged already.
    private mutating func draft(after batch: FrozenBatch, _ sent: Model.Batch) throws -> BatchDraft? {
        let limit = Int.random(in: 1...12, using: &random)
        var after = model
        _ = after.acknowledge(sent.rows)
        after.batches.removeAll { $0.id == sent.id }
        let expected = batch.isPiece ? nil : after.nextBatch(limit: limit)
        let draft = try store.draftBatch(limit: limit, after: batch)
        try #require(draft?.locations.map(\.id) == expected?.map(\.id))
        model.draft = Set(expected?.map(\.id) ?? [])
        if draft != nil { for _ in 0..<Int.random(in: 0...2, using: &random) { try insert() } }
        return draft
    }

    private mutating func reject() throws {
        guard let expected = model.batches.first, let batch = try store.nextFrozen() else { return }
        let isTimeTrusted = random.chance(0.7)
        let verdict = try store.reject(
            batch, status: 422, at: Timestamp(milliseconds: now),
            trusted: isTimeTrusted ? Timestamp(milliseconds: now) : nil)
        let count = model.reject(expected, at: now, expiry: isTimeTrusted ? now - 7 * Self.day : nil)
        try #require(verdict == count.map { .deadLettered($0) } ?? .suspected)
        // Else the endpoint would be suspected until something is acknowledged.
        if verdict == .suspected, random.chance(0.5) { try acknowledge() }
    }

    private mutating func moveDeadLetters() throws {
        let act: RejectedWork.Act = random.chance(0.3) ? .purge : .requeue
        let count = act == .purge ? model.purge() : model.requeue()
        var work = try store.begin(act)
        while !work.isFinished { try store.proceed(with: &work) }
        try #require(work.done == count)
    }

    private mutating func isolate() throws {
        guard let expected = model.batches.first, expected.rows.count > 1, let batch = try store.nextFrozen()
        else { return }
        let isSuspected = model.countRejection(of: expected)
        try #require(try store.countRejection(of: batch) == isSuspected)
        // Nothing moves then.
        if isSuspected { return random.chance(0.5) ? try acknowledge() : () }
        let pieces = try store.halves(of: batch).map { draft in
            (draft: draft, id: nextID(2), request: StoredRequest(body: draft.locations.flatMap(\.id.bytes)))
        }
        try #require(
            pieces.map(\.draft.locations.count) == [expected.rows.count / 2, (expected.rows.count + 1) / 2])
        try store.split(batch, into: pieces)
        let parts = pieces.map {
            Model.Batch(
                id: $0.id, rows: Set($0.draft.locations.map(\.id)), body: $0.request.body, isPiece: true)
        }
        try #require(parts.reduce(Set<UUIDv7>()) { $0.union($1.rows) } == expected.rows)
        model.batches = parts + model.batches.dropFirst()
    }

    /// In steps, between which anything may happen on the other thread.
    private mutating func resend() throws {
        let times = (0..<2).compactMap { _ in model.rows.randomElement(using: &random)?.ts }.sorted()
        guard let first = times.first, let last = times.last else { return }
        let count = model.resend(first...last)
        var work = Resend(from: Timestamp(milliseconds: first), to: Timestamp(milliseconds: last))
        while !work.isFinished { try store.proceed(with: &work) }
        try #require(work.done == count)
    }

    private mutating func oversize() throws {
        if let batch = try store.nextFrozen() {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                _ = try store.beginAttempt(batch)
                model.batches[0].isPermanent = false
                if random.chance(0.2) {
                    try store.forgetOversized(batch)
                    model.batches[0].oversized = 0
                    continue
                }
                let isPermanent = random.chance(0.5)
                model.batches[0].oversized += 1
                model.batches[0].isPermanent = isPermanent
                let count = try store.countOversized(batch, isPermanent: isPermanent)
                try #require(count == model.batches[0].oversized)
            }
        }
        let before = model.batches.first
        switch (try store.rebatch(), model.rebatch()) {
        case (.dissolved(let id, let count, _), let batch?):
            try #require(id == batch.id && count == batch.rows.count)
        case (.tooFew(let failures), nil): try #require(failures == before?.oversized)
        case (.nothingFrozen, nil): try #require(before == nil)
        case (let found, let expected):
            throw SetUpFailed(operation: "rebatch: \(found), \(expected as Any)", code: 0)
        }
    }

    private mutating func changeEndpoint() throws {
        if let batch = try store.nextFrozen(), random.chance(0.6) {
            try store.markPermanent(batch)
            model.batches[0].isPermanent = true
        }
        if let batch = try store.nextFrozen(), random.chance(0.3) {
            _ = try store.beginAttempt(batch)
            model.batches[0].isPermanent = false
        }
        let endpoint = Int64.random(in: 1...3, using: &random)
        try store.adopt(endpoint: endpoint)
        model.adopt(endpoint)
    }

    // MARK: Life and death

    private mutating func configure() throws {
        model.options.maxRows = [1, 5, 20, 60, 60, 90].randomElement(using: &random) ?? 60
        model.options.keepsUploaded = random.chance(0.4)
        model.options.destinations = random.chance(0.8) ? .main : []
        model.options.retention = Double(Int.random(in: 1...7, using: &random)) * 86_400
        let days = [nil, nil, 0.1, 1, 3, 10].randomElement(using: &random) ?? nil
        model.options.unsentRetention = days.map { $0 * 86_400 }
        store.configure(model.options)
        guard random.chance(0.5) else { return }
        model.shrink()
        while try store.shrink() {}
    }

    /// As after a failure: what was drafted is forgotten.
    private mutating func close() {
        store.close()
        model.draft = []
    }

    private mutating func restart() throws {
        store.close()
        try open()
    }

    private mutating func open() throws {
        reader = nil
        store = try Store(
            directory: directory.path, options: model.options, checkpointPages: 60, largeTable: 30)
        try #require(store.takeEvents() == [])
        model.draft = []
    }

    /// What SIGKILL leaves: the files as they are, without what is made of them at an orderly end.
    private mutating func crash() throws {
        let left = try TemporaryDirectory(inMemory: true)
        for name in try directory.names() where name != "ballast" && !name.hasSuffix("-shm") {
            try left.write(name, try directory.read(name))
        }
        store.close()
        reader = nil
        directory = left
        try open()
    }

    // MARK: Looking

    private func check() throws {
        try #require(model.faults == [])
        try #require(model.isConserved)
        try #require(store.counts() == model.counts)
        let next = try store.nextFrozen()
        try #require(next?.id == model.batches.first?.id && next?.request.body == model.batches.first?.body)
        try #require(next?.isPiece == model.batches.first?.isPiece)
    }

    /// What is in the file is what the model says, row by row and number by number.
    private mutating func checkRows() throws {
        let connection = try reader.take() ?? Connection(path: directory.file("beekon.db"), access: .readOnly)
        let rows = try connection.prepare(
            """
            SELECT ts, seq, id, (SELECT id FROM sessions WHERE key = session), uploaded, \
            (SELECT json FROM extras WHERE version = extras) FROM locations ORDER BY ts, seq
            """)
        let expected = model.stored
        var count = 0
        while try rows.step() {
            try #require(count < expected.count)
            let row = expected[count]
            try #require(rows.integer(0) == row.ts && rows.integer(1) == row.seq)
            try #require(rows.blob(2) == row.id.bytes && rows.blob(3) == uuid(row.session).bytes)
            try #require((rows.integer(4) != 0) == (row.fate == .uploaded) && rows.text(5) == row.extras)
            count += 1
        }
        try #require(count == expected.count)
        let rejected = try connection.prepare("SELECT seq FROM rejected ORDER BY ts, seq")
        var dead: [Int64] = []
        while try rejected.step() { dead.append(rejected.integer(0)) }
        try #require(dead == model.rejected.map(\.seq))
        let batches = try connection.prepare("SELECT id FROM batches")
        var frozen: Set<[UInt8]> = []
        while try batches.step() { frozen.insert(batches.blob(0)) }
        try #require(frozen == Set(model.batches.map(\.id.bytes)))
        reader = consume connection
    }
}
