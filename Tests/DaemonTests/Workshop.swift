import Base
import Glibc
import Linux
import Storage
import Support
import Testing
import Tracking

@testable import Daemon

/// 2027-03-15T08:00:00Z.
let start = Timestamp(milliseconds: 1_805_097_600_000)

/// A stopwatch that shows so many seconds.
func stopwatch(_ seconds: Double = 0) -> Stopwatch {
    var hasBegun = false
    return Stopwatch {
        defer { hasBegun = true }
        return instant(hasBegun ? seconds : 0)
    }
}

/// One by which it is now at boot.
func wallClock(isSynchronised: Bool = Clock.isSynchronised()) -> WallClock {
    let system = Timestamp(milliseconds: Clock.realtimeMilliseconds())
    return WallClock(Moment(boot: instant(0), system: system, isSynchronised: isSynchronised))
}

extension Turns {
    /// Shows how things stand, and says what there is to say.
    func endTurn(now: BootInstant = instant(1)) {
        publish(now: now)
        answer()
    }
}

func instant(_ seconds: Double) -> BootInstant {
    BootInstant(nanoseconds: Int64(seconds * 1e9))
}

extension Caller {
    init(_ origin: Command.Origin) {
        self.init(origin: origin, request: "Test", name: "\(origin)", fields: [], isLogged: true)
    }
}

/// A state directory with everything that the threads share.
final class Workshop {
    let directory: TemporaryDirectory
    /// Where the database lies.
    let state: String
    let hub: Hub
    private var ids: UUIDv7Generator
    private let session: UUIDv7
    private var aside: String { state + ".aside" }

    init() throws {
        directory = try TemporaryDirectory()
        state = directory.file("state")
        let files = SmallFiles(try StateDirectory(state))
        // What a power cut would do is not tested here.
        let store = try Store(
            directory: state, options: StoreOptions(durability: .normal, destinations: .main))
        hub = try Hub(store: store, files: files, clock: wallClock())
        var random = SeededGenerator(seed: 5)
        ids = UUIDv7Generator(using: &random)
        session = ids.next(at: start)
    }

    func location(_ second: Double, speed: Double? = nil, extras: String? = nil) throws -> NewLocation {
        let time = start.advanced(bySeconds: second)
        let coordinate = try #require(Coordinate(latitude: 52.5, longitude: 13.25))
        let location = Location(
            id: ids.next(at: time), session: session,
            fix: Fix(time: time, mode: 3, coordinate: coordinate, speed: speed), trigger: .interval,
            motion: .unknown)
        return NewLocation(
            location: location, session: session, sessionStartedAt: start, odometer: 0, extras: extras,
            prunesByAge: false)
    }

    /// Where the small files of `hubWithFilesApart` lie.
    var filesApart: String { state + ".files" }

    /// A hub over the store, with small files that remain when storage is broken.
    func hubWithFilesApart() throws -> Hub {
        try Hub(store: hub.store, files: SmallFiles(try StateDirectory(filesApart)), clock: wallClock())
    }

    /// What a disk that is gone looks like: the next operation finds no directory to open the database in.
    func breakStorage() throws {
        hub.store.close()
        guard rename(state, aside) == 0, creat(state, 0o600) >= 0 else {
            throw SetUpFailed(operation: "rename", code: errno)
        }
    }

    func mendStorage() throws {
        guard unlink(state) == 0, rename(aside, state) == 0 else {
            throw SetUpFailed(operation: "rename", code: errno)
        }
    }

    /// The ids of all that is stored, in order of time.
    func stored() throws -> [UUIDv7] {
        let history = try History(directory: state)
        var cursor = LocationCursor(from: nil, to: nil)
        var ids: [UUIDv7] = []
        while !cursor.isAtEnd { ids += try history.next(&cursor).map(\.id) }
        return ids
    }
}
