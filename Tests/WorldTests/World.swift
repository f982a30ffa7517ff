import Base
import Glibc
import Linux
import Storage
import Support
import Tracking

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// One vehicle in one thread and in simulated time, from one seed: reader and uploader whole, on a real database; gpsd and the
/// server are played, and so is the main thread.
final class World {
    /// Boot time of the machine; it is never restarted, the daemon is.
    private(set) var now = instant(1000)
    private(set) var turns = 0
    private(set) var kills = 0
    /// Of all that has happened (FNV-1a): two lives from one seed have the same.
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    let laws = Laws()
    let server: SimulatedServer
    private let directory: TemporaryDirectory
    private var receiver = SimulatedReceiver { instant(0) }
    private var random: SeededGenerator
    private var settings = Settings()
    private var process: SimulatedProcess?
    private var generation = 0
    private var revision = 0
    private var nextToken = 1
    private var asked: [Int: Question] = [:]
    /// What was answered last: whether it tracks.
    private var isTracking: Bool?
    private var drive = Drive()

    /// What a client waits for.
    private enum Question {
        case start, stop, sync
        /// Of these rows, and perhaps of some that have come since.
        case deletion(before: Timestamp?, rows: Set<String>)

        var text: String {
            switch self {
            case .start: "start"
            case .stop: "stop"
            case .sync: "sync"
            case .deletion(let cutoff, let rows):
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
    }

    /// 2027-03-15T08:00:00Z at boot.
    private static let boot = Timestamp(milliseconds: 1_805_097_600_000)
    /// Metres of a degree of longitude where it drives.
    private static let degree = 67_700.0

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        directory = try TemporaryDirectory(inMemory: true)
        server = SimulatedServer(seed: random.next(), laws)
        drive.changesAt = now
        settings.tracking.intervalSeconds = Double([1, 5, 10, 30].randomElement(using: &random) ?? 10)
        settings.tracking.distanceMeters = 0
        settings.store.durability = .normal
        var sync = Settings.Sync()
        sync.url = "https://a.example/"
        settings.sync = sync
        drawSync()
        receiver = SimulatedReceiver { [unowned self] in now }
        server.trace = { [unowned self] in trace($0) }
        try boot()
    }

    private func drawSync() {
        settings.sync?.batchSize = [1, 7, 50, 100, 500].randomElement(using: &random) ?? 100
        settings.sync?.syncThreshold = [0, 1, 20].randomElement(using: &random) ?? 0
        settings.sync?.intervalSeconds = [60, 300, 900].randomElement(using: &random) ?? 300
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
            try happen()
            eventAt = now.advanced(bySeconds: Double.random(in: 1...900, using: &random))
        }
        try conclude()
    }

    /// Everything is as it should be: all must arrive in time.
    private func conclude() throws {
        server.mood = .good
        ask(.stop)
        let batches = Double(process?.pending ?? 0) / Double(settings.sync?.batchSize ?? 1)
        let patience = Self.patience + batches * SimulatedServer.longestAnswer
        let deadline = now.advanced(bySeconds: patience)
        while laws.violations.isEmpty, process?.pending != 0 || isTracking != false {
            guard now < deadline else {
                let pending = process?.pending ?? 0
                return laws.broken("\(pending) rows are pending after \(patience) s without a fault")
            }
            try live(until: now.advanced(bySeconds: 10))
        }
        if laws.violations.isEmpty { laws.ended(server.rows) }
    }

    /// Seconds: the longest interval of the schedule, the longest back-off, and some.
    private static let patience = 3600.0

    // MARK: What happens

