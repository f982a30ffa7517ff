internal import Base
internal import Envelope
internal import EnvelopeReader
internal import FoundationEssentials
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// A drive of a vehicle, for a report: as the vehicle has told it, by its odometer, or else as its locations show it.
struct ReportedTrip: Equatable {
    /// Whose word it is. The raw values are those of the interface.
    enum Source: String {
        case vehicle, locations
    }

    var start: Timestamp
    var end: Timestamp
    /// Metres.
    var distance: Double
    /// Seconds of it in which the vehicle stood; nil: not known.
    var idle: Double?
    /// Metres per second; nil: not known.
    var topSpeed: Double?
    var source: Source

    /// Seconds.
    var duration: Double { end.seconds(since: start) }

    init(_ trip: Trip) {
        (start, end, distance) = (trip.start.time, trip.end.time, trip.distance)
        (topSpeed, source) = (trip.topSpeed, .locations)
    }

    /// - Returns: nil for the beginning of a trip, and for what no version of beekond says.
    init?(_ event: StoredEvent) {
        guard case .other("trip", let object) = event.content,
            let told = try? JSONDecoder().decode(Told.self, from: Data(object.utf8)), told.type == "ended",
            let data = told.data, let start = Timestamp(iso8601: data.start), start <= event.time,
            let distance = data.distance, (0...Self.longest).contains(distance)
        else { return nil }
        (self.start, end, self.distance, source) = (start, event.time, distance, .vehicle)
        idle = data.idle.flatMap { (0...duration).contains($0) ? $0 : nil }
        topSpeed = data.topSpeed.flatMap { (0...Self.fastest).contains($0) ? $0 : nil }
    }

    /// Metres; nobody drives further in one go.
    private static let longest = 100_000_000.0
    /// Metres per second.
    private static let fastest = 2000.0

    private struct Told: Decodable {
        struct Values: Decodable {
            var start: String
            var distance: Double?
            var idle: Double?
            var topSpeed: Double?

            private enum CodingKeys: String, CodingKey {
                case start = "started_at"
                case distance = "distance_meters"
                case idle = "idle_seconds"
                case topSpeed = "top_speed"
            }
        }

        var type: String
        var data: Values?
    }
}

/// What of the trips of vehicles is asked for: `?from=…&to=…&group=…&format=…`.
struct TripQuery: Equatable {
    enum Format: String {
        case json, csv
    }

    var range: ClosedRange<Timestamp>
    /// Name of the group; nil: vehicles of all groups, and of none.
    var group: String?
    var format: Format

    /// - Parameter query: as it stands behind the `?`; nil when there is none.
    init(_ query: Substring?) throws(Problem) {
        var all = try LocationQuery(nil).range
        (group, format) = (nil, .json)
        for (name, value) in try LocationQuery.pairs(query) {
            switch name {
            case "from": all = try Self.range(LocationQuery.time(value, "from"), all.upperBound)
            case "to": all = try Self.range(all.lowerBound, LocationQuery.time(value, "to"))
            case "group": group = value
            case "format":
                guard let known = Format(rawValue: value) else {
                    throw Problem(.badRequest, "format must be json or csv.")
                }
                format = known
            default:
                throw Problem(.badRequest, "There is no such parameter; use from, to, group and format.")
            }
        }
        range = all
    }

    private static func range(_ from: Timestamp, _ to: Timestamp) throws(Problem) -> ClosedRange<Timestamp> {
        guard from <= to else { throw Problem(.badRequest, "from is after to.") }
        return from...to
    }
}

extension Reader {
    /// Vehicles that are looked up at once, rows that are looked at at once, and how often before the client hears that there
    /// is more.
    private static let vehiclesAtOnce = 100
    private static let rowsAtOnce = 1000
    private static let eventsAtOnce = 32
    private static let looks = 10

    /// How far a report has come.
    private struct Report {
        var vehicles: [DeviceState] = []
        var last: Int64 = 0
        var hasAll = false
        /// The first of `vehicles` is being looked at.
        var drives: Drives?
        var found: [ReportedTrip] = []
        var count = 0
    }

    /// How far the trips of one vehicle have been read: first its locations, up to the first trip that it told, then what it told.
    private struct Drives {
        var finder = TripFinder()
        var place: Reading.Place?
        /// Locations from then on are told by trips of the vehicle.
        var toldFrom: Timestamp?
        var isTold = false
    }

