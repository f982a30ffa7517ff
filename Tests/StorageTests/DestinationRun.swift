import Base
import SQLite
import Support
import Testing

@testable import Storage
@testable import Tracking

/// The store and the model of its destinations, fed with the same random operations.
struct DestinationRun: ~Copyable {
    private static let names: [DestinationName] = [.main, .fleet, .home]
    private static let day: Int64 = 86_400_000

    var model: DestinationModel
    private var directory: TemporaryDirectory
    var store: Store
    private var random: SeededGenerator
    private var ids = 0
    private var now = start
    private var hadMain = false
    /// What the databases of other machines hold, by their names.
    private var aside: [String: Set<UUIDv7>] = [:]
    private var configured = [StoreOptions.Destination].main
    private var isEnding = false
    private(set) var steps = 0
    private(set) var latest = ""

    init(seed: UInt64) throws {
        let options = StoreOptions(
            retention: 1e9, maxRows: 1000, durability: .normal, destinations: .main,
            uploadedEvents: [.ignition])
        let directory = try TemporaryDirectory(inMemory: true)
        let store = try Store(
            directory: directory.path, options: options, checkpointPages: 60, largeTable: 30)
        self.init(
            directory, store, random: SeededGenerator(seed: seed), model: DestinationModel(options: options))
    }

    private init(
        _ directory: TemporaryDirectory, _ store: Store, random: SeededGenerator, model: DestinationModel
    ) {
        (self.directory, self.store, self.random, self.model) = (directory, store, random, model)
    }

    var summary: String {
        let received = model.received.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        return """
            \(steps) operations; \(model.inserted) rows; received: \(received); dead letters expired: \(model.expired); \
            databases of other machines: \(aside.count)
            """
    }

    mutating func step() throws {
        let name = Self.names.randomElement(using: &random) ?? .main
        switch Int.random(in: 0..<1000, using: &random) {
        case 0..<400: try did("fix") { try $0.insert() }
        case 400..<450: try did("event") { try $0.insertEvent() }
        case 450..<580: try did("freeze \(name)") { _ = try $0.freeze(name) }
        case 580..<720: try did("acknowledge \(name)") { try $0.acknowledge(name) }
        case 720..<762: try did("reject \(name)") { try $0.reject(name) }
        case 762..<770: try did("isolate \(name)") { try $0.isolate(name) }
        case 770..<775: try did("requeue \(name)") { try $0.moveDeadLetters(name) }
        case 775..<800: try did("resend \(name)") { try $0.resend(name) }
        case 800..<820: try did("backfill \(name)") { try $0.backfill(name) }
        case 820..<840: try did("forget \(name)") { try $0.forget(name) }
        case 840..<890: try did("configure") { try $0.configure() }
        case 890..<900: try did("latest for \(name)") { try $0.deliverLatest(name) }
        case 900..<930: try did("squeeze") { try $0.squeeze() }
        case 930..<950: try did("delete") { try $0.delete() }
        case 950..<953: try did("moved aside") { try $0.moveAside() }
        case 953..<975: try did("restart") { try $0.restart() }
        default: try did("crash") { try $0.crash() }
        }
        try check()
    }

