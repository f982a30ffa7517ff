import Base
import Linux
import SQLite
import Support
import Testing
import Tracking

@testable import Storage

/// Uses the real store in every way the daemon does, at random, and notes after each operation what it must hold.
final class Workload {
    /// After an operation: what the database holds, and the highest sequence number ever given.
    struct State {
        let text: String
        let lastSeq: Int64
        /// Body of the frozen batch.
        let body: [UInt8]?
        /// The store was closed and opened again: everything is in the database file, and synced.
        let isReopened: Bool
    }

    private let ground: Ground
    var random: SeededGenerator
    var ids: UUIDv7Generator
    var options: StoreOptions
    var store: Store
    var ledger = Ledger()
    var frozen: FrozenBatch?
    private var session: UUIDv7
    var time = Timestamp(milliseconds: 1_700_000_000_000)
    private var metres: Int64 = 0
    let syncsFail: Bool
    private let largeTable: Int
    private(set) var states: [State] = []

    static let cap = 60
    /// Far fewer than in earnest, so that checkpoints are as frequent as anything else.
    private static let checkpointPages = 40

    /// - Parameters:
    ///   - syncsFail: now and then one sync does.
    ///   - largeTable: rows from which an orderly end leaves their tallies, and the next start believes the file.
    init(
        on ground: Ground, durability: StoreOptions.Durability, seed: UInt64,
        syncsFail: Bool = false, largeTable: Int = 20
    ) throws {
        self.syncsFail = syncsFail
        self.largeTable = largeTable
        self.ground = ground
        random = SeededGenerator(seed: seed)
        ids = UUIDv7Generator(using: &random)
        session = ids.next(at: time)
        options = StoreOptions(retention: 1e9, maxRows: Self.cap, durability: durability, destinations: .main)
        options.uploadedEvents = [.ignition]
        store = try Store(
            directory: ground.directory, options: options, checkpointPages: Self.checkpointPages,
            largeTable: largeTable, on: ground.files)
        try note()
    }

    func run(operations: Int) throws {
        for _ in 0..<operations { try step() }
    }

    func close() {
        store.close()
    }

