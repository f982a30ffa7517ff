import Base
import FoundationEssentials
import SQLite
import Support
import Testing
import Tracking

@testable import Storage

/// A database that a released version wrote, kept in `Schemas`, with what that version itself said of it.
///
/// `BEEKOND_MAKE_SCHEMA=1 swift test --filter makeStoredSchema` writes those of the present version; do that once, when it
/// is released, and never again.
struct StoredSchema: Sendable, CustomTestStringConvertible {
    let version: Int64
    private let folder: String

    /// Folder with the schemas of the released versions.
    static let released =
        String(#filePath[..<(#filePath.lastIndex(of: "/") ?? #filePath.startIndex)]) + "/Schemas"

    static let all: [StoredSchema] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: released)) ?? []
        return names.compactMap { name in
            guard name.hasPrefix("schema-"), name.hasSuffix(".db") else { return nil }
            return Int64(name.dropFirst(7).dropLast(3)).map { StoredSchema(version: $0, folder: released) }
        }.sorted { $0.version < $1.version }
    }()

    private init(version: Int64, folder: String) {
        self.version = version
        self.folder = folder
    }

    var testDescription: String { "schema \(version)" }
    private var path: String { folder + "/schema-\(version)" }

    func bytes() throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path + ".db"))) }
    func story() throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: path + ".txt")), as: UTF8.self)
    }

    /// Writes the database with the code of today, and what this code says of it.
    static func make(in folder: String) throws -> StoredSchema {
        let workshop = try Workshop()
        try fill(workshop)
        workshop.store.close()
        let stored = StoredSchema(version: Schema.version, folder: folder)
        try Data(try workshop.directory.read("beekon.db")).write(to: URL(filePath: stored.path + ".db"))
        let reader = try Workshop(database: try stored.bytes())
        try Data(try tell(reader).utf8).write(to: URL(filePath: stored.path + ".txt"))
        return stored
    }

    /// Rows in every table and of every kind.
    private static func fill(_ workshop: Workshop) throws {
        try workshop.store.adopt(endpoint: 7)
        // A session that has been drained: only what was written down of it is left.
        try insert(1...6, session: 1, extras: nil, workshop)
        _ = try workshop.store.acknowledge(try workshop.freeze(limit: 6))
        try workshop.store.close(session: uuid(1), at: time(9))
        // One with dead letters, uploaded rows that are kept, frozen ones, and some that wait under other extras.
        try insert(11...24, session: 2, extras: #"{"driver":"Änne"}"#, workshop)
        // A second one at the instant at which a batch will end.
        try insert(22...22, session: 2, extras: #"{"driver":"Änne"}"#, firstID: 4_100_000, workshop)
        try insert(25...28, session: 2, extras: #"{"driver":"Bo"}"#, workshop)
        try insert(crossing: 1, session: 2, workshop)
        try workshop.store.close(session: uuid(2), at: time(29))
        _ = try workshop.store.reject(try workshop.freeze(limit: 3), status: 422, at: time(30))
        workshop.options.keepsUploaded = true
        _ = try workshop.store.acknowledge(try workshop.freeze(limit: 3))
        _ = try workshop.store.reject(try workshop.freeze(limit: 1), status: 400, at: time(31))
        for crossing in 2...3 { try insert(crossing: crossing, session: 2, workshop) }
        let batch = try workshop.freeze(limit: 5)
        let halves = try workshop.store.halves(of: batch)
        try workshop.store.split(
            batch,
            into: halves.enumerated().map {
                (
                    draft: $0.element, id: uuid(3_000_000 + $0.offset),
                    StoredRequest(body: workshop.body(of: $0.element))
                )
            })
        if let piece = try workshop.store.nextFrozen() { try workshop.store.markPermanent(piece) }
        // And one under way, older than the others by the times of its fixes.
        try insert(-9 ... -2, session: 3, extras: nil, workshop)
        try insert(crossing: 4, session: 3, workshop)
        try command(workshop)
    }

    /// Two commands of a server, of which one has been run.
    private static func command(_ workshop: Workshop) throws {
        let commands = (1...2).map {
            NewCommand(id: "c-\($0)", name: "start", digest: [UInt8($0)], text: #"{"command":"start"}"#)
        }
        _ = try workshop.store.journal(
            CommandList(from: .main, answering: uuid(6_000_000), at: time(40), commands), sent: [])
        if let first = try workshop.store.nextCommand(of: .main) {
            try workshop.store.finish(first, with: CommandOutcome(error: "no"), at: time(41))
        }
    }

    private static func insert(crossing number: Int, session: Int, _ workshop: Workshop) throws {
        let time = time(Double(20 + number))
        let event = GeofenceEvent(
            id: uuid(5_000_000 + number), session: uuid(session),
            crossing: Crossing(geofence: "Tor \(number)", kind: number % 2 == 0 ? .enter : .exit, time: time))
        _ = try workshop.store.insert(
            NewEvents(
                events: [event], changes: [.init(key: Int64(number), isInside: number % 2 == 0)],
                session: uuid(session), sessionStartedAt: time, isTracking: true,
                extras: session == 2 ? #"{"driver":"Änne"}"# : nil, time: time, prunesByAge: false))
    }

    private static func insert(
        _ seconds: ClosedRange<Int>, session: Int, extras: String?, firstID: Int = 4_000_000,
        _ workshop: Workshop
    ) throws {
        for second in seconds {
            var location = location(
                Double(second), id: uuid(firstID + second), latitude: Double(second) / 3)
            location.fix.mode = 2 + abs(second) % 2
            location.fix.isMock = second % 5 == 0
            location.fix.accuracy = second % 3 == 0 ? nil : Double(second) * 1.1
            location.fix.speed = second % 4 == 0 ? nil : Double(abs(second)) / 7
            location.fix.bearing = second % 2 == 0 ? nil : 12.5
            location.fix.altitude = second % 2 == 0 ? -3.25 : nil
            location.trigger = Trigger.allCases[abs(second) % Trigger.allCases.count]
            location.motion = MotionState.allCases[abs(second) % MotionState.allCases.count]
            location.activity =
                second % 2 == 0 ? nil : Activity.allCases[abs(second) % Activity.allCases.count]
            location.quality = second % 3 == 0 ? nil : Quality.allCases[abs(second) % Quality.allCases.count]
            _ = try workshop.store.insert(
                NewLocation(
                    location: location, session: uuid(session), sessionStartedAt: time(Double(session)),
                    odometer: Double(abs(second)) * 10.5, extras: extras, prunesByAge: false))
        }
    }

    /// What a store says of its rows, its sessions, its dead letters and its batches, one line each; in the end everything
    /// in it is acknowledged, and one more row is written.
    static func tell(_ workshop: Workshop) throws -> String {
        let store = workshop.store
        var lines = store.takeEvents().map { "event \($0)" } + ["counts \(describe(store.counts()))"]
        lines += try workshop.sessions().map {
            "session \($0.id) \($0.startedAt.milliseconds) \(describe($0.stoppedAt?.milliseconds)) \($0.locations) \($0.distance)"
        }
        lines += try workshop.stored().map(describe)
        lines += try workshop.lines(
            "SELECT 'rejected ' || lower(hex(id)) || ' ' || lower(hex(batch)) || ' ' || http_status || ' ' || "
                + "rejected_at || ' ' || session FROM rejected ORDER BY rejected_at, seq")
        lines += try workshop.lines(
            "SELECT 'rejected event ' || lower(hex(id)) || ' ' || subject || ' ' || kind || ' ' || http_status "
                + "FROM rejected_events ORDER BY rejected_at, seq")
        lines += try workshop.events().map {
            "crossing \($0.id) \($0.session) \($0.crossing.geofence) \($0.crossing.kind) \($0.crossing.time.milliseconds)"
        }
        lines += try workshop.lines("SELECT 'state ' || key || ' ' || is_inside FROM geofence_states")
        lines += try workshop.lines(
            "SELECT 'command ' || id || ' ' || coalesce(text, '-') || ' ' || coalesce(error, '-') FROM commands"
        )
        lines.append("latest \(describe(try store.latestLocation()?.id))")
        for session in 1...3 {
            let tail = try store.enter(session: uuid(session), startedAt: time(0))
            lines.append(
                "tail \(session) \(describe(tail?.reference?.time.milliseconds)) \(describe(tail?.odometer))")
        }
        try store.adopt(endpoint: 7)
        while try drain(workshop, &lines) {}
        lines.append("counts \(describe(store.counts()))")
        try workshop.insert(100, session: 4)
        lines += try workshop.lines(
            "SELECT 'next ' || seq || ' ' || session FROM locations WHERE uploaded = 0")
        return lines.joined(separator: "\n") + "\n"
    }

    /// The next batch goes, frozen already or not.
    private static func drain(_ workshop: Workshop, _ lines: inout [String]) throws -> Bool {
        let store = workshop.store
        var batch = try store.nextFrozen()
        if batch == nil, let draft = try store.draftBatch(limit: 5) {
            batch = try workshop.freeze(draft)
            lines.append("draft \(draft.session) \(draft.extras ?? "-")")
        }
        guard let batch else { return false }
        lines.append(
            "batch \(batch.id) \(batch.session) \(batch.locations) \(batch.events == 0 ? "" : "+ \(batch.events) ")piece: \(batch.isPiece) \(batch.ids.map(\.description))"
        )
        lines.append("acknowledged \(try store.acknowledge(batch))")
        return true
    }

    private static func describe(_ location: Location) -> String {
        let fix = location.fix
        let measured = [fix.accuracy, fix.speed, fix.bearing, fix.altitude].map { describe($0) }
        return """
            location \(location.id) \(describe(location.session)) \(fix.time.milliseconds) \(fix.mode) \(fix.coordinate.latitude) \
            \(fix.coordinate.longitude) \(measured.joined(separator: " ")) \(fix.isMock) \
            \(location.trigger.rawValue) \(location.motion.rawValue) \(describe(location.activity?.rawValue)) \
            \(describe(location.quality?.rawValue))
            """
    }

    private static func describe(_ counts: StoreCounts) -> String {
        "\(counts.locations) \(counts.pending) \(describe(counts.oldestPending?.milliseconds)) \(counts.rejected) \(counts.losses.dropped)"
    }

    private static func describe(_ value: (some Any)?) -> String {
        value.map { "\($0)" } ?? "-"
    }
}
