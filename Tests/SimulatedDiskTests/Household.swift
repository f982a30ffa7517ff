import Linux
import SQLite
import SimulatedDisk
import Storage
import Tracking

@testable import Base

/// A store with the small files beside it on a simulated disk, and what they must hold after each step of a short life.
final class Household {
    /// What is answered to whoever asks.
    struct State: Equatable {
        var rows: Set<Int> = []
        /// The rows of the frozen batch, which are its body.
        var frozen: [UInt8]?
        var isTracking: Bool?
        var metres: Double?
    }

    private static let directory = "/state"
    private static let session = id(0)
    static let options = StoreOptions(destinations: .main)
    let files: SimulatedFiles
    /// What the step before the one under way has left, and what this one is to leave.
    private(set) var before = State()
    private(set) var after = State()
    private let place: StateDirectory
    private let small: SmallFiles
    private let store: Store
    private var lock: (any OpenedFile)?

    /// Opens what is there.
    init(on disk: SimulatedDisk) throws {
        files = try SimulatedFiles(on: disk)
        place = try StateDirectory(Self.directory, on: files)
        lock = try place.lock()
        small = SmallFiles(place)
        store = try Store(directory: place.path, options: Self.options, on: files)
    }

    private static func id(_ number: Int) -> UUIDv7 {
        UUIDv7(time: time(number), counter: (high: 1, low: UInt64(number)))
    }

    private static func time(_ second: Int) -> Timestamp {
        Timestamp(milliseconds: 1_700_000_000_000 + Int64(second) * 1000)
    }

    /// - Parameter retries: how often a step is tried again.
    func live(retries: Int = 0) throws {
        for step in Self.steps {
            before = after
            step.changes(&after)
            for attempt in 0... {
                do {
                    try step.act(self)
                    break
                } catch  where attempt < retries {}
            }
            before = after
        }
    }

    func close() {
        store.close()
        lock = nil
    }

    /// Which installation this is, as the small files say.
    func identity() -> SmallFiles.Reading<StoredIdentity> { small.read(StoredIdentity.self) }

    func write(_ identity: StoredIdentity) throws { try small.write(identity) }

    func add(_ number: Int) throws { _ = try store.insert(Self.row(number)) }

    /// The ids of all rows.
    func ids() throws -> Set<Int> {
        let history = try History(directory: place.path, on: files)
        var cursor = LocationCursor(from: nil, to: nil)
        var ids: Set<Int> = []
        while !cursor.isAtEnd {
            for location in try history.next(&cursor) {
                ids.insert(Int((location.fix.time.milliseconds - 1_700_000_000_000) / 1000))
            }
        }
        return ids
    }

    private typealias Step = (changes: (inout State) -> Void, act: (Household) throws -> Void)

    private static var steps: [Step] {
        [
            ({ $0.isTracking = true }, { try $0.intend(.tracking) }),
            insertion(1), insertion(2), insertion(3),
            ({ $0.frozen = [1, 2] }, { try $0.freeze() }),
            (
                { $0.metres = 30 },
                { try $0.small.write(StoredOdometer(Odometer.Memory(metres: 30, settings: 0, place: nil))) }
            ),
            insertion(4),
            (
                {
                    $0.rows.subtract([1, 2])
                    $0.frozen = nil
                }, { try $0.acknowledge() }
            ),
            ({ $0.rows.remove(3) }, { try $0.delete(upTo: time(3)) }),
            ({ $0.isTracking = false }, { try $0.intend(.stopped) }),
        ]
    }

    private static func insertion(_ number: Int) -> Step {
        ({ $0.rows.insert(number) }, { _ = try $0.store.insert(row(number)) })
    }

    private static func row(_ number: Int) -> NewLocation {
        // In range.
        let place = Coordinate(latitude: 47, longitude: 8 + Double(number) / 1000).unsafelyUnwrapped
        let fix = Fix(
            time: time(number), mode: 3, coordinate: place, accuracy: 4, speed: 13, bearing: 1, altitude: 2)
        let location = Location(
            id: id(number), session: session, fix: fix, trigger: .interval, motion: .moving)
        return NewLocation(
            location: location, session: session, sessionStartedAt: time(0), odometer: Double(number),
            extras: nil, prunesByAge: false)
    }

    private func intend(_ state: StoredIntent.State) throws {
        try small.write(StoredIntent(state: state, session: Self.session, startedAt: Self.time(0)))
    }

    private func freeze() throws {
        guard try store.nextFrozen() == nil, let draft = try store.draftBatch(for: .main, limit: 2) else {
            return
        }
        _ = try store.freeze(draft, id: Self.id(100), StoredRequest(body: [1, 2]))
    }

    private func acknowledge() throws {
        if let batch = try store.nextFrozen() { _ = try store.acknowledge(batch) }
    }

    /// - Parameter cutoff: nil: everything.
    func delete(upTo cutoff: Timestamp? = nil) throws {
        var deletion = try store.beginDeletion(before: cutoff)
        while !deletion.isFinished { try store.proceed(with: &deletion) }
    }

    /// What is there.
    func found() throws -> State {
        // A start completes what an end has interrupted.
        if var deletion = try store.unfinishedDeletion() {
            while !deletion.isFinished { try store.proceed(with: &deletion) }
        }
        var state = State()
        state.rows = try ids()
        state.frozen = try store.nextFrozen()?.request.body
        let (intent, odometer) = (small.read(StoredIntent.self), small.read(StoredOdometer.self))
        if let trouble = intent.trouble ?? odometer.trouble { throw Unsound(what: trouble.text) }
        state.isTracking = intent.content.map { $0.state == .tracking }
        state.metres = odometer.content?.value.metres
        let news = store.takeEvents().filter { if case .logDamaged = $0 { false } else { true } }
        if let event = news.first { throw Unsound(what: "\(event)") }
        return state
    }

    struct Unsound: Error { let what: String }
}