    private func step() throws {
        if syncsFail, random.chance(0.1) {
            // Checkpoints are rare: the next sync of the database itself may be far away.
            let name = random.chance(0.5) ? "beekon.db-wal" : "beekon.db"
            ground.failSync(name, Int.random(in: 1...3, using: &random))
        }
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: try reopen()
        case 3..<5: try startSession()
        case 5..<7: try delete()
        case 7..<9: configure()
        // The numbers that re-queued rows get depend on when the database was last opened.
        case 9..<11: if !syncsFail { try moveDeadLetters() }
        case 11: if !syncsFail { try resend() }
        case 12: try rebatch()
        case 13..<30: try upload()
        case 30..<36: try cross()
        case 36..<39: try runCommand()
        case 39..<41: try sendResults()
        case 41..<43: try stamp()
        default: try insert()
        }
    }

    /// The operation has returned: whatever it changed must outlive a power cut from now on.
    func note(isReopened: Bool = false) throws {
        ground.mark(states.count)
        let text = ledger.text
        let db = try Connection(path: ground.database, access: .readOnly, vfs: ground.files.vfs)
        let found = try Contents.text(db)
        try #require(found == text, "the store does not hold what it should, after operation \(states.count)")
        states.append(State(text: text, lastSeq: ledger.lastSeq, body: ledger.body, isReopened: isReopened))
    }

    func insert() throws {
        if !random.chance(0.1) {
            time = time.advanced(bySeconds: Double(Int.random(in: 1...60, using: &random)))
        }
        metres += 10
        let id = ids.next(at: time)
        var new = NewLocation(
            at: time, id: id, session: session, odometer: Double(metres), extras: extras)
        let crossings = random.chance(0.1) ? crossings() : nil
        // After a sync that failed nobody knows what a draft still holds.
        new.prunesByAge = !syncsFail && random.chance(0.3)
        let age = new.prunesByAge ? options.unsentRetention : nil
        try persist { _ = try store.insert(new, with: crossings) }
        ledger.insert(
            ts: time.milliseconds, id: id, odometer: metres, cap: Self.cap,
            before: age.map { time.advanced(bySeconds: -$0).milliseconds })
        if let crossings { ledger.crossings.insert(crossings) }
        try note()
    }

    private var extras: String? {
        let all = [nil, #"{"vehicle":1}"#, #"{"vehicle":2}"#]
        return all[metres % 500 < 250 ? 0 : Int(metres / 500 % 2) + 1]
    }

    /// What a fix that is not admitted decides about the geofences.
    private func cross() throws {
        let new = crossings()
        try persist { _ = try store.insert(new) }
        ledger.crossings.insert(new)
        try note()
    }

    /// An entry or an exit, each in its turn; sometimes of a fence that is silent; sometimes of several.
    private func crossings() -> NewEvents {
        var new = NewEvents(
            events: [], changes: [], session: session, sessionStartedAt: time, isTracking: true,
            extras: extras,
            time: time, prunesByAge: false)
        for key in Int64(1)...3 where random.chance(0.5) {
            let isInside = !(ledger.crossings.states[key] ?? false)
            new.changes.append(Geofences.Change(key: key, isInside: isInside))
            guard random.chance(0.8) else { continue }
            new.events.append(
                GeofenceEvent(
                    id: ids.next(at: time), session: session,
                    crossing: Crossing(geofence: "fence \(key)", kind: isInside ? .enter : .exit, time: time))
            )
        }
        let happenings: [VehicleEvent.Happening] = [.ignitionOn, .ignitionOff, .powerLost]
        for happening in happenings where random.chance(0.3) {
            let pending = EventTime.pending(Self.boot, booted(time))
            new.vehicleEvents.append(
                VehicleEvent(
                    id: ids.next(at: time), session: session, happening: happening, data: #"{"a":1}"#,
                    time: random.chance(0.4) ? pending : .known(time, isEstimated: false)))
        }
        return new
    }

    private static let boot = BootID(high: 1, low: 2)
    /// When that was, Unix milliseconds.
    static let booted: Int64 = 1_600_000_000_000

    private func booted(_ time: Timestamp) -> BootInstant {
        BootInstant(nanoseconds: (time.milliseconds - Self.booted) * 1_000_000)
    }

    /// The time is known: events that had none have one.
    private func stamp() throws {
        let anchor = EventTime.Anchor(boot: Self.boot, now: booted(time), time: time)
        try persist { _ = try store.stampEvents(by: anchor) }
        ledger.crossings.stamp()
        try note()
    }

    private func delete() throws {
        let row = ledger.rows.prefix(20).randomElement(using: &random)
        let cutoff = random.chance(0.2) ? nil : row.map { Timestamp(milliseconds: $0.ts) }
        try persist {
            var deletion = try store.beginDeletion(before: cutoff)
            while !deletion.isFinished { try store.proceed(with: &deletion) }
        }
        ledger.delete(before: cutoff?.milliseconds)
        try note()
    }

    private func moveDeadLetters() throws {
        let act: RejectedWork.Act = random.chance(0.3) ? .purge : .requeue
        var work = try store.begin(act)
        if ledger.movesDeadLetters(isPurge: act == .purge, cap: Self.cap) {
            try store.proceed(with: &work)
            ledger.moveDeadLetters(isPurge: act == .purge, cap: Self.cap)
            try note()
        }
        while !work.isFinished { try store.proceed(with: &work) }
        ledger.crossings.moveDeadLetters(isPurge: act == .purge)
        try note()
    }

    /// Locations in one step, as there are so few, and events in the next.
    private func resend() throws {
        var work = Resend(from: Timestamp(milliseconds: 0), to: nil)
        try store.proceed(with: &work)
        ledger.resend()
        try note()
        while !work.isFinished { try store.proceed(with: &work) }
        ledger.crossings.resend()
        try note()
    }

    private func startSession() throws {
        try persist { try store.close(session: session, at: time) }
        session = ids.next(at: time)
        metres = 0
        try note()
    }

    private func configure() {
        options.keepsUploaded.toggle()
        options.unsentRetention = options.unsentRetention == nil ? 300 : nil
        store.configure(options)
    }

    /// As the daemon does: what failed is tried again.
    func persist(_ operation: () throws -> Void) throws {
        for _ in 0..<5 {
            do { return try operation() } catch let error as StorageError {
                try #require(syncsFail && error.kind == .io, "\(error)")
            }
        }
        try operation()
    }

    private func reopen() throws {
        ground.failSync("", 0)
        store.close()
        store = try Store(
            directory: ground.directory, options: options, checkpointPages: Self.checkpointPages,
            largeTable: largeTable, on: ground.files)
        try persist { frozen = try store.nextFrozen() }
        try note(isReopened: true)
        guard random.chance(0.3) else { return }
        // The uploader may drain everything before the first fix comes; and then the power fails again.
        for _ in 0..<3 { try upload() }
        try reopen()
    }
}

extension NewLocation {
    init(at time: Timestamp, id: UUIDv7, session: UUIDv7, odometer: Double, extras: String? = nil) {
        let seconds = Double(time.milliseconds / 1000 % 1_000_000)
        // In range whatever the time.
        let place = Coordinate(latitude: 47 + seconds / 1e7, longitude: 8 + seconds / 1e7).unsafelyUnwrapped
        let fix = Fix(
            time: time, mode: 3, coordinate: place, accuracy: 4, speed: 13.5, bearing: 271, altitude: 431.2)
        self.init(
            location: Location(
                id: id, session: session, fix: fix, trigger: .interval, motion: .moving,
                ignition: .sample(Int64(odometer)), battery: .sample(Int64(odometer))),
            session: session, sessionStartedAt: time, odometer: odometer, extras: extras, prunesByAge: false)
    }
}

extension Bool? {
    /// A state of the ignition for the row with this odometer: every value there is.
    static func sample(_ metres: Int64) -> Bool? { [nil, true, false][Int(metres / 10 % 3)] }
}

extension Battery? {
    /// A battery for the row with this odometer: levels and states of every kind, and none.
    static func sample(_ metres: Int64) -> Battery? {
        let number = Int(metres / 10)
        guard number % 5 > 0 else { return nil }
        return Battery(percent: number % 101, state: Battery.State.allCases[number % 4])
    }
}