    /// Everything is delivered, to all.
    mutating func finish() throws {
        (latest, isEnding) = ("the end", true)
        model.options.destinations = .named(.main, .fleet, .home)
        try apply()
        for name in Self.names {
            while try freeze(name) || model.known[name]?.batches.isEmpty == false { try acknowledge(name) }
            try check()
            try #require(model.known[name]?.owed == [])
        }
        for (name, rows) in aside { try #require(try Self.rows(of: directory.path + "/" + name) == rows) }
        // But for events that were stored while nobody's format carried them.
        try #require(model.ids { !$0.isKept && !$0.isEvent } == [])
    }

    private mutating func did(_ name: String, _ operation: (inout DestinationRun) throws -> Void) throws {
        steps += 1
        latest = name
        try operation(&self)
    }

    private mutating func nextID(_ kind: Int) -> UUIDv7 {
        ids += 1
        return uuid(kind * 100_000_000 + ids)
    }

    // MARK: Rows

    private mutating func insert() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: now += Self.day * Int64.random(in: 1...9, using: &random)
        case 3..<15: now -= Int64.random(in: 0...100_000, using: &random)
        default: now += Int64.random(in: 0...10_000, using: &random)
        }
        let isTrusted = random.chance(0.7)
        let drafted = try drafted()
        var location = location(0, id: nextID(1))
        location.fix.time = Timestamp(milliseconds: now)
        let extras: String? = random.chance(0.05) ? #"{"driver":1}"# : nil
        _ = try store.insert(
            NewLocation(
                location: location, session: uuid(1), sessionStartedAt: time(0), odometer: 1, extras: extras,
                prunesByAge: isTrusted))
        _ = model.insert(location.id, ts: now, isEvent: false, isTrusted: isTrusted, besides: drafted)
    }

    /// Rows that a draft holds, which may be one that was never frozen.
    private func drafted() throws -> Set<UUIDv7> {
        try store.perform("look") { (writer) throws(SQLiteError) in
            var ids: Set<UUIDv7> = []
            for draft in writer.ledger.backlogs.compactMap(\.queue.draft) {
                ids.formUnion(try writer.tables.locations.members(draft) { _ in nil }.map(\.location.id))
                ids.formUnion(try writer.tables.events.rows(in: draft.events).map(\.id))
            }
            return ids
        }
    }

    private mutating func insertEvent() throws {
        let id = nextID(3)
        let isOfVehicle = random.chance(0.4)
        let moment = Timestamp(milliseconds: now)
        let crossing = GeofenceEvent(
            id: id, session: uuid(1), crossing: Crossing(geofence: "home", kind: .enter, time: moment))
        let event = VehicleEvent(
            id: id, session: uuid(1), happening: .ignitionOn, time: .known(moment, isEstimated: false))
        _ = try store.insert(
            NewEvents(
                events: isOfVehicle ? [] : [crossing], changes: [], session: uuid(1),
                sessionStartedAt: time(0), isTracking: true, extras: nil, time: moment, prunesByAge: false,
                vehicleEvents: isOfVehicle ? [event] : []))
        _ = model.insert(id, ts: now, isEvent: true, isTrusted: false, isOfVehicle: isOfVehicle)
    }

    /// More rows than the cap, which nothing else meets.
    private mutating func squeeze() throws {
        for name in Self.names { _ = try freeze(name) }
        let stored = model.ids { !$0.isEvent }.count
        model.options.maxRows = max(stored - Int.random(in: 0...4, using: &random), 2)
        store.configure(model.options)
        for _ in 0..<3 {
            try insert()
            try check()
        }
        model.options.maxRows = 1000
        store.configure(model.options)
    }

    private mutating func delete() throws {
        let cutoff = now - Int64.random(in: 0...200_000, using: &random)
        _ = model.delete(upTo: cutoff)
        // Dead letters as well.
        for name in model.known.keys {
            let old = model.known[name]?.dead.filter { (model.graves[$0]?.ts ?? .max) <= cutoff } ?? []
            model.known[name]?.dead.subtract(old)
        }
        var deletion = try store.beginDeletion(before: Timestamp(milliseconds: cutoff))
        while !deletion.isFinished { try store.proceed(with: &deletion) }
    }

    // MARK: Batches

    private mutating func freeze(_ name: DestinationName) throws -> Bool {
        let order: BatchOrder = random.chance(0.3) ? .newest : .oldest
        let limit = Int.random(in: 1...12, using: &random)
        guard let draft = try store.draftBatch(for: name, limit: limit, order: order) else {
            let isBusy = model.known[name].map { !$0.batches.isEmpty || $0.owed.isEmpty } ?? true
            try #require(isBusy)
            return false
        }
        if order == .newest { try checkNewest(draft, limit: limit) }
        if !isEnding, random.chance(0.2) { try insert() }
        let (id, rows) = (nextID(2), Self.rows(draft))
        let batch = try store.freeze(draft, id: id, StoredRequest(body: []))
        try #require(batch?.id == id && batch?.rows == rows.count)
        model.known[name]?.batches.append(DestinationModel.Batch(id: id, rows: rows))
        return true
    }

    /// The newest of all is in it, and nothing that is older than the newest `limit`; they ascend.
    private func checkNewest(_ draft: BatchDraft, limit: Int) throws {
        let owed = model.known[draft.destination]?.owed ?? []
        func times(_ isEvent: Bool) -> [Int64] {
            owed.compactMap { model.rows[$0] }.filter { $0.isEvent == isEvent }.map(\.ts).sorted(by: >)
        }
        let locations = draft.locations.map(\.fix.time.milliseconds)
        let crossings = draft.events.map(\.crossing.time.milliseconds)
        let ofVehicle = draft.vehicleEvents.compactMap { event -> Int64? in
            guard case .known(let time, _) = event.time else { return nil }
            return time.milliseconds
        }
        for own in [locations, crossings, ofVehicle] { try #require(own == own.sorted()) }
        let events = crossings + ofVehicle
        for (own, all) in [(locations, times(false)), (events, times(true))] {
            try #require(own.allSatisfy { $0 >= all.prefix(limit).last ?? .max })
        }
        try #require((locations + events).max() == (times(false) + times(true)).max())
    }

    private static func rows(_ draft: BatchDraft) -> Set<UUIDv7> {
        Set(draft.locations.map(\.id) + (draft.events.map(\.id) + draft.vehicleEvents.map(\.id)))
    }

    private mutating func acknowledge(_ name: DestinationName) throws {
        guard let expected = model.known[name]?.batches.first, let batch = try store.nextFrozen(for: name)
        else {
            return
        }
        let order: BatchOrder = random.chance(0.3) ? .newest : .oldest
        let next = random.chance(0.5) ? try store.draftBatch(limit: 5, order: order, after: batch) : nil
        if !isEnding, random.chance(0.3) { try disturb(name) }
        let isThere = model.known[name]?.batches.first == expected
        let count = model.acknowledge(expected, by: name)
        guard let next else {
            try #require(try store.acknowledge(batch) == count)
            if random.chance(0.2) { try #require(try store.acknowledge(batch) == 0, "a second time") }
            return
        }
        let (id, rows) = (nextID(2), Self.rows(next))
        try #require(try store.acknowledge(batch, freezing: next, id: id, StoredRequest(body: [])) == count)
        guard isThere, model.known[name]?.owed.isSuperset(of: rows) == true else { return }
        model.known[name]?.batches.append(DestinationModel.Batch(id: id, rows: rows))
    }

    /// While a batch is under way, anything may happen to the others.
    private mutating func disturb(_ name: DestinationName) throws {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try delete()
        case 1: try resend(name)
        case 2: try backfill(name)
        case 3: try moveDeadLetters(name)
        default: try insert()
        }
    }

    private mutating func reject(_ name: DestinationName) throws {
        guard let expected = model.known[name]?.batches.first, let batch = try store.nextFrozen(for: name)
        else {
            return
        }
        now += 1
        model.bury(expected)
        let isTrusted = random.chance(0.5)
        let count = model.reject(expected, by: name, at: now, isTrusted: isTrusted)
        let time = Timestamp(milliseconds: now)
        let result = try store.reject(batch, status: 422, at: time, trusted: isTrusted ? time : nil)
        try #require(result == count.map { .deadLettered($0) } ?? .suspected)
        if result == .suspected, random.chance(0.7) { try acknowledge(name) }
    }

    /// Searches for the row that is to blame.
    private mutating func isolate(_ name: DestinationName) throws {
        guard let expected = model.known[name]?.batches.first, expected.rows.count > 1,
            let batch = try store.nextFrozen(for: name)
        else { return }
        let isSuspected = model.countRejection(of: expected, by: name)
        try #require(try store.countRejection(of: batch) == isSuspected)
        // Nothing moves then.
        if isSuspected { return random.chance(0.5) ? try acknowledge(name) : () }
        let pieces = try store.halves(of: batch).map { draft in
            (draft: draft, id: nextID(2), request: StoredRequest(body: []))
        }
        try store.split(batch, into: pieces)
        try #require(pieces.allSatisfy { !Self.rows($0.draft).isEmpty })
        let parts = pieces.map {
            DestinationModel.Batch(id: $0.id, rows: Self.rows($0.draft), isPiece: true)
        }
        // But for events that it is owed no longer, because it is to have none any more.
        let left = expected.rows.intersection(model.known[name]?.owed ?? [])
        try #require(parts.reduce(Set<UUIDv7>()) { $0.union($1.rows) } == left)
        model.known[name]?.batches.replaceSubrange(0..<1, with: parts)
    }

    private mutating func moveDeadLetters(_ name: DestinationName) throws {
        let act: RejectedWork.Act = random.chance(0.3) ? .purge : .requeue
        let dead = model.known[name]?.dead ?? []
        switch act {
        case .purge: model.known[name]?.dead = []
        case .requeue: model.requeue(dead, of: name)
        }
        var work = try store.begin(act, of: name)
        while !work.isFinished { try store.proceed(with: &work) }
        try #require(work.done == dead.count)
    }

    private mutating func resend(_ name: DestinationName) throws {
        let count = model.resend(name)
        var work = Resend(for: name, from: time(-100 * 86_400), to: nil)
        while !work.isFinished { try store.proceed(with: &work) }
        try #require(work.done == count)
    }

    // MARK: Destinations

    private mutating func backfill(_ name: DestinationName) throws {
        let from = random.chance(0.5) ? Int64.min : now - Int64.random(in: 0...200_000, using: &random)
        let count = model.backfill(name, from: from)
        var work = Backfill(of: name, from: from == .min ? nil : Timestamp(milliseconds: from))
        while !work.isFinished { try store.proceed(with: &work) }
        try #require(work.done == count)
    }

    private mutating func forget(_ name: DestinationName) throws {
        let count = model.forget(name, hadMain: hadMain)
        var work = Forgetting(name)
        while !work.isFinished { try store.proceed(with: &work) }
        try #require(work.removed == count)
        try checkNews()
    }

    private mutating func configure() throws {
        model.options.keepsUploaded = random.chance(0.4)
        let hours = [nil, nil, nil, 0.01, 24, 100].randomElement(using: &random) ?? nil
        model.options.unsentRetention = hours.map { $0 * 3600 }
        model.options.retention =
            random.chance(0.5) ? 1e9 : Double(Int.random(in: 1...7, using: &random)) * 86_400
        model.options.destinations = Self.names.filter { _ in random.chance(0.6) }.map { name in
            StoreOptions.Destination(
                name, carriesEvents: random.chance(name == .home ? 0.3 : 0.9),
                carriesVehicleEvents: random.chance(0.6))
        }
        try apply()
    }

    /// For some rows it gets only the newest location, of which the store knows nothing; then all of them again.
    private mutating func deliverLatest(_ name: DestinationName) throws {
        let before = model.options.destinations
        model.options.destinations.removeAll { $0.name == name }
        try apply()
        try check()
        for _ in 0..<Int.random(in: 0...3, using: &random) { try insert() }
        if random.chance(0.3) { try crash() }
        try check()
        model.options.destinations = before
        try apply()
    }

    private mutating func apply() throws {
        let isChanged = configured != model.options.destinations
        configured = model.options.destinations
        store.configure(model.options)
        if isChanged { model.reconcile(hadMain: hadMain) }
        try checkNews()
        if !hadMain, model.options.destinations.contains(where: { $0.name == .main }), random.chance(0.5) {
            try store.adopt(endpoint: 1)
            hadMain = true
        }
    }

    // MARK: Life and death

    private mutating func restart() throws {
        store.close()
        try open()
    }

    private mutating func open() throws {
        store = try Store(
            directory: directory.path, options: model.options, checkpointPages: 60, largeTable: 30)
        model.reconcile(hadMain: hadMain)
        try checkNews()
    }

    /// Whose events have ended with a change of format, and nothing else.
    private mutating func checkNews() throws {
        let expected = model.uncarried.sorted { $0.key < $1.key }
            .map { Store.Event.uncarried($0.key, events: $0.value) }
        model.uncarried = [:]
        try #require(store.takeEvents() == expected)
    }

    /// The disk has come from another machine: its database is moved aside, whole, and nothing of it is sent or stored here;
    /// or it was this machine's after all.
    private mutating func moveAside() throws {
        store.close()
        let files = DatabaseFiles(in: directory.path)
        let name = files.foreignName(at: time(0))
        try #require(try files.moveAside(as: name))
        guard random.chance(0.7) else {
            try files.takeBack(name)
            return try open()
        }
        aside[name] = model.ids { _ in true }
        model = model.begunAnew()
        hadMain = false
        try open()
    }

    private static func rows(of path: String) throws -> Set<UUIDv7> {
        let db = try Connection(path: path, access: .readOnly)
        let rows = try db.prepare("SELECT id FROM locations UNION ALL SELECT id FROM events")
        var found: Set<UUIDv7> = []
        while try rows.step() { if let id = UUIDv7(bytes: rows.blob(0)) { found.insert(id) } }
        return found
    }

    private mutating func crash() throws {
        let left = try TemporaryDirectory(inMemory: true)
        for name in try directory.names() where name != "ballast" && !name.hasSuffix("-shm") {
            try left.write(name, try directory.read(name))
        }
        store.close()
        directory = left
        try open()
    }
}
