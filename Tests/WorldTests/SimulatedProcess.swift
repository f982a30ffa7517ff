import Base
import GPSD
import Linux
import SimulatedDisk
import Storage
import Support
import Synchronization
import Tracking

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// One run of the daemon, from its start to its end or its kill.
final class SimulatedProcess {
    private let hub: Hub
    private let reader: Reader
    /// By destination, main's first.
    private let uploaders: [Uploader]
    /// The reader's, then those of the uploaders.
    private var rests: [Rest]
    private var hasRead = false
    private let files: SimulatedFiles
    private let lock: any OpenedFile
    private let nesting: Nesting
    /// Threads amid a turn, the innermost last: more than one where others have come in between.
    private var running: [Int] = []
    /// What the main thread was told by turns in between.
    private var heard: [MainMessage] = []
    /// Another thread may come in between.
    private var isInterruptible = false
    private(set) var nestedTurns = 0
    /// When the turn that is under way began.
    private var now = instant(0)

    /// What must be gone with the process.
    struct Remains {
        fileprivate weak var hub: Hub?
        fileprivate weak var store: Store?
        fileprivate weak var reader: Reader?
        private var uploaders: [Weak]
        private let files: SimulatedFiles

        fileprivate init(_ process: SimulatedProcess) {
            (hub, store) = (process.hub, process.hub.store)
            reader = process.reader
            uploaders = process.uploaders.map { Weak(uploader: $0) }
            files = process.files
        }

        /// What is left all the same.
        var names: [String] {
            let objects: [(String, AnyObject?)] =
                [
                    ("hub", hub), ("store", store), ("reader", reader),
                ] + uploaders.map { ("uploader", $0.uploader) }
            let handles = files.openHandles
            return objects.compactMap { $1 == nil ? nil : $0 } + (handles == 0 ? [] : ["\(handles) handles"])
        }
    }

    private struct Weak { weak var uploader: Uploader? }

    var remains: Remains { Remains(self) }

    init(
        files: SimulatedFiles, settings: Settings, revision: Int, clock: @escaping () -> BootInstant,
        moment: Moment,
        receiver: SimulatedReceiver, servers: [SimulatedServer], nesting: Nesting, random seed: UInt64
    ) throws {
        self.nesting = nesting
        var generator = SeededGenerator(seed: seed)
        let random = RandomSource { generator.next() }
        self.files = files
        let place = try StateDirectory(SimulatedMachine.directory, on: files)
        lock = try place.lock()
        let store = try Self.open(files, settings) { nesting.reached() }
        hub = try Hub(
            store: store, files: SmallFiles(place), clock: WallClock(moment), startedAt: moment.boot)
        hub.board.hasListeners.store(true, ordering: .relaxed)
        let inForce = SettingsInForce(revision: revision, settings: settings)
        guard
            let reader = Reader(
                hub: hub, settings: settings, random: random,
                gpsd: Dialler { _, _ in .known([receiver.dial]) })
        else { throw SetUpFailed(operation: "start", code: 0) }
        self.reader = reader
        var uploaders: [Uploader] = []
        for server in servers {
            if server.name != .main { hub.uploaders.add(try UploaderPort(server.name)) }
            guard let port = hub.uploaders[server.name],
                let uploader = Uploader(
                    port: port, hub: hub, inForce: inForce, installID: "i",
                    tokens: TokenStore(directory: place, credentials: nil, destination: server.name),
                    transport: { SimulatedTransport(server, clock: clock, seam: nesting.reached) },
                    random: random, now: moment.boot)
            else { throw SetUpFailed(operation: "start", code: 0) }
            uploaders.append(uploader)
        }
        self.uploaders = uploaders
        rests = Array(repeating: .none, count: 1 + uploaders.count)
        nesting.interrupt = { [unowned self] in interrupt() }
    }

    /// Opens the database, as a start does.
    static func open(
        _ files: SimulatedFiles, _ settings: Settings, seam: (@Sendable () -> Void)? = nil
    ) throws -> Store {
        try Store(
            directory: SimulatedMachine.directory, options: StoreOptions(settings), on: files, seam: seam)
    }

    /// Rows that a server has not acknowledged, of the destination that has most.
    var pending: Int {
        let counts = hub.store.counts()
        return hub.uploaders.all.map { counts[$0.name]?.pending ?? 0 }.max() ?? 0
    }

    /// The main thread was told of something that the board did not show yet.
    private(set) var hasSpokenEarly = false

    var status: StatusLaws.Status {
        let (snapshot, counts) = (hub.board.readerSnapshot, hub.store.counts())
        var status = StatusLaws.Status()
        // Not known at first.
        if hasRead, let odometer = snapshot.odometer { status.lasting["odometer"] = Int(odometer) }
        status.lasting["dropped"] = counts.losses.dropped
        status.lasting["pruned"] = counts.losses.pruned
        status.lasting["expired"] = counts.losses.expired
        if let error = snapshot.storageError { status.troubles.append("reader: \(error)") }
        for port in hub.uploaders.all {
            let (name, of) = (port.name.text, port.snapshot)
            status.counters["\(name): uploaded"] = of.uploaded
            status.counters["\(name): retries"] = of.retries
            status.counters["\(name): bytes"] = of.bytesSent
            status.counters["\(name): unmatched answers"] = of.unmatchedAnswers
            if let error = of.storageError { status.troubles.append("\(name): \(error)") }
        }
        return status
    }

