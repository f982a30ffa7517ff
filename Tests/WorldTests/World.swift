import Base
import Envelope
import Glibc
import Linux
import SimulatedDisk
import Storage
import Support
import Tracking

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// One vehicle in one thread and in simulated time, from one seed: reader and uploaders whole, on a real database on a simulated
/// disk; gpsd and the servers are played, and so is the main thread.
final class World {
    /// Boot time of the machine; it is never restarted, the daemon is.
    private(set) var now = instant(1000)
    private(set) var turns = 0
    private(set) var kills = 0
    /// Bytes that SQLite held before the process.
    private var memory: Int64 = 0
    /// Digest of all that has happened (FNV-1a): two lives from one seed have the same.
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    let laws = Laws()
    private(set) var servers: [SimulatedServer] = []
    private(set) var machine = SimulatedMachine(seed: 0) { instant(0) }
    private var receiver = SimulatedReceiver { instant(0) }
    private var random: SeededGenerator
    private var settings = Settings()
    private var process: SimulatedProcess?
    private var revision = 0
    private var nextToken = 1
    private var asked: [Int: Question] = [:]
    /// What was answered last: whether it tracks.
    private var isTracking: Bool?
    private var drive = Drive()
    private var systemClock = SystemClock()

    /// What a client waits for.
    private enum Question {
        case start, stop, sync
        /// Deletion of these rows, and perhaps of some that have come since that moment.
        case deletion(before: Timestamp?, rows: Set<String>, at: BootInstant)

        var text: String {
            switch self {
            case .start: "start"
            case .stop: "stop"
            case .sync: "sync"
            case .deletion(let cutoff, let rows, _):
                "delete \(rows.count) rows before \(cutoff?.iso8601 ?? "now")"
            }
        }
    }

    private struct Drive {
        /// Degrees.
        var longitude = 13.25
        /// Metres per second.
        var speed = 0.0
        var changesAt = instant(0)
        /// Seconds that the receiver's time is ahead.
        var error = 0.0
    }

    /// The machine's clock, which has no battery, or was set by hand, or by a server that is wrong itself.
    private struct SystemClock {
        /// Seconds that it is ahead.
        var error = 0.0
        var isSynchronised = true
    }

