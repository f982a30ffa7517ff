import Base
import Glibc
import Linux
import SQLite
import Storage
import Synchronization
import Tracking

/// Why nothing was measured.
struct BenchFailure: Error {
    var message: String
}

/// What a number of commits cost.
struct Cost {
    /// Nanoseconds, sorted.
    var times: [Int64]
    /// Written to the disk, as /proc/self/io tells; nil where it does not, or the disk is memory.
    var bytes: Int?
    /// Bytes of the WAL at its longest.
    var log: Int
    /// CPU of the whole process, in nanoseconds.
    var cpu: Int64 = 0
    /// Stored or delivered, where no single one was timed.
    var fixes = 0

    var count: Int { max(times.count, fixes) }

    /// The time that such a part of the commits stayed below.
    func microseconds(_ part: Double) -> Double {
        times.isEmpty ? 0 : Double(times[min(times.count - 1, Int(Double(times.count) * part))]) / 1000
    }
}

/// A store with so many rows to begin with, on the real disk.
final class Bench {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    private let directory: String
    let store: Store
    private let session: UUIDv7
    private var ids: UUIDv7Generator
    private var written = 0
    private let warmUp: Int

    /// - Parameters:
    ///   - warmUp: commits before those that are measured. A thousand see the WAL folded in once: from then on it is used
    ///     again, and its file does not grow.
    ///   - destinations: how many every row is owed to.
    init(
        directory: String, rows: Int, durability: StoreOptions.Durability, warmUp: Int, destinations: Int = 1
    ) throws {
        self.directory = directory
        self.warmUp = warmUp
        for name in ["beekon.db", "beekon.db-wal", "beekon.db-shm", "ballast"] {
            unlink(directory + "/" + name)
        }
        var random = SystemRandomNumberGenerator()
        ids = UUIDv7Generator(using: &random)
        session = ids.next(at: Self.start)
        let options = StoreOptions(
            durability: durability,
            destinations: Self.names(destinations).map { StoreOptions.Destination($0) })
        store = try Store(directory: directory, options: options)
        _ = try store.insert(next())
        guard rows > 1 else { return }
        store.close()
        // As many copies of that row, each at a time of its own, before it.
        try Connection(path: directory + "/beekon.db", access: .readWrite).execute(
            """
            WITH RECURSIVE numbers(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers WHERE n < \(rows - 1))
            INSERT INTO locations SELECT ts - n * 1000, seq + n, session, randomblob(16), lat, lng, accuracy, speed, bearing,
            altitude, mode, "trigger", motion, activity, quality, is_mock, extras, odometer, uploaded, mileage, ignition, battery
            FROM locations, numbers
            """)
    }

    /// `main`, and so many others.
    static func names(_ count: Int) -> [DestinationName] {
        [.main] + (1..<max(count, 1)).compactMap { DestinationName("d\($0)") }
    }

    /// Uploads what is stored in a state directory.
    ///
    /// - Returns: the CPU that it took, in nanoseconds.
    static func drain(directory: String, url: String, batch: Int) throws -> Int64 {
        let store = try Store(
            directory: directory, options: StoreOptions(durability: .full, destinations: .main))
        let before = cpuTime()
        try Drain(store: store, url: url, batch: batch).run()
        return cpuTime() - before
    }

    func next() -> NewLocation {
        written += 1
        let time = Self.start.advanced(bySeconds: Double(written))
        let angle = Double(written) / 1e5
        // Degrees far from the ends of their ranges.
        let place = Coordinate(latitude: 47 + angle, longitude: 8 + angle).unsafelyUnwrapped
        let fix = Fix(
            time: time, mode: 3, coordinate: place, accuracy: 4.2, speed: 13.5, bearing: 271.25,
            altitude: 431.2)
        let location = Location(
            id: ids.next(at: time), session: session, fix: fix, trigger: .interval, motion: .moving,
            mileage: Int64(written) * 14)
        return NewLocation(
            location: location, session: session, sessionStartedAt: Self.start, odometer: Double(written),
            extras: nil, prunesByAge: true, vehicle: NewVehicle(settings: 0, trip: trip(until: fix)))
    }

    /// One drive, under way since the first fix.
    private func trip(until fix: Fix) -> StoredTrip {
        let first = Trips.Mark(time: Self.start, place: fix.coordinate, odometer: 0)
        let last = Trips.Mark(
            time: fix.time, place: fix.coordinate, odometer: Double(written) * 14.1, topSpeed: 13.5, idle: 12)
        return StoredTrip(
            Trips.Open(start: first, hasStarted: true, last: last, moved: last), boot: nil, settings: 0)
    }