    /// Geofences by name, as the board has them; nil before they have been read.
    var geofences: [String: Geofence]? {
        hub.board.readerSnapshot.fences.map {
            Dictionary($0.map { ($0.id, $0) }) { first, _ in first }
        }
    }

    /// nil before it has read what it is to do.
    var isTracking: Bool? {
        hasRead ? hub.board.readerSnapshot.state == .tracking : nil
    }

    /// Why the credentials of a destination are of no use, as it shows.
    func death(of name: DestinationName) -> AuthRecord.Death? {
        hub.uploaders[name]?.snapshot.auth.death
    }

    /// When a thread has something to do, if nothing comes before.
    var wakeUp: BootInstant? { rests.compactMap(\.end).min() }

    func ask(_ command: ReaderCommand) -> Bool { hub.reader.post(command) }

    /// To the uploader of one destination.
    func post(_ command: UploaderCommand, to name: DestinationName) -> Bool {
        hub.uploaders[name]?.commands.post(command) ?? false
    }

    /// To all uploaders.
    func tell(_ trigger: UploaderCommand) {
        for port in hub.uploaders.all { port.deliver(trigger) }
    }

    func configure(_ settings: Settings, _ revision: Int) {
        for port in hub.uploaders.all {
            port.settings.put(SettingsInForce(revision: revision, settings: settings))
        }
    }

    func messages() -> [MainMessage] {
        defer { heard = [] }
        return heard + hub.main.takeAll()
    }

    /// The main thread has yet to be told of something that others may see already.
    var hasMoreToTell: Bool { running.count > 1 || !heard.isEmpty }

    /// One turn of a thread that has something to do, whichever is chosen.
    ///
    /// - Returns: false when none has.
    func turn(_ moment: Moment, using random: inout SeededGenerator) -> Bool {
        guard let next = due(moment.boot).randomElement(using: &random) else { return false }
        hub.clock.begin(moment)
        now = moment.boot
        turn(of: next)
        return true
    }

    /// Threads that have something to do, and are not amid a turn.
    private func due(_ now: BootInstant) -> [Int] {
        rests.indices.filter { !running.contains($0) && Self.isDue(rests[$0], now) }
    }

    private func turn(of thread: Int) {
        running.append(thread)
        defer { running.removeLast() }
        rests[thread] =
            thread == 0 ? turn(reader, rests[thread]) : turn(uploaders[thread - 1], rests[thread])
        if thread == 0 { hasRead = true }
    }

    private func turn(_ thread: some Turns, _ rest: Rest) -> Rest {
        isInterruptible = true
        let stopwatch = Stopwatch { [unowned self] in
            nesting.reached()
            return now
        }
        let next = thread.turn(now: now, stopwatch: stopwatch, after: rest)
        judgeSilence()
        nesting.reached()
        thread.publish(now: now)
        nesting.reached()
        isInterruptible = false
        thread.answer()
        return next ?? Rest()
    }

    /// docs/architecture.md, "Threads": nobody is told before the board shows it.
    private func judgeSilence() {
        if !hub.main.isEmpty { hasSpokenEarly = true }
    }

    /// Another thread has a whole turn amid that of the one that runs, which holds no lock here.
    private func interrupt() {
        guard isInterruptible, running.count < Self.mostAmid else { return }
        guard let next = nesting.chosen(of: due(now)) else { return }
        judgeSilence()
        nestedTurns += 1
        turn(of: next)
        isInterruptible = true
        heard += hub.main.takeAll()
    }

    /// Turns within turns.
    private static let mostAmid = 3

    private static func isDue(_ rest: Rest, _ now: BootInstant) -> Bool {
        if let end = rest.end, end <= now { return true }
        var rest = rest
        rest.wait(seconds: 0)
        return (0..<8).contains { rest.isReadable($0) || rest.isWritable($0) }
    }
}

/// Seams: places in a turn at which no lock is held, so that another thread's turn may come in between. These are before and after
/// each operation of the store, before the answer to a request is taken, wherever a turn looks how long it takes, and before and
/// after its snapshot is published.
final class Nesting: @unchecked Sendable {
    /// How probable it is that another thread comes in between.
    private let chance: Double
    private var random: SeededGenerator
    var interrupt: () -> Void = {}

    init(chance: Double, _ random: SeededGenerator) {
        (self.chance, self.random) = (chance, random)
    }

    func reached() {
        if chance > 0, random.chance(chance) { interrupt() }
    }

    func chosen(of threads: [Int]) -> Int? { threads.randomElement(using: &random) }
}
