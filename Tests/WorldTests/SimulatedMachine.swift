import Base
import CSQLite
import Glibc
import Linux
import SQLite
import SimulatedDisk
import Support
import Tracking

/// The vehicle's disk and its power: what the disk does to the process on it, and at which place that dies.
///
/// A place is the n-th thing that a process does to the world: a call of SQLite's VFS, one of a file, a request. From there the
/// process is deaf: each of these fails, and nobody hears of it any more.
final class SimulatedMachine {
    /// What was written is on the disk as it was written: with `durability = "normal"` a sync that has failed may have left a hole
    /// in the log, which a process that lives does not see (seed 1579).
    var isWhole: Bool { isDurable || failedSyncs == 0 }
    /// Why a process ends.
    enum Death: String { case kill, cut }

    /// Operations of the disk that fail for a while.
    private struct Trouble {
        let until: BootInstant
        let kinds: Set<SimulatedDisk.Operation.Kind>
        let chance: Double
    }

    private(set) var disk: SimulatedDisk
    /// Things done to the world, of all processes.
    private(set) var effects = 0
    /// How often each has happened.
    private(set) var events: [String: Int] = [:]
    /// A commit is on the disk when it returns.
    var isDurable = true
    private let now: () -> BootInstant
    private var random: SeededGenerator
    private var death: (kind: Death, left: Int)?
    private var trouble: Trouble?
    private var fullUntil: BootInstant?
    private var failedSyncs = 0
    /// Files of tokens do not open: a run as root has left them, or the disk does not give them.
    private var lockedTokens: (until: BootInstant, code: Int32)?
    /// What the world itself does meets no fault.
    private var isOwn = false

    /// All that is counted.
    static let eventNames = ["EIO", "cut", "kill", "unreadable tokens"]
    static let directory = "/state"
    /// Another's, on the same disk.
    private static let elsewhere = "/elsewhere"
    private static let hog = "/elsewhere/hog"
    private static let capacity = 48 << 20

    init(seed: UInt64, now: @escaping () -> BootInstant) {
        random = SeededGenerator(seed: seed)
        self.now = now
        disk = SimulatedDisk(capacity: Self.capacity, seed: random.next())
        disk.makeDirectory(Self.directory)
        disk.makeDirectory(Self.elsewhere)
        watch()
    }

    private func watch() {
        disk.fault = { [unowned self] in judge($0) }
    }

    private func judge(_ operation: SimulatedDisk.Operation) -> SimulatedDisk.Answer {
        if isOwn { return .goOn }
        if isLast { return .die }
        if let lockedTokens, operation.kind == .open, Self.isTokens(operation.path) {
            return .fail(lockedTokens.code)
        }
        guard let trouble, trouble.kinds.contains(operation.kind), now() < trouble.until,
            random.chance(trouble.chance)
        else { return .goOn }
        if operation.kind == .sync { failedSyncs += 1 }
        count("EIO")
        return .fail(EIO)
    }

    private static func isTokens(_ path: String) -> Bool {
        path.hasPrefix(directory + "/tokens") && !path.hasSuffix(".tmp")
    }

    /// One more thing is done to the world.
    private var isLast: Bool {
        effects += 1
        guard let left = death?.left else { return false }
        death?.left = left - 1
        return left <= 0
    }

    // MARK: Death

    /// A process that is deaf by now.
    var isDeaf: Bool { disk.isDeaf }

    /// A request is about to go out.
    ///
    /// - Returns: whether it does, and whether its answer will be heard.
    func post() -> (goes: Bool, isHeard: Bool) {
        if isDeaf { return (false, false) }
        guard isLast else { return (true, true) }
        disk.die()
        return (random.chance(0.5), false)
    }

    /// The process is to die, soon: some things to the world later.
    func doom(using random: inout SeededGenerator) {
        let left = Int(exp(Double.random(in: 0...log(600.0), using: &random))) - 1
        death = (random.chance(0.4) ? .cut : .kill, left)
    }

    /// The process is to die at one of the next things that it does, unless it is to die already.
    func doom(within effects: Int, using random: inout SeededGenerator) {
        guard death == nil else { return }
        death = (random.chance(0.4) ? .cut : .kill, Int.random(in: 0..<effects, using: &random))
    }

    /// Tokens cannot be read for a while.
    func lockTokens(using random: inout SeededGenerator) {
        let seconds = Double.random(in: 1...1800, using: &random)
        lockedTokens = (now().advanced(bySeconds: seconds), random.chance(0.5) ? EACCES : EIO)
        count("unreadable tokens")
    }

    /// Tokens may count as unreadable.
    var hidesTokens: Bool { lockedTokens != nil || latestTrouble.advanced(bySeconds: 120) > now() }

    var isDoomed: Bool { death != nil }
    /// The latest moment at which the disk was not as it should be.
    private(set) var latestTrouble = BootInstant(nanoseconds: .min / 2)
    /// A start may fail.
    var isTroubled: Bool { trouble != nil || fullUntil != nil || isDeaf }

    /// Strikes a process that has nothing left to do: now.
    func strike() {
        if death != nil { disk.die() }
    }

