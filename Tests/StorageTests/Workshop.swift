import SQLite
import Support
import Testing

@testable import Base
@testable import Storage
@testable import Tracking

/// 2027-03-15T08:00:00Z, in milliseconds.
let start: Int64 = 1_805_097_600_000

func time(_ seconds: Double) -> Timestamp {
    Timestamp(milliseconds: start).advanced(bySeconds: seconds)
}

func uuid(_ number: Int) -> UUIDv7 {
    UUIDv7(time: time(Double(number)), counter: (high: 1, low: UInt64(number)))
}

/// A location `seconds` after the start, with everything that can be absent absent.
func location(_ seconds: Double, id: UUIDv7, latitude: Double = 52.5) -> Location {
    guard let coordinate = Coordinate(latitude: latitude, longitude: 13.25) else {
        preconditionFailure("no place")
    }
    return Location(
        id: id, session: nil, fix: Fix(time: time(seconds), mode: 3, coordinate: coordinate),
        trigger: .interval, motion: .unknown)
}

extension FrozenBatch {
    /// The numbers of its events, for SQL.
    var eventSeqs: String { members.events.ranges.joined().map { "\($0)" }.joined(separator: ", ") }
}

extension StoreCounts {
    /// With one destination.
    init(
        locations: Int = 0, pending: Int = 0, oldestPending: Timestamp? = nil, rejected: Int = 0,
        losses: Losses = Losses()
    ) {
        self.init()
        (self.locations, self.losses) = (locations, losses)
        (main.pending, main.oldestPending, main.rejected) = (pending, oldestPending, rejected)
    }
}

/// A state directory with a store, which writes without waiting for the disk: what a power cut would do to it is not
/// tested here.
final class Workshop {
    let directory: TemporaryDirectory
    var store: Store
    var options: StoreOptions { didSet { store.configure(options) } }
    /// Locations written so far.
    private(set) var written = 0
    private(set) var batches = 0

    /// - Parameter database: what `beekon.db` holds to begin with.
    init(
        _ options: StoreOptions = StoreOptions(destinations: .main), database: [UInt8]? = nil,
        in directory: TemporaryDirectory? = nil
    ) throws {
        var options = options
        options.durability = .normal
        self.directory = try directory ?? TemporaryDirectory()
        if let database { try self.directory.write("beekon.db", database) }
        self.options = options
        store = try Store(directory: self.directory.path, options: options)
    }

    /// Overwrites the first page of a table, and opens the database anew.
    func damage(table: String) throws {
        store.close()
        let found = try query("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'")
        let page = try #require(found.flatMap { Int($0) })
        var bytes = try directory.read("beekon.db")
        bytes.replaceSubrange((page - 1) * 1024..<page * 1024, with: [UInt8](repeating: 0xA5, count: 1024))
        try directory.write("beekon.db", bytes)
        try reopen()
    }

    func reopen() throws {
        store.close()
        store = try Store(directory: directory.path, options: options)
    }

    /// Writes a location, and returns its id.
    @discardableResult
    func insert(
        _ seconds: Double, session: Int = 1, extras: String? = nil, prunesByAge: Bool = false
    ) throws -> UUIDv7 {
        written += 1
        let id = uuid(1_000_000 + written)
        _ = try store.insert(
            NewLocation(
                location: location(seconds, id: id), session: uuid(session), sessionStartedAt: time(0),
                odometer: Double(written), extras: extras, prunesByAge: prunesByAge))
        return id
    }

    func insert(_ seconds: ClosedRange<Int>, session: Int = 1, extras: String? = nil) throws -> [UUIDv7] {
        try seconds.map { try insert(Double($0), session: session, extras: extras) }
    }

    /// Writes a geofence event, and returns its id.
    @discardableResult
    func insertEvent(_ seconds: Double, session: Int = 1) throws -> UUIDv7 {
        written += 1
        let id = uuid(5_000_000 + written)
        let event = GeofenceEvent(
            id: id, session: uuid(session),
            crossing: Crossing(geofence: "home", kind: .enter, time: time(seconds)))
        _ = try store.insert(
            NewEvents(
                events: [event], changes: [], session: uuid(session), sessionStartedAt: time(0),
                isTracking: true, extras: nil, time: time(seconds), prunesByAge: false))
        return id
    }

    /// Freezes the next batch, with a body that names its rows.
    @discardableResult
    func freeze(limit: Int = 10) throws -> FrozenBatch {
        let draft = try #require(try store.draftBatch(limit: limit))
        return try #require(try freeze(draft))
    }

    func freeze(_ draft: BatchDraft) throws -> FrozenBatch? {
        try freeze(draft, body: body(of: draft))
    }

    func freeze(_ draft: BatchDraft, body: [UInt8]) throws -> FrozenBatch? {
        batches += 1
        return try store.freeze(draft, id: uuid(2_000_000 + batches), StoredRequest(body: body))
    }

    func body(of draft: BatchDraft) -> [UInt8] {
        draft.locations.flatMap(\.id.bytes)
    }

    func delete(before cutoff: Double? = nil) throws -> Deletion {
        var deletion = try store.beginDeletion(before: cutoff.map(time))
        while !deletion.isFinished { try store.proceed(with: &deletion) }
        return deletion
    }

    /// Everything that is stored, in order.
    func stored(session: Int? = nil) throws -> [Location] {
        let history = try History(directory: directory.path)
        var cursor = LocationCursor(from: nil, to: nil, session: session.map(uuid))
        var all: [Location] = []
        while !cursor.isAtEnd { all += try history.next(&cursor) }
        return all
    }

    func events() throws -> [GeofenceEvent] {
        let history = try History(directory: directory.path)
        var cursor = EventCursor(from: nil, to: nil)
        var all: [GeofenceEvent] = []
        while !cursor.isAtEnd {
            all += try history.next(&cursor, limit: 3).compactMap {
                if case .crossing(let event) = $0 { event } else { nil }
            }
        }
        return all
    }

    func sessions() throws -> [SessionRecord] {
        try History(directory: directory.path).allSessions()
    }

    /// What the database itself says, through a connection of the test's own.
    func query(_ sql: String) throws -> String? {
        try Connection(path: directory.file("beekon.db"), access: .readOnly).value(sql)
    }

    /// The first column of every row.
    func lines(_ sql: String) throws -> [String] {
        let connection = try Connection(path: directory.file("beekon.db"), access: .readOnly)
        let statement = try connection.prepare(sql)
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0) ?? "") }
        return lines
    }

    func count(_ from: String) throws -> Int {
        Int(try query("SELECT COUNT(*) FROM " + from) ?? "") ?? -1
    }
}

extension FrozenBatch {
    /// The ids that it carries, from its body.
    var ids: [UUIDv7] {
        stride(from: 0, to: request.body.count, by: 16).compactMap {
            UUIDv7(bytes: Array(request.body[$0..<$0 + 16]))
        }
    }
}
