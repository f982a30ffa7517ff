internal import Base
internal import EnvelopeReader
internal import Glibc

/// A drive, as its locations tell it.
struct Trip: Equatable {
    var start: LocationRow
    var end: LocationRow
    /// Metres, from location to location: an estimate. The vehicle's own odometer knows better.
    var distance = 0.0
    /// Metres per second; nil when no location had a speed.
    var topSpeed: Double?
    var locations = 1

    /// Seconds.
    var duration: Double { end.time.seconds(since: start.time) }
}

/// Finds trips among the locations of a device, which it is handed by time. A value; no clock, no I/O.
///
/// A trip begins with the first location that moves and ends with the last one before `gap` seconds without any: at the
/// beginning of the stay, as beekond has it. One location alone is no trip.
struct TripFinder {
    /// Seconds; beekond's `trip_gap_seconds` by default.
    static let gap = 300.0
    /// Metres per second, from which on a location moves that does not say so itself.
    private static let movement = 1.0

    private var trip: Trip?
    /// The newest location, and what lies between the end of the trip and it.
    private var last: LocationRow?
    private var sinceEnd = (distance: 0.0, locations: 0)

    /// - Returns: the trip that has ended before this location.
    mutating func add(_ row: LocationRow) -> Trip? {
        var ended: Trip?
        if let trip, row.time.seconds(since: trip.end.time) >= Self.gap { ended = finish() }
        defer { last = row }
        let step = last.map { Self.distance($0, row) } ?? 0
        guard isMoving(row) else {
            if trip != nil { sinceEnd = (sinceEnd.distance + step, sinceEnd.locations + 1) }
            return ended
        }
        guard var current = trip else {
            trip = Trip(start: row, end: row, topSpeed: row.speed)
            sinceEnd = (0, 0)
            return ended
        }
        current.distance += sinceEnd.distance + step
        current.locations += sinceEnd.locations + 1
        current.end = row
        if let speed = row.speed { current.topSpeed = max(current.topSpeed ?? 0, speed) }
        trip = current
        sinceEnd = (0, 0)
        return ended
    }

    /// - Returns: the trip that is under way.
    mutating func finish() -> Trip? {
        defer { trip = nil }
        return trip.flatMap { $0.locations > 1 ? $0 : nil }
    }

    private func isMoving(_ row: LocationRow) -> Bool {
        switch row.codes.motion {
        case "moving": true
        case "stationary": false
        default: row.speed.map { $0 >= Self.movement } ?? false
        }
    }

    /// Metres along a sphere of the earth's mean radius (haversine).
    static func distance(_ first: LocationRow, _ second: LocationRow) -> Double {
        let radians = Double.pi / 180
        let (up, across) = (
            sin((second.latitude - first.latitude) * radians / 2),
            sin((second.longitude - first.longitude) * radians / 2)
        )
        let half = up * up + cos(first.latitude * radians) * cos(second.latitude * radians) * across * across
        return 2 * 6_371_008.8 * asin(min(1, half.squareRoot()))
    }
}
