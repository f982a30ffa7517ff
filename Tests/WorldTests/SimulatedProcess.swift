import Base
import GPSD
import Linux
import SimulatedDisk
import Storage
import Support
import Synchronization

@testable import Daemon
@testable import DaemonConfiguration
@testable import Upload

/// One run of the daemon, from its start to its end or its kill.
final class SimulatedProcess {
    private let hub: Hub
    private let reader: Reader
    private let uploader: Uploader
    private var readerRest = Rest.none
    private var uploaderRest = Rest.none
    private var hasRead = false
    private let files: SimulatedFiles
    private let lock: any OpenedFile

    /// What must be gone with the process.
    struct Remains {
        fileprivate weak var hub: Hub?
        fileprivate weak var store: Store?
        fileprivate weak var reader: Reader?
        fileprivate weak var uploader: Uploader?
        private let files: SimulatedFiles

        fileprivate init(_ process: SimulatedProcess) {
            (hub, store) = (process.hub, process.hub.store)
            (reader, uploader) = (process.reader, process.uploader)
            files = process.files
        }

        /// What is left all the same.
        var names: [String] {
            let objects: [(String, AnyObject?)] = [
                ("hub", hub), ("store", store), ("reader", reader), ("uploader", uploader),
            ]
            let handles = files.openHandles
            return objects.compactMap { $1 == nil ? nil : $0 } + (handles == 0 ? [] : ["\(handles) handles"])
        }
    }

    var remains: Remains { Remains(self) }

    init(
        files: SimulatedFiles, settings: Settings, revision: Int, clock: @escaping () -> BootInstant,
        moment: Moment,
        receiver: SimulatedReceiver, server: SimulatedServer, random seed: UInt64
    ) throws {
        var generator = SeededGenerator(seed: seed)
        let random = RandomSource { generator.next() }
        self.files = files
        let place = try StateDirectory(SimulatedMachine.directory, on: files)
        lock = try place.lock()
        let store = try Self.open(files, settings)
        hub = try Hub(
            store: store, files: SmallFiles(place), clock: WallClock(moment), startedAt: moment.boot)
        hub.board.hasListeners.store(true, ordering: .relaxed)
        guard
            let reader = Reader(
                hub: hub, settings: settings, random: random,
                gpsd: Dialler { _, _ in .known([receiver.dial]) }),
            let uploader = Uploader(
                port: hub.uploaders.main, hub: hub,
                inForce: SettingsInForce(revision: revision, settings: settings), installID: "i",
                tokens: TokenStore(directory: place, credentials: nil),
                transport: { SimulatedTransport(server, clock: clock) }, random: random, now: moment.boot)
        else { throw SetUpFailed(operation: "start", code: 0) }
        self.reader = reader
        self.uploader = uploader
    }

    /// Opens the database, as a start does.
    static func open(_ files: SimulatedFiles, _ settings: Settings) throws -> Store {
        try Store(
            directory: SimulatedMachine.directory,
            options: StoreOptions(
                durability: settings.store.durability == .full ? .full : .normal, destinations: .main),
            on: files)
    }

    /// Rows that the server has not acknowledged.
    var pending: Int { hub.store.counts()[.main]?.pending ?? 0 }

    /// nil before it has read what it is to do.
    var isTracking: Bool? {
        hasRead ? hub.board.readerSnapshot.state == .tracking : nil
    }

    /// When a thread has something to do, if nothing comes before.
    var wakeUp: BootInstant? { [readerRest.end, uploaderRest.end].compactMap(\.self).min() }

    func ask(_ command: ReaderCommand) -> Bool { hub.reader.post(command) }

    @discardableResult
    func post(_ command: UploaderCommand) -> Bool { hub.uploaders.main.commands.post(command) }

    func configure(_ settings: Settings, _ revision: Int) {
        hub.uploaders.main.settings.put(SettingsInForce(revision: revision, settings: settings))
    }

    func messages() -> [MainMessage] { hub.main.takeAll() }

    /// One turn of a thread that has something to do.
    ///
    /// - Returns: false when none has.
    func turn(_ moment: Moment, readerFirst: Bool) -> Bool {
        let now = moment.boot
        let isReaderDue = Self.isDue(readerRest, now)
        let isUploaderDue = Self.isDue(uploaderRest, now)
        guard isReaderDue || isUploaderDue else { return false }
        hub.clock.begin(moment)
        if isReaderDue, readerFirst || !isUploaderDue {
            readerRest = Self.turn(reader, readerRest, now)
            hasRead = true
        } else {
            uploaderRest = Self.turn(uploader, uploaderRest, now)
        }
        return true
    }

    private static func turn(_ thread: some Turns, _ rest: Rest, _ now: BootInstant) -> Rest {
        let next = thread.turn(now: now, stopwatch: Stopwatch { now }, after: rest)
        thread.publish(now: now)
        thread.answer()
        return next ?? Rest()
    }

    private static func isDue(_ rest: Rest, _ now: BootInstant) -> Bool {
        if let end = rest.end, end <= now { return true }
        var rest = rest
        rest.wait(seconds: 0)
        return (0..<8).contains { rest.isReadable($0) || rest.isWritable($0) }
    }
}
