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
    private(set) var now = World.start
    private(set) var turns = 0
    private(set) var kills = 0
    /// Turns of threads amid that of another.
    private(set) var nestedTurns = 0
    /// Bytes that SQLite held before the process.
    private var memory: Int64 = 0
    /// What has happened, and each byte of each request: two lives from one seed have the same.
    private(set) var digest = Digest()
    /// The requests alone, unpacked: the same on other machines, too, whose zlib packs otherwise.
    private(set) var requestsDigest = Digest()
    /// How often each has happened.
    private(set) var happened: [Happening: Int] = [:]
    /// Numbers of those, in their order: tens are moments of the timeline, the last digit says what of such a moment; from a
    /// million on, moments are exchanges of tokens.
    private(set) var numbers: [Int] = []
    /// Simulated seconds by now.
    var seconds: Double { now.seconds(since: Self.start) }
    let laws = Laws()
    private let statusLaws: StatusLaws
    private(set) var servers: [SimulatedServer] = []
    private(set) var endpoints: [SimulatedTokenEndpoint] = []
    private(set) var machine = SimulatedMachine(seed: 0) { instant(0) }
    private var receiver = SimulatedReceiver { instant(0) }
    private let life: Life
    private var timeline: SeededGenerator
    private var order: SeededGenerator
    private var road: SeededGenerator
    private var starts = 0
    private var exchanges = 0
    private var settings = Settings()
    private var process: SimulatedProcess?
    private var revision = 0
    private var nextToken = 1
    private var asked: [Int: Question] = [:]
    private var isConcluding = false
    private var hasGeofences = false
    /// By name: those that there are, as far as that is known.
    private var geofences: [String: Geofence] = [:]
    /// What was answered last: whether it tracks.
    private var isTracking: Bool?
    private var drive = Drive()
    /// Since when nothing has kept it from storing what it receives.
    private var undisturbedSince = instant(0)
    private var systemClock = SystemClock()

    /// What a client waits for.
    private enum Question {
        case start, stop
        case sync(DestinationName)
        /// A geofence is added, with another outline or the one that it has, or removed.
        case geofence(id: String, Geofence?)
        /// New tokens are given to the owner of this endpoint.
        case seed(SimulatedTokenEndpoint, TokenLaws.Pair, Tokens, at: BootInstant)
        /// Deletion of these rows, and perhaps of some that have come since that moment.
        case deletion(before: Timestamp?, rows: Set<String>, at: BootInstant, time: Timestamp)

        var text: String {
            switch self {
            case .start: "start"
            case .stop: "stop"
            case .sync(let name): "sync of \(name.text)"
            case .geofence(let id, let fence): "\(fence == nil ? "remove" : "add") geofence \(id)"
            case .seed(let endpoint, let pair, _, _):
                "new tokens of \(endpoint.owner.text), seed \(pair.seed)"
            case .deletion(let cutoff, let rows, _, _):
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
    /// Degrees, always.
    private static let latitude = 52.5
    /// Metres of a degree of longitude where it drives.
    private static let degree = 67_700.0

    private static let start = instant(1000)

    init(_ life: Life) throws {
        self.life = life
        statusLaws = StatusLaws(laws)
        var random = SeededGenerator(life.seed, .vehicle)
        timeline = SeededGenerator(life.seed, .timeline)
        order = SeededGenerator(life.seed, .order)
        road = SeededGenerator(life.seed, .road)
        (drive.changesAt, undisturbedSince) = (now, now)
        settings.tracking.intervalSeconds = Double([1, 5, 10, 30].randomElement(using: &random) ?? 10)
        settings.tracking.distanceMeters = 0
        settings.store.durability = random.chance(0.5) ? .normal : .full
        // Longer than any life: what is deleted for its age was deleted for a wrong clock.
        settings.store.unsentDays = random.chance(0.5) ? 1 : 0
        try drawDestinations(using: &random)
        hasGeofences = random.chance(0.5)
        receiver = SimulatedReceiver { [unowned self] in now }
        machine = SimulatedMachine(seed: random.next()) { [unowned self] in now }
        laws.mayBeUnannounced = { [unowned self] in
            now < machine.latestTrouble.advanced(bySeconds: Self.patienceWithDisk)
                || process?.hasMoreToTell == true
        }
        laws.isDeleting = { [unowned self] in isDeleting }
        machine.isDurable = settings.store.durability == .full
        for server in servers {
            server.post = { [unowned self] in machine.post() }
            server.trace = { [unowned self] in trace($0) }
            server.sent = { [unowned self] in sent($0, $1, unpacked: $2) }
        }
        for endpoint in endpoints {
            endpoint.trace = { [unowned self] in trace($0) }
            endpoint.disturb = { [unowned self, unowned endpoint] in disturb(endpoint) }
        }
        try boot()
    }

    /// Names of destinations, main's first.
    private static let names: [DestinationName] =
        [.main] + ["archive", "fleet", "home"].compactMap { .init($0) }
    /// Formats whose requests say which rows they are.
    static let formats: [Format] = [.beekon, .overland, .owntracks, .template]

    /// Up to four, in half of all seeds one.
    private func drawDestinations(using random: inout SeededGenerator) throws {
        let count = [1, 1, 1, 2, 3, 4].randomElement(using: &random) ?? 1
        for name in Self.names.prefix(life.destinations ?? count) {
            let drawn = random.chance(0.5) ? .beekon : Self.formats.randomElement(using: &random) ?? .beekon
            let format = life.format ?? drawn
            // A request for each row: fewer of them.
            if format == .owntracks { settings.tracking.intervalSeconds = 30 }
            let delivery = laws.addDestination(
                name, carriesCrossings: format == .beekon || format == .owntracks)
            let server = SimulatedServer(name, format, seed: random.next(), delivery)
            delivery.rows = { [unowned server] in server.rows }
            servers.append(server)
        }
        if let interval = life.interval { settings.tracking.intervalSeconds = interval }
        laws.interval = settings.tracking.intervalSeconds
        drawTokens(using: &random)
        try drawSync(using: &random)
    }

    /// In half of all seeds some servers want tokens: their own, or those of main.
    private func drawTokens(using random: inout SeededGenerator) {
        guard random.chance(0.5) else { return }
        for server in servers where random.chance(0.7) {
            if let main = servers[0].endpoint, random.chance(0.4) {
                server.endpoint = main
                continue
            }
            let endpoint = SimulatedTokenEndpoint(of: server.name, seed: random.next(), laws) {
                [unowned self] in now
            }
            server.endpoint = endpoint
            endpoints.append(endpoint)
        }
    }

    /// How each destination gets its rows.
    private func drawSync(using random: inout SeededGenerator) throws {
        var tables: [Settings.Destination] = []
        for server in servers {
            var sync = Settings.Sync()
            sync.url = server.url
            let sharesMain = server.endpoint.map { $0.owner != server.name } ?? false
            if !sharesMain { sync.auth = server.endpoint?.settings }
            sync.batchSize = [1, 7, 50, 100, 500].randomElement(using: &random) ?? 100
            sync.syncThreshold = [0, 1, 20].randomElement(using: &random) ?? 0
            sync.intervalSeconds = [60, 300, 900].randomElement(using: &random) ?? 300
            sync.format = try Self.format(server.format, batchSize: &sync.batchSize)
            sync.requireAck = server.namesBatch
            sync.onReject = server.format.traits.isForeign ? .keep : server.onReject
            tables.append(
                Settings.Destination(name: server.name.text, sync: sync, sharesMainTokens: sharesMain))
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

    /// Lives its time, then lets all faults cease, and holds what has come of it against the laws.
    func run() throws {
        ask(.start)
        let end = now.advanced(bySeconds: life.seconds)
        var pause = 30.0
        var moment = 0
        while laws.violations.isEmpty {
            let next = now.advanced(bySeconds: pause)
            try live(until: min(next, end))
            guard next < end else { break }
            moment += 1
            let chance = Chance(endpoints: endpoints.count, using: &timeline)
            if process.map({ _ in machine.isDoomed }) ?? false {
                try die()
            } else {
                try happen(chance, at: 10 * moment)
            }
            pause = chance.pause
        }
        try conclude()
    }

    /// Everything is as it should be: all must arrive in time.
    private func conclude() throws {
        isConcluding = true
        for server in servers { server.mood = .good }
        for endpoint in endpoints { endpoint.mood = .good }
        machine.mend()
        (systemClock, drive.error) = (SystemClock(), 0)
        laws.timeChanged()
        ask(.stop)
        let size = settings.allDestinations.map(\.sync.batchSize).min() ?? 1
        let batches = Double(process?.pending ?? 0) / Double(size)
        // The longest pause of the token endpoint's is one more.
        let patience =
            Self.patience * (endpoints.isEmpty ? 1 : 2) + batches * SimulatedServer.longestAnswer
        let deadline = now.advanced(bySeconds: patience)
        while laws.violations.isEmpty, process?.pending != 0 || isTracking != false || isTroubled {
            guard now < deadline else {
                if process?.pending == 0, isTracking == false { break }
                let pending = process?.pending ?? 0
                return laws.broken("\(pending) rows are pending after \(patience) s without a fault")
            }
            restoreTokens()
            try live(until: now.advanced(bySeconds: 10))
        }
        if let process { statusLaws.ended(process.status) }
        release()
        guard laws.violations.isEmpty else { return }
        let (holding, _) = try machine.look { _ = try SimulatedProcess.open($0, settings) }
        laws.found(holding, isDurable: true)
        laws.ended(holding)
    }

    /// A disk that works again is noticed with the next attempt (seed 2839).
    private var isTroubled: Bool { process.map { !$0.status.troubles.isEmpty } ?? false }

    /// What people do about credentials that are dead.
    private func restoreTokens() {
        for endpoint in endpoints {
            switch process?.death(of: endpoint.owner) {
            // What could not be read is read again.
            case nil, .key: break
            default: if !isAskedForTokens(of: endpoint) { giveTokens(of: endpoint) }
            }
        }
    }

    private func isAskedForTokens(of endpoint: SimulatedTokenEndpoint) -> Bool {
        asked.values.contains {
            if case .seed(let one, _, _, _) = $0, one === endpoint { true } else { false }
        }
    }

    /// Seconds: the longest interval of the schedule, the longest back-off, and some.
    private static let patience = 3600.0

    // MARK: What happens

    /// What a moment of the timeline has in store. It draws as much whatever comes of it.
    private struct Chance {
        let what: Happening
        /// From 0 to 1.
        let geofence: Double
        /// By endpoint.
        let tokens: [(mood: Double, new: Double)]
        /// Seconds until the next.
        let pause: Double

        init(endpoints: Int, using random: inout SeededGenerator) {
            func luck() -> Double { Double.random(in: 0..<1, using: &random) }
            what = .drawn(using: &random)
            geofence = luck()
            tokens = (0..<endpoints).map { _ in (luck(), luck()) }
            pause = 1 + 899 * luck()
        }
    }

    private func happen(_ chance: Chance, at number: Int) throws {
        if var random = happens(chance.what, number) { try begin(chance.what, using: &random) }
        if hasGeofences, chance.geofence < 0.5, var random = happens(.geofence, number + 1) {
            changeGeofences(using: &random)
        }
        for (index, endpoint) in endpoints.enumerated() {
            let (mood, new) = chance.tokens[index]
            if mood < 0.4, var random = happens(.endpoint, number + 2 + 2 * index) {
                endpoint.mood = SimulatedServer.Mood.allCases.randomElement(using: &random) ?? .good
            }
            let isDead = process?.death(of: endpoint.owner) != nil
            if new < (isDead ? 0.5 : 0.02), happens(.tokens, number + 3 + 2 * index) != nil {
                giveTokens(of: endpoint)
            }
        }
    }

    /// Something is about to happen.
    ///
    /// - Returns: its random numbers; nil: this life leaves it out.
    private func happens(_ what: Happening, _ number: Int) -> SeededGenerator? {
        guard life.only?.contains(number) ?? true else { return nil }
        happened[what, default: 0] += 1
        numbers.append(number)
        trace("\(number): \(what.rawValue)")
        return SeededGenerator(life.seed, .happening, number)
    }

    private func begin(_ what: Happening, using random: inout SeededGenerator) throws {
        switch what {
        case .end: machine.doom(using: &random)
        case .upload: ask(.sync(servers.randomElement(using: &random)?.name ?? .main))
        case .deletion:
            askForDeletion(before: random.chance(0.3) ? nil : time.advanced(bySeconds: -300))
        case .intent: ask(isTracking == true ? .stop : .start)
        case .settings:
            for endpoint in endpoints { endpoint.reconfigure(using: &random) }
            try drawSync(using: &random)
            configure()
        case .silence:
            receiver.goDown(until: now.advanced(bySeconds: Double.random(in: 1...300, using: &random)))
        case .network: process?.tell(.trigger(.networkReturned(outage: 600)))
        case .full: machine.fill(for: Double.random(in: 1...3600, using: &random), using: &random)
        case .failing: machine.fail(for: Double.random(in: 1...600, using: &random), using: &random)
        case .clock: stepClock(using: &random)
        // As a receiver does that has counted its weeks wrong, or has the time of its own clock until it sees the sky.
        case .receiver:
            drive.error =
                [0, 0, -400 * Self.day, 2 * Self.day, 400 * Self.day].randomElement(using: &random) ?? 0
            laws.timeChanged()
            trace("the receiver's time is \(drive.error) s ahead")
        case .servers:
            let mood = SimulatedServer.Mood.allCases.randomElement(using: &random) ?? .good
            // The vehicle's network is that of all.
            let all = random.chance(0.3)
            let one = servers.randomElement(using: &random)
            for server in servers where all || server === one { server.mood = mood }
            if all { for endpoint in endpoints { endpoint.mood = mood } }
        case .geofence, .endpoint, .tokens: break
        }
    }

    /// Somebody adds a geofence on the way of the vehicle or around it, adds one again, or removes one.
    private func changeGeofences(using random: inout SeededGenerator) {
        let id = Self.geofenceNames.randomElement(using: &random) ?? ""
        // While that is under way nobody knows what there is.
        guard !isChanging(geofence: id) else { return }
        let known = geofences[id]
        if let known, random.chance(0.6) {
            return ask(.geofence(id: id, random.chance(0.7) ? known : nil))
        }
        // Until it is answered whatever there was may be gone.
        laws.changed(geofence: id)
        let radius = Double.random(in: 50...800, using: &random)
        let ahead = Double.random(in: random.chance(0.5) ? -20...20 : -500...3000, using: &random)
        let centre = drive.longitude + ahead / Self.degree
        ask(
            .geofence(
                id: id,
                random.chance(0.5) ? circle(id, centre, radius) : square(id, centre, radius, using: &random)))
    }

    private static let geofenceNames = ["depot", "home", "school"]

    private func circle(_ id: String, _ longitude: Double, _ radius: Double) -> Geofence? {
        try? Geofence(id: id, latitude: Self.latitude, longitude: longitude, radius: radius)
    }

    private func square(
        _ id: String, _ longitude: Double, _ size: Double, using random: inout SeededGenerator
    ) -> Geofence? {
        let (across, up) = (size / Self.degree, size / 111_200)
        var ring = [(-1.0, -1.0), (1, -1), (1, 1), (-1, 1)].map {
            [longitude + $0.0 * across, Self.latitude + $0.1 * up]
        }
        // Whichever way round.
        if random.chance(0.5) { ring.reverse() }
        return try? Geofence(id: id, ring: ring)
    }

    private func giveTokens(of endpoint: SimulatedTokenEndpoint) {
        let (pair, tokens) = endpoint.give()
        ask(.seed(endpoint, pair, tokens, at: now))
    }

    /// An exchange has begun: somebody gives new tokens in the midst of it, or the process is about to die.
    private func disturb(_ endpoint: SimulatedTokenEndpoint) {
        guard !isConcluding else { return }
        exchanges += 1
        let number = 1_000_000 + 10 * exchanges
        var random = SeededGenerator(life.seed, .exchange, exchanges)
        let (isGiven, isEnd) = (random.chance(0.08), random.chance(0.04))
        if isGiven, happens(.tokens, number) != nil { giveTokens(of: endpoint) }
        if isEnd, var random = happens(.end, number + 1) { machine.doom(within: 12, using: &random) }
    }

    /// The process has come to the place where it dies, or has nothing more to do before that. The next start follows within a
    /// minute.
    private func die() throws {
        machine.strike()
        kills += 1
        try bury()
        var random = SeededGenerator(life.seed, .process, -kills)
        now = now.advanced(bySeconds: Double.random(in: 1...60, using: &random))
        try boot()
    }

    private func bury() throws {
        // Nobody is answered any more. Whether it was done shows later.
        for case .deletion(let cutoff, let rows, _, _) in asked.values {
            laws.deletionUnanswered(of: rows.union(laws.rows(before: cutoff)))
        }
        if isAsked { isTracking = nil }
        for question in asked.values {
            if case .geofence = question { failed(question) }
        }
        asked = [:]
        for endpoint in endpoints { endpoint.laws.died() }
        if let process { statusLaws.look(process.status) }
        receiver.disconnect()
        release()
        let death = machine.bury()
        trace("the process is gone by a \(death), after \(machine.effects) effects")
        do {
            let (holding, handles) = try machine.look { _ = try SimulatedProcess.open($0, settings) }
            if handles > 0 { laws.broken("\(handles) files are still open") }
            let isDurable = machine.isDurable || death == .kill
            laws.found(holding, isDurable: isDurable)
            statusLaws.died(isDurable: isDurable)
        } catch {
            laws.broken("after a \(death) the database does not open: \(error)")
        }
    }

    /// Releases the objects and the memory of a process that is gone.
    private func release() {
        guard let remains = process?.remains else { return }
        nestedTurns += process?.nestedTurns ?? 0
        process = nil
        let names = remains.names
        if !names.isEmpty { laws.broken("what outlives its process: \(names.joined(separator: ", "))") }
        if SimulatedMachine.memory != memory {
            laws.broken("SQLite has \(SimulatedMachine.memory - memory) bytes more than before the process")
        }
    }

    /// How often another turn comes in between; in half of all lives never.
    private var nesting: Nesting {
        var random = SeededGenerator(life.seed, .nesting)
        let chances: [Double] = [0, 0, 0, 0.003, 0.03, 0.3]
        let chance = chances.randomElement(using: &random) ?? 0
        return Nesting(chance: chance, SeededGenerator(life.seed, .nesting, starts))
    }

    private func boot() throws {
        starts += 1
        var random = SeededGenerator(life.seed, .process, starts)
        if !endpoints.isEmpty, !isConcluding, random.chance(0.15) { machine.lockTokens(using: &random) }
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
                    nesting: nesting,
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
        undisturbedSince = now
    }

    /// What happens: it is in the digest, and for who looks at one seed, with BEEKOND_WORLD_TRACE=1, in the output.
    private func trace(_ text: String) {
        let line = "\(time.iso8601) \(text)"
        digest.enter(line.utf8)
        if Self.isTraced { print(line) }
    }

    /// A request has gone out.
    private func sent(_ body: [UInt8], _ options: HTTPOptions, unpacked text: [UInt8]) {
        for line in [options.url] + options.headers {
            digest.enter(line.utf8)
            requestsDigest.enter(line.utf8)
        }
        digest.enter(body)
        requestsDigest.enter(text)
    }

    private static let isTraced = getenv("BEEKOND_WORLD_TRACE") != nil

    private var moment: Moment {
        Moment(
            boot: now, system: time.advanced(bySeconds: systemClock.error),
            isSynchronised: systemClock.isSynchronised)
    }

    private static let day = 86_400.0

    private func stepClock(using random: inout SeededGenerator) {
        let day = Self.day
        systemClock.error =
            [0, 0, -3600, 3600, -400 * day, 2 * day, 400 * day].randomElement(using: &random) ?? 0
        systemClock.isSynchronised = random.chance(0.5)
        trace(
            "the clock is \(systemClock.error) s ahead\(systemClock.isSynchronised ? "" : ", and knows it")")
    }

    private func askForDeletion(before cutoff: Timestamp?) {
        ask(.deletion(before: cutoff, rows: laws.rows(before: cutoff), at: now, time: time))
    }

    private func ask(_ question: Question) {
        let token = nextToken
        nextToken += 1
        trace("a client asks: \(question.text), \(token)")
        let isTaken =
            switch question {
            case .start: process?.ask(.start(token))
            case .stop: process?.ask(.stop(token))
            case .deletion(let cutoff, _, _, _): process?.ask(.delete(before: cutoff, token))
            case .geofence(let id, nil): process?.ask(.removeGeofences([id], token))
            case .geofence(_, let fence?): process?.ask(.addGeofences([fence], token))
            case .seed(let endpoint, _, let tokens, _):
                process?.post(
                    .seed(tokens, for: SettingsInForce(revision: revision, settings: settings), token),
                    to: endpoint.owner)
            case .sync(let name): process?.post(.sync(token), to: name)
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
            if process?.turn(moment, using: &order) == true {
                turns += 1
                restless += 1
                // From where it died on nothing of it is heard.
                if machine.isDeaf { try die() } else { hear() }
                if let process, turns % Self.turnsBetweenStatus == 0 { statusLaws.look(process.status) }
                if turns % Self.turnsBetweenLooks == 0 { try compare() }
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

    private static let turnsBetweenStatus = 20
    private static let turnsBetweenLooks = 1000

    /// The whole database, as it is, against what is known of it; not while a deletion is asked for that nobody has answered.
    private func compare() throws {
        guard process != nil, !isDeleting, !machine.isTroubled, machine.isWhole else { return }
        laws.compare(try machine.look { _ = try SimulatedProcess.open($0, settings) }.0)
    }

    private var isDeleting: Bool {
        asked.values.contains { if case .deletion = $0 { true } else { false } }
    }

    /// Turns without time passing; a drain of all that may be pending takes fewer.
    private static let mostTurns = 100_000

    private var nextSecond: BootInstant {
        BootInstant(nanoseconds: (now.nanoseconds / 1_000_000_000 + 1) * 1_000_000_000)
    }

    private func move() {
        if drive.changesAt <= now {
            drive.speed = road.chance(0.3) ? 0 : Double.random(in: 3...40, using: &road)
            drive.changesAt = now.advanced(bySeconds: Double.random(in: 20...1200, using: &road))
        }
        drive.longitude += drive.speed / Self.degree
        receiver.report(
            at: time.advanced(bySeconds: drive.error), longitude: drive.longitude, speed: drive.speed)
        judgeStoring()
    }

    /// A vehicle that tracks and drives, with a receiver whose time is right and a disk that works, stores what the interval lets
    /// through.
    private func judgeStoring() {
        let isDisturbed =
            isTracking != true || isAsked || drive.speed == 0 || drive.error != 0 || systemClock.error != 0
            || !receiver.isConnected || process == nil
            || now < machine.latestTrouble.advanced(bySeconds: Self.patienceWithDisk)
        if isDisturbed { undisturbedSince = now }
        let seconds = now.seconds(since: undisturbedSince)
        guard seconds > 60 + 3 * settings.tracking.intervalSeconds else { return }
        laws.broken("nothing has been stored for \(seconds) s, although it tracks")
    }

    /// What the main thread is told.
    private func hear() {
        for message in process?.messages() ?? [] {
            switch message {
            case .location(let location):
                undisturbedSince = now
                trace("stored: \(location.id) of \(location.fix.time.iso8601)")
                laws.stored(location)
            case .completed(let token, let result):
                trace("answered: \(token), \(result)")
                guard let question = asked.removeValue(forKey: token) else { continue }
                if case .success = result {
                    succeeded(question)
                    judgeBoard(after: question)
                } else {
                    failed(question)
                }
            case .crossed(let event):
                trace("stored: \(event.id), \(event.crossing.kind) of \(event.crossing.geofence)")
                laws.stored(
                    SimulatedMachine.Holding.Event(
                        id: event.id.description, geofence: event.crossing.geofence,
                        kind: event.crossing.kind, time: event.crossing.time))
            case .authChanged(let name): judgeTokens(of: name)
            default: break
            }
        }
        if process?.hasSpokenEarly == true {
            laws.broken("the main thread is told what the board does not show yet")
        }
        judgeTracking()
    }

    /// docs/architecture.md, "Threads": nobody is answered before the board shows it.
    private func judgeBoard(after question: Question) {
        guard let process else { return }
        let isShown =
            switch question {
            case .start where !isAsked: process.isTracking == true
            case .stop where !isAsked: process.isTracking == false
            case .geofence(let id, let fence) where !isChanging(geofence: id):
                process.geofences?[id] == fence
            default: true
            }
        if !isShown { laws.broken("\(question.text) was answered, and the board does not show it") }
    }

    private func isChanging(geofence id: String) -> Bool {
        asked.values.contains { if case .geofence(id, _) = $0 { true } else { false } }
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

    private func judgeTokens(of name: DestinationName) {
        for endpoint in endpoints where endpoint.owner == name {
            guard let death = process?.death(of: name) else { continue }
            trace("the tokens of \(name.text) are given up: \(death.rawValue)")
            if death == .key, machine.hidesTokens { endpoint.laws.mayDie(of: .key) }
            endpoint.laws.dead(of: death)
        }
    }

    /// Seconds: the longest pause between two attempts to read it.
    private static let patienceWithDisk = 120.0

    private func succeeded(_ question: Question) {
        switch question {
        case .start: isTracking = true
        case .stop: isTracking = false
        case .deletion(let cutoff, let rows, let moment, let time):
            laws.deletionAnswered(of: rows, until: cutoff ?? time)
            // The disk has held it up.
            if moment < now { laws.deletionUnanswered(of: laws.rows(before: cutoff)) }
        case .geofence(let id, let fence):
            if geofences[id] != fence { laws.changed(geofence: id) }
            geofences[id] = fence
        case .seed(let endpoint, let pair, _, let moment):
            endpoint.laws.given(pair)
            // docs/upload.md, "When it uploads": new tokens at once, in every state.
            if now.seconds(since: moment) > 1, machine.latestTrouble < moment {
                laws.broken("new tokens are taken up only after \(now.seconds(since: moment)) s")
            }
        case .sync: break
        }
    }

    /// A question has failed: it may have been done in part, or be done later.
    private func failed(_ question: Question) {
        switch question {
        case .start, .stop: isTracking = nil
        case .deletion(let cutoff, let rows, _, _):
            laws.deletionUnanswered(of: rows.union(laws.rows(before: cutoff)))
        case .geofence(let id, _):
            geofences[id] = nil
            laws.changed(geofence: id)
        case .sync, .seed: break
        }
    }

    /// Somebody wants it to be otherwise.
    private var isAsked: Bool {
        asked.values.contains { question in
            switch question {
            case .start, .stop: true
            case .sync, .geofence, .seed, .deletion: false
            }
        }
    }
}

func instant(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: Int64(seconds * 1e9))
}