    private func happen() throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: try kill()
        case 2: ask(.sync)
        case 3: askForDeletion(before: random.chance(0.3) ? nil : time.advanced(bySeconds: -300))
        case 4: ask(isTracking == true ? .stop : .start)
        case 5:
            drawSync()
            configure()
        case 6:
            receiver.goDown(until: now.advanced(bySeconds: Double.random(in: 1...300, using: &random)))
        case 7: process?.post(.trigger(.networkReturned(outage: 600)))
        default: server.mood = SimulatedServer.Mood.allCases.randomElement(using: &random) ?? .good
        }
    }

    /// SIGKILL: what has been written is there, and nothing else. The next start follows within a minute.
    private func kill() throws {
        kills += 1
        generation += 1
        let copy = directory.file("state\(generation)")
        guard mkdir(copy, 0o700) == 0 else { throw SetUpFailed(operation: "mkdir", code: errno) }
        for name in try directory.names(in: "state\(generation - 1)") where !name.hasSuffix("-shm") {
            try directory.write(
                "state\(generation)/\(name)", try directory.read("state\(generation - 1)/\(name)"))
        }
        self.process = nil
        // Nobody is answered any more. Whether it was done shows later.
        for case .deletion(_, let rows) in asked.values { laws.deletionUnanswered(of: rows) }
        if asked.values.contains(where: { if case .start = $0 { true } else { false } }) { isTracking = nil }
        if asked.values.contains(where: { if case .stop = $0 { true } else { false } }) { isTracking = nil }
        asked = [:]
        receiver.disconnect()
        now = now.advanced(bySeconds: Double.random(in: 1...60, using: &random))
        try boot()
    }

    private func boot() throws {
        let path = directory.file("state\(generation)")
        process = try SimulatedProcess(
            state: path, settings: settings, revision: revision, clock: { [unowned self] in self.now },
            moment: moment, receiver: receiver, server: server, random: random.next())
    }

    /// What happens: it is in the digest, and for who looks at one seed, with BEEKOND_WORLD_TRACE=1, in the output.
    private func trace(_ text: String) {
        let line = "\(time.iso8601) \(text)"
        digest = line.utf8.reduce(digest) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        if Self.isTraced { print(line) }
    }

    private static let isTraced = getenv("BEEKOND_WORLD_TRACE") != nil

    private var moment: Moment { Moment(boot: now, system: time, isSynchronised: true) }

    private func askForDeletion(before cutoff: Timestamp?) {
        ask(.deletion(before: cutoff, rows: laws.rows(before: cutoff)))
    }

    private func ask(_ question: Question) {
        let token = nextToken
        nextToken += 1
        trace("a client asks: \(question.text), \(token)")
        let isTaken =
            switch question {
            case .start: process?.ask(.start(token))
            case .stop: process?.ask(.stop(token))
            case .deletion(let cutoff, _): process?.ask(.delete(before: cutoff, token))
            case .sync: process?.post(.sync(token))
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
        while laws.violations.isEmpty, let process {
            receiver.serve()
            if process.turn(moment, readerFirst: random.chance(0.5)) {
                turns += 1
                restless += 1
                hear(process)
                if restless > Self.mostTurns {
                    laws.broken("the threads do not come to rest at \(time.iso8601)")
                }
                continue
            }
            restless = 0
            let next = min(process.wakeUp ?? end, fixAt, end)
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
        receiver.report(at: time, longitude: drive.longitude, speed: drive.speed)
    }

    /// What the main thread is told.
    private func hear(_ process: SimulatedProcess) {
        for message in process.messages() {
            switch message {
            case .location(let location):
                trace("stored: \(location.id) of \(location.fix.time.iso8601)")
                laws.stored(location)
            case .completed(let token, let result):
                trace("answered: \(token), \(result)")
                guard let question = asked.removeValue(forKey: token), case .success = result else {
                    continue
                }
                switch question {
                case .start: isTracking = true
                case .stop: isTracking = false
                case .deletion(_, let rows): laws.deletionAnswered(of: rows)
                case .sync: break
                }
            default: break
            }
        }
        // docs/durability.md, "Small files beside the database": what was answered is so, also after a kill.
        if let isTracking, let found = process.isTracking, found != isTracking, !isAsked {
            laws.broken(
                isTracking
                    ? "a start that was answered is forgotten" : "a stop that was answered is forgotten")
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