    /// Writes fixes one after the other, as fast as it goes.
    func commits(_ count: Int) throws -> Cost {
        var left = count
        return try commits(while: { _ in
            left -= 1
            return left >= 0
        })
    }

    /// Writes fixes at 50 a second.
    func pacedCommits(_ count: Int) throws -> Cost {
        var left = count
        return try commits(while: { latest in
            Self.rest(after: latest)
            left -= 1
            return left >= 0
        })
    }

    /// While other threads upload what is stored, in batches, as the daemon's uploaders do, one to each url; until the first
    /// of them has ended.
    func commitsWhileDraining(to urls: [String], batch: Int) throws -> Cost {
        let drains = zip(Self.names(urls.count), urls).map { name, url in
            Drain(store: store, name: name, url: url, batch: batch)
        }
        for drain in drains { try drain.start() }
        let cost = try commits(
            while: { latest in
                Self.rest(after: latest)
                return !drains.contains(where: \.hasEnded)
            })
        for drain in drains {
            while !drain.hasEnded { poll(nil, 0, 10) }
            if let failure = drain.failure { throw BenchFailure(message: failure) }
        }
        return cost
    }

    /// - Parameter latest: nanoseconds that the latest commit took.
    private static func rest(after latest: Int64) {
        poll(nil, 0, Int32(max(0, 20 - Double(latest) / 1e6)))
    }

    /// - Parameter goesOn: is handed what the latest commit took, in nanoseconds.
    private func commits(while goesOn: (Int64) -> Bool) throws -> Cost {
        // What was written to fill the database must not be on its way to the disk meanwhile.
        sync()
        for _ in 0..<warmUp { _ = try store.insert(next()) }
        var times: [Int64] = []
        var log = 0
        var latest: Int64 = 0
        let bytes = bytesWritten()
        let cpu = Self.cpuTime()
        while goesOn(latest) {
            let new = next()
            let begin = Clock.boot()
            _ = try store.insert(new)
            latest = Clock.boot() - begin
            times.append(latest)
            log = max(log, (try? SystemFiles().size(directory + "/beekon.db-wal")) ?? 0)
        }
        let spent = Self.cpuTime() - cpu
        let difference = bytes.flatMap { begin in bytesWritten().map { $0 - begin } }
        return Cost(
            times: times.sorted(), bytes: difference == 0 ? nil : difference, log: log, cpu: spent)
    }

    /// While another thread reads the history from its begin to its end, again and again.
    ///
    /// - Parameter body: is handed what tells how many pages have been read since it was asked last.
    func withReader(_ body: (() -> Int) throws -> Void) throws {
        let pages = Mutex(0)
        let reader = Reader(directory: directory)
        try reader.start()
        defer { if let failure = reader.stop() { print("bench-store: history: \(failure)") } }
        try body {
            pages.withLock { known in
                let read = reader.pages
                defer { known = read }
                return read - known
            }
        }
    }

    static func cpuTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    func bytesWritten() -> Int? {
        guard let file = fopen("/proc/self/io", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        while fgets(&line, Int32(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("write_bytes: ") { return Int(text.dropFirst(13).prefix { $0.isNumber }) }
        }
        return nil
    }
}

private final class Reader: Sendable {
    private struct State {
        var pages = 0
        var isWanted = true
        var hasEnded = false
        var failure: String?
    }

    private let directory: String
    private let state = Mutex(State())

    init(directory: String) {
        self.directory = directory
    }

    var pages: Int { state.withLock { $0.pages } }

    func start() throws {
        try startThread(named: "history") { [self] in
            do {
                let history = try History(directory: directory)
                while state.withLock({ $0.isWanted }) {
                    var cursor = LocationCursor(from: nil, to: nil)
                    while !cursor.isAtEnd, state.withLock({ $0.isWanted }) {
                        _ = try history.next(&cursor)
                        state.withLock { $0.pages += 1 }
                    }
                }
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
            state.withLock { $0.hasEnded = true }
        }
    }

    /// Returns what went wrong.
    func stop() -> String? {
        state.withLock { $0.isWanted = false }
        while !state.withLock({ $0.hasEnded }) { poll(nil, 0, 1) }
        return state.withLock { $0.failure }
    }
}