    /// The process is gone: its disk goes to the next one.
    ///
    /// - Returns: what has ended it.
    func bury() -> Death {
        let kind = death?.kind ?? .kill
        death = nil
        count("\(kind)")
        switch kind {
        case .kill: disk = disk.kill()
        case .cut:
            // Not covered at NORMAL: docs/durability.md, "Where it ends".
            let losses = PowerLoss.allCases.filter { isDurable || failedSyncs == 0 || $0 != .garbled }
            disk = disk.powerCut(losses.randomElement(using: &random), using: &random)
            failedSyncs = 0
        }
        watch()
        return kind
    }

    // MARK: Trouble

    /// The disk fails for a while: all of it, or what it is to keep, or what it is to give.
    func fail(for seconds: Double, using random: inout SeededGenerator) {
        let all = Set(SimulatedDisk.Operation.Kind.allCases)
        let reading: Set<SimulatedDisk.Operation.Kind> = [.open, .read, .list, .status]
        let kinds =
            [all, all.subtracting(reading), [.sync, .syncDirectory], reading]
            .randomElement(using: &random) ?? all
        trouble = Trouble(
            until: now().advanced(bySeconds: seconds), kinds: kinds,
            chance: [0.01, 0.1, 1].randomElement(using: &random) ?? 1)
    }

    /// Others fill the disk, for a while, but for some bytes.
    func fill(for seconds: Double, using random: inout SeededGenerator) {
        let left = [0, 4096, 20_000, 200_000].randomElement(using: &random) ?? 0
        guard fullUntil == nil else { return }
        asWorld {
            let file = try disk.open(Self.hog, .create)
            try file.allocate(max(0, disk.free - left))
            try file.sync()
            try disk.synchronise(Self.elsewhere)
        }
        fullUntil = now().advanced(bySeconds: seconds)
    }

    /// Faults that have an end end.
    func settle() {
        if isTroubled { latestTrouble = now() }
        if let trouble, trouble.until <= now() { self.trouble = nil }
        if let fullUntil, fullUntil <= now() { empty() }
        if let lockedTokens, lockedTokens.until <= now() { self.lockedTokens = nil }
    }

    /// All faults end.
    func mend() {
        settle()
        (trouble, death, lockedTokens) = (nil, nil, nil)
        empty()
    }

    private func empty() {
        if fullUntil != nil { asWorld { try disk.remove(Self.hog) } }
        fullUntil = nil
    }

    private func asWorld(_ body: () throws -> Void) {
        isOwn = true
        defer { isOwn = false }
        try? body()
    }

    // MARK: What is there

    /// What a database holds: its rows, with when their fixes were, those that a server has refused included;
    /// and frozen batches.
    struct Holding {
        /// An entry into a geofence, or an exit.
        struct Event {
            let id: String
            let geofence: String
            let kind: Crossing.Kind
            let time: Timestamp
        }

        var rows: [String: Timestamp] = [:]
        /// In the order in which they happened, those that a server has refused first.
        var events: [Event] = []
        var batches: Set<String> = []
        /// By destination: rows that its server has refused for good.
        var deadLetters: [String: Set<String>] = [:]

        func has(_ row: String) -> Bool { rows[row] != nil || events.contains { $0.id == row } }
    }

    /// What a start on a sound disk would find, and its own files' handles.
    func look(_ open: (SimulatedFiles) throws -> Void) throws -> (Holding, handles: Int) {
        let copy = disk.powerCut(.nothing, using: &random)
        try? copy.remove(Self.hog)
        var holding = Holding()
        do {
            let files = try SimulatedFiles(on: copy)
            try open(files)
            let db = try Connection(
                path: Self.directory + "/beekon.db", access: .readOnly, vfs: files.vfs)
            let rows = try db.prepare("SELECT id, ts FROM locations UNION ALL SELECT id, ts FROM rejected")
            while try rows.step() {
                guard let id = UUIDv7(bytes: rows.blob(0)) else { continue }
                holding.rows[id.description] = Timestamp(milliseconds: rows.integer(1))
            }
            // The codes of entries and exits are the first two.
            let events = try db.prepare(
                """
                SELECT id, subject, kind, ts FROM rejected_events WHERE kind < 2 \
                UNION ALL SELECT id, subject, kind, ts FROM (SELECT * FROM events WHERE kind < 2 ORDER BY seq)
                """)
            while try events.step() {
                guard let id = UUIDv7(bytes: events.blob(0)), let geofence = events.text(1) else { continue }
                holding.events.append(
                    Holding.Event(
                        id: id.description, geofence: geofence, kind: events.integer(2) == 0 ? .enter : .exit,
                        time: Timestamp(milliseconds: events.integer(3))))
            }
            let letters = try db.prepare(
                "SELECT id, destination FROM rejected UNION ALL SELECT id, destination FROM rejected_events")
            while try letters.step() {
                guard let id = UUIDv7(bytes: letters.blob(0)), let name = letters.text(1) else { continue }
                holding.deadLetters[name, default: []].insert(id.description)
            }
            let batches = try db.prepare("SELECT id FROM batches")
            while try batches.step() {
                if let id = UUIDv7(bytes: batches.blob(0)) { holding.batches.insert(id.description) }
            }
        }
        return (holding, copy.openHandles)
    }

    /// Bytes that SQLite holds for this program.
    static var memory: Int64 { sqlite3_memory_used() }

    func count(_ what: String) { events[what, default: 0] += 1 }
}