    /// `GET /v1/trips`: those of all vehicles that the viewer sees, by vehicle and time.
    func trips(for viewer: Viewer, _ query: TripQuery) async throws -> Response {
        let isCSV = query.format == .csv
        let columns =
            "device,name,start,end,distance_meters,duration_seconds,idle_seconds,top_speed,source\r\n"
        return try await lists.answer(
            isCSV ? "text/csv; charset=utf-8" : "application/json", from: Report(),
            head: Array((isCSV ? columns : #"{"trips":["#).utf8), tail: Array((isCSV ? "" : "]}\n").utf8),
            mayLag: true
        ) { report, piece, session throws(StoreError) in
            for _ in 0..<Self.looks {
                while let trip = report.found.first, let vehicle = report.vehicles.first {
                    let text =
                        isCSV
                        ? TripText.line(trip, of: vehicle)
                        : TripText.element(trip, of: vehicle, isFirst: report.count == 0)
                    guard try piece.add(text) else { return false }
                    report.found.removeFirst()
                    report.count += 1
                }
                guard let vehicle = try Self.vehicle(&report, for: viewer, query.group, session) else {
                    return true
                }
                var drives = Drives()
                if let begun = report.drives {
                    drives = begun
                } else {
                    drives.toldFrom = try Self.firstTold(
                        by: vehicle.id, for: viewer, in: query.range, session)
                }
                let isAtEnd: Bool
                if drives.isTold {
                    isAtEnd = try Self.readTold(
                        of: vehicle.id, for: viewer, in: query.range, &drives, &report.found, session)
                } else {
                    isAtEnd = try Self.readLocations(
                        of: vehicle.id, for: viewer, in: query.range, &drives, &report.found, session)
                }
                report.drives = drives
                // What was found is written before the next vehicle is the first.
                if isAtEnd, report.found.isEmpty {
                    report.drives = nil
                    report.vehicles.removeFirst()
                }
            }
            return false
        }
    }

    /// - Returns: the vehicle that is next; nil: there is none.
    private static func vehicle(
        _ report: inout Report, for viewer: Viewer, _ group: String?, _ session: any Session
    ) throws(StoreError) -> DeviceState? {
        while report.vehicles.isEmpty, !report.hasAll {
            let page = try Reading.devices(
                for: viewer, after: report.last, limit: vehiclesAtOnce, from: session)
            report.hasAll = page.count < vehiclesAtOnce
            report.last = page.last?.id ?? report.last
            report.vehicles = page.filter { group == nil || $0.group?.name == group }
        }
        return report.vehicles.first
    }

    private static func firstTold(
        by device: Int64, for viewer: Viewer, in range: ClosedRange<Timestamp>, _ session: any Session
    ) throws(StoreError) -> Timestamp? {
        var place: Reading.Place?
        // The first is the beginning of one that has no end yet, or had none that was believed.
        for _ in 0..<looks {
            let events = try Reading.tripEvents(
                of: device, for: viewer, in: range, after: place, limit: eventsAtOnce, from: session)
            if let trip = events.lazy.compactMap({ ReportedTrip($0) }).first { return trip.start }
            guard let last = events.last, events.count == eventsAtOnce else { return nil }
            place = Reading.Place(time: last.time, id: last.id)
        }
        return nil
    }

    /// - Returns: whether that was the last of the vehicle.
    private static func readLocations(
        of device: Int64, for viewer: Viewer, in range: ClosedRange<Timestamp>, _ drives: inout Drives,
        _ found: inout [ReportedTrip], _ session: any Session
    ) throws(StoreError) -> Bool {
        let end = drives.toldFrom.map { $0.advanced(bySeconds: -0.001) } ?? range.upperBound
        let rows =
            end < range.lowerBound
            ? []
            : try Reading.locations(
                of: device, for: viewer, in: range.lowerBound...end, after: drives.place, limit: rowsAtOnce,
                from: session)
        found += rows.compactMap { drives.finder.add($0.row).map { ReportedTrip($0) } }
        drives.place = rows.last.map { Reading.Place(time: $0.row.time, id: $0.row.id) } ?? drives.place
        guard rows.count < rowsAtOnce else { return false }
        if let last = drives.finder.finish() { found.append(ReportedTrip(last)) }
        guard drives.toldFrom != nil else { return true }
        (drives.isTold, drives.place) = (true, nil)
        return false
    }

    /// - Returns: whether that was the last of the vehicle.
    private static func readTold(
        of device: Int64, for viewer: Viewer, in range: ClosedRange<Timestamp>, _ drives: inout Drives,
        _ found: inout [ReportedTrip], _ session: any Session
    ) throws(StoreError) -> Bool {
        let events = try Reading.tripEvents(
            of: device, for: viewer, in: range, after: drives.place, limit: eventsAtOnce, from: session)
        found += events.compactMap { ReportedTrip($0) }
        drives.place = events.last.map { Reading.Place(time: $0.time, id: $0.id) } ?? drives.place
        return events.count < eventsAtOnce
    }
}

/// Trips of a report as text.
enum TripText {
    static func element(_ trip: ReportedTrip, of vehicle: DeviceState, isFirst: Bool) -> [UInt8] {
        var text = Array(((isFirst ? "\n" : ",\n") + #"{"device":\#(vehicle.id),"name":"#).utf8)
        JSONString.append(vehicle.name, to: &text)
        let values = numbers(trip).compactMap { name, value in value.map { #","\#(name)":\#($0)"# } }
        text += Array(
            (#","start":"\#(trip.start.iso8601)","end":"\#(trip.end.iso8601)""# + values.joined()
                + #","source":"\#(trip.source.rawValue)"}"#).utf8)
        return text
    }

    /// A line of CSV (RFC 4180).
    static func line(_ trip: ReportedTrip, of vehicle: DeviceState) -> [UInt8] {
        // What begins so is a formula for programs that show tables.
        let isFormula = vehicle.name.first.map { "=+-@".contains($0) } ?? false
        let name = (isFormula ? "'" : "") + vehicle.name.replacing("\"", with: "\"\"")
        let values = numbers(trip).map { $0.1 ?? "" }
        let cells =
            ["\(vehicle.id)", "\"\(name)\"", trip.start.iso8601, trip.end.iso8601] + values
            + [trip.source.rawValue]
        return Array((cells.joined(separator: ",") + "\r\n").utf8)
    }

    private static func numbers(_ trip: ReportedTrip) -> [(String, String?)] {
        let tenths = { (value: Double) in LocationText.number((value * 10).rounded() / 10) }
        return [
            ("distance_meters", tenths(trip.distance)), ("duration_seconds", tenths(trip.duration)),
            ("idle_seconds", trip.idle.map(tenths)), ("top_speed", trip.topSpeed.map(LocationText.number)),
        ]
    }
}