    /// 2027-03-15T08:00:00Z at boot.
    private static let boot = Timestamp(milliseconds: 1_805_097_600_000)
    /// Metres of a degree of longitude where it drives.
    private static let degree = 67_700.0

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        drive.changesAt = now
        settings.tracking.intervalSeconds = Double([1, 5, 10, 30].randomElement(using: &random) ?? 10)
        settings.tracking.distanceMeters = 0
        settings.store.durability = random.chance(0.5) ? .normal : .full
        // Longer than any life: what is deleted for its age was deleted for a wrong clock.
        settings.store.unsentDays = random.chance(0.5) ? 1 : 0
        try drawDestinations()
        receiver = SimulatedReceiver { [unowned self] in now }
        machine = SimulatedMachine(seed: random.next()) { [unowned self] in now }
        laws.mayHaveFailed = { [unowned self] in
            now < machine.latestTrouble.advanced(bySeconds: Self.patienceWithDisk)
        }
        machine.isDurable = settings.store.durability == .full
        for server in servers {
            server.post = { [unowned self] in machine.post() }
            server.trace = { [unowned self] in trace($0) }
        }
        try boot()
    }

    /// Names of destinations, main's first.
    private static let names: [DestinationName] =
        [.main] + ["archive", "fleet", "home"].compactMap { .init($0) }
    /// Formats whose requests say which rows they are.
    static let formats: [Format] = [.beekon, .overland, .owntracks, .template]

    /// Up to four, in half of all seeds one.
    private func drawDestinations() throws {
        let count = [1, 1, 1, 2, 3, 4].randomElement(using: &random) ?? 1
        for name in Self.names.prefix(count) {
            let format = random.chance(0.5) ? .beekon : Self.formats.randomElement(using: &random) ?? .beekon
            // A request for each row: fewer of them.
            if format == .owntracks { settings.tracking.intervalSeconds = 30 }
            let delivery = laws.addDestination(name)
            let server = SimulatedServer(name, format, seed: random.next(), delivery)
            delivery.rows = { [unowned server] in server.rows }
            servers.append(server)
        }
        try drawSync()
    }

    /// How each destination gets its rows.
    private func drawSync() throws {
        var tables: [Settings.Destination] = []
        for server in servers {
            var sync = Settings.Sync()
            sync.url = "https://\(server.name.text).example/"
            sync.batchSize = [1, 7, 50, 100, 500].randomElement(using: &random) ?? 100
            sync.syncThreshold = [0, 1, 20].randomElement(using: &random) ?? 0
            sync.intervalSeconds = [60, 300, 900].randomElement(using: &random) ?? 300
            sync.format = try Self.format(server.format, batchSize: &sync.batchSize)
            if server.format.traits.isForeign { sync.onReject = .keep }
            tables.append(Settings.Destination(name: server.name.text, sync: sync))
        }
        settings.sync = tables.removeFirst().sync
        settings.destinations = tables
    }

    private static func format(_ name: Format, batchSize: inout Int) throws -> Settings.Format {
        switch name {
        case .beekon: return .beekon(Settings.Beekon())
        case .overland: return .overland(Settings.Overland())
        case .owntracks, .osmand:
            batchSize = 1
            return .owntracks(Settings.OwnTracks(deviceID: "van"))
        case .template:
            batchSize = max(batchSize, 2)
            return .template(
                Settings.Template(
                    shape: try TemplateShape(
                        params: BodyFields(), batchSize: batchSize,
                        location: Template(#"{"uuid": "<%= uuid %>"}"#, for: .location), geofence: nil)))
        }
    }

    private var time: Timestamp { Self.boot.advanced(bySeconds: now.seconds(since: instant(0))) }

    // MARK: From beginning to end

    /// Lives for so many seconds, then lets all faults cease, and holds what has come of it against the laws.
    func run(seconds: Double) throws {
        ask(.start)
        let end = now.advanced(bySeconds: seconds)
        var eventAt = now.advanced(bySeconds: 30)
        while now < end, laws.violations.isEmpty {
            try live(until: min(eventAt, end))
            guard now < end else { break }
            if process.map({ _ in machine.isDoomed }) ?? false { try die() } else { try happen() }
            eventAt = now.advanced(bySeconds: Double.random(in: 1...900, using: &random))
        }
        try conclude()
    }

    /// Everything is as it should be: all must arrive in time.
    private func conclude() throws {
        for server in servers { server.mood = .good }
        machine.mend()
        (systemClock, drive.error) = (SystemClock(), 0)
        ask(.stop)
        let size = settings.allDestinations.map(\.sync.batchSize).min() ?? 1
        let batches = Double(process?.pending ?? 0) / Double(size)
        let patience = Self.patience + batches * SimulatedServer.longestAnswer
        let deadline = now.advanced(bySeconds: patience)
        while laws.violations.isEmpty, process?.pending != 0 || isTracking != false {
            guard now < deadline else {
                let pending = process?.pending ?? 0
                return laws.broken("\(pending) rows are pending after \(patience) s without a fault")
            }
            try live(until: now.advanced(bySeconds: 10))
        }
        release()
        guard laws.violations.isEmpty else { return }
        laws.ended(try machine.look { _ = try SimulatedProcess.open($0, settings) }.0)
    }

    /// Seconds: the longest interval of the schedule, the longest back-off, and some.
    private static let patience = 3600.0

    // MARK: What happens

    private func happen() throws {
        switch Int.random(in: 0..<16, using: &random) {
        case 0, 1: machine.doom()
        case 2: ask(.sync)
        case 3: askForDeletion(before: random.chance(0.3) ? nil : time.advanced(bySeconds: -300))
        case 4: ask(isTracking == true ? .stop : .start)
        case 5:
            try drawSync()
            configure()
        case 6:
            receiver.goDown(until: now.advanced(bySeconds: Double.random(in: 1...300, using: &random)))
        case 7: process?.tell(.trigger(.networkReturned(outage: 600)))
        case 8: machine.fill(for: Double.random(in: 1...3600, using: &random))
        case 9: machine.fail(for: Double.random(in: 1...600, using: &random))
        case 10: stepClock()
        // As a receiver does that has counted its weeks wrong, or has the time of its own clock until it sees the sky.
        case 11:
            drive.error =
                [0, 0, -400 * Self.day, 2 * Self.day, 400 * Self.day].randomElement(using: &random) ?? 0
            trace("the receiver's time is \(drive.error) s ahead")
        default:
            let mood = SimulatedServer.Mood.allCases.randomElement(using: &random) ?? .good
            // The vehicle's network is that of all.
            let all = random.chance(0.3)
            let one = servers.randomElement(using: &random)
            for server in servers where all || server === one { server.mood = mood }
        }
    }

    /// The process has come to the place where it dies, or has nothing more to do before that. The next start follows within a
    /// minute.
    private func die() throws {
        machine.strike()
        kills += 1
        try bury()
        now = now.advanced(bySeconds: Double.random(in: 1...60, using: &random))
        try boot()
    }

    private func bury() throws {
        // Nobody is answered any more. Whether it was done shows later.
        for case .deletion(let cutoff, let rows, _) in asked.values {
            laws.deletionUnanswered(of: rows.union(laws.rows(before: cutoff)))
        }
        if isAsked { isTracking = nil }
        asked = [:]
        receiver.disconnect()
        release()
        let death = machine.bury()
        trace("the process is gone by a \(death), after \(machine.effects) effects")
        do {
            let (holding, handles) = try machine.look { _ = try SimulatedProcess.open($0, settings) }
            if handles > 0 { laws.broken("\(handles) files are still open") }
            laws.found(holding, isDurable: machine.isDurable || death == .kill)
        } catch {
            laws.broken("after a \(death) the database does not open: \(error)")
        }
    }

    /// Releases the objects and the memory of a process that is gone.
    private func release() {
        guard let remains = process?.remains else { return }
        process = nil
        if let first = remains.names.first { laws.broken("\(first) outlives its process") }
        if SimulatedMachine.memory != memory {
            laws.broken("SQLite has \(SimulatedMachine.memory - memory) bytes more than before the process")
        }
    }

    private func boot() throws {
        while process == nil, laws.violations.isEmpty {
            machine.settle()
            memory = SimulatedMachine.memory
            var seeded = SeededGenerator(seed: random.next())
            let files = try SimulatedFiles(
                on: machine.disk,
                SimulatedVFS.Surroundings(
                    now: { [unowned self] in time.milliseconds },
                    sleep: { [unowned self] in now = now.advanced(bySeconds: Double($0) / 1e6) },
                    random: { bytes in
                        for index in bytes.indices {
                            bytes[index] = UInt8(truncatingIfNeeded: seeded.next())
                        }
                    }))
            do {
                process = try SimulatedProcess(
                    files: files, settings: settings, revision: revision,
                    clock: { [unowned self] in self.now }, moment: moment, receiver: receiver,
                    servers: servers,
                    random: random.next())
            } catch {
                trace("a start fails: \(error)")
                if !machine.isTroubled { laws.broken("a start fails: \(error)") }
            }
            if machine.isDeaf {
                kills += 1
                try bury()
            }
            if process == nil { now = now.advanced(bySeconds: 5) }
        }
    }

    /// What happens: it is in the digest, and for who looks at one seed, with BEEKOND_WORLD_TRACE=1, in the output.
    private func trace(_ text: String) {
        let line = "\(time.iso8601) \(text)"
        digest = line.utf8.reduce(digest) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        if Self.isTraced { print(line) }
    }

    private static let isTraced = getenv("BEEKOND_WORLD_TRACE") != nil

    private var moment: Moment {
        Moment(
            boot: now, system: time.advanced(bySeconds: systemClock.error),
            isSynchronised: systemClock.isSynchronised)
    }

    private static let day = 86_400.0

    private func stepClock() {
        let day = Self.day
        systemClock.error =
            [0, 0, -3600, 3600, -400 * day, 2 * day, 400 * day].randomElement(using: &random) ?? 0
        systemClock.isSynchronised = random.chance(0.5)
        trace(
            "the clock is \(systemClock.error) s ahead\(systemClock.isSynchronised ? "" : ", and knows it")")
    }

    private func askForDeletion(before cutoff: Timestamp?) {
        ask(.deletion(before: cutoff, rows: laws.rows(before: cutoff), at: now))
    }

    private func ask(_ question: Question) {
        let token = nextToken
        nextToken += 1
        trace("a client asks: \(question.text), \(token)")
        let isTaken =
            switch question {
            case .start: process?.ask(.start(token))
            case .stop: process?.ask(.stop(token))
            case .deletion(let cutoff, _, _): process?.ask(.delete(before: cutoff, token))
            case .sync: process?.post(.sync(token), to: servers.randomElement(using: &random)?.name ?? .main)
            }
        if isTaken == true { asked[token] = question }
    }

    private func configure() {
        revision += 1
        process?.configure(settings, revision)
    }

    // MARK: Time

    /// Turns of the threads that have something to do, and fixes each second, until then.
    private func live(until end: BootInstant) throws {
        var fixAt = nextSecond
        var restless = 0
        while laws.violations.isEmpty {
            receiver.serve()
            machine.settle()
            if process?.turn(moment, using: &random) == true {
                turns += 1
                restless += 1
                // From where it died on nothing of it is heard.
                if machine.isDeaf { try die() } else { hear() }
                if restless > Self.mostTurns {
                    laws.broken("the threads do not come to rest at \(time.iso8601)")
                }
                continue
            }
            restless = 0
            let next = min(process?.wakeUp ?? end, fixAt, end)
            now = max(now, next)
            if now >= fixAt {
                move()
                fixAt = nextSecond
            }
            if now >= end { return }
        }
    }

    /// Turns without time passing; a drain of all that may be pending takes fewer.
    private static let mostTurns = 100_000

    private var nextSecond: BootInstant {
        BootInstant(nanoseconds: (now.nanoseconds / 1_000_000_000 + 1) * 1_000_000_000)
    }

    private func move() {
        if drive.changesAt <= now {
            drive.speed = random.chance(0.3) ? 0 : Double.random(in: 3...40, using: &random)
            drive.changesAt = now.advanced(bySeconds: Double.random(in: 20...1200, using: &random))
        }
        drive.longitude += drive.speed / Self.degree
        receiver.report(
            at: time.advanced(bySeconds: drive.error), longitude: drive.longitude, speed: drive.speed)
    }

    /// What the main thread is told.
    private func hear() {
        for message in process?.messages() ?? [] {
            switch message {
            case .location(let location):
                trace("stored: \(location.id) of \(location.fix.time.iso8601)")
                laws.stored(location)
            case .completed(let token, let result):
                trace("answered: \(token), \(result)")
                guard let question = asked.removeValue(forKey: token) else { continue }
                if case .success = result { succeeded(question) } else { failed(question) }
            default: break
            }
        }
        judgeTracking()
    }

    /// docs/durability.md, "Small files beside the database": what was answered is so, also after a kill. A disk that gave neither
    /// the file of the intent nor the database at the start has some time (`SessionKeeper.infer`): until it does, nothing tracks.
    private func judgeTracking() {
        guard let isTracking, let found = process?.isTracking, found != isTracking, !isAsked,
            now > machine.latestTrouble.advanced(bySeconds: Self.patienceWithDisk)
        else { return }
        laws.broken(
            isTracking ? "a start that was answered is forgotten" : "a stop that was answered is forgotten")
    }

    /// Seconds: the longest pause between two attempts to read it.
    private static let patienceWithDisk = 120.0

    private func succeeded(_ question: Question) {
        switch question {
        case .start: isTracking = true
        case .stop: isTracking = false
        case .deletion(let cutoff, let rows, let moment):
            laws.deletionAnswered(of: rows)
            // The disk has held it up.
            if moment < now { laws.deletionUnanswered(of: laws.rows(before: cutoff)) }
        case .sync: break
        }
    }

    /// A question has failed: it may have been done in part, or be done later.
    private func failed(_ question: Question) {
        switch question {
        case .start, .stop: isTracking = nil
        case .deletion(let cutoff, let rows, _):
            laws.deletionUnanswered(of: rows.union(laws.rows(before: cutoff)))
        case .sync: break
        }
    }

    /// Somebody wants it to be otherwise.
    private var isAsked: Bool {
        asked.values.contains { question in
            switch question {
            case .start, .stop: true
            case .sync, .deletion: false
            }
        }
    }
}

func instant(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: Int64(seconds * 1e9))
}
