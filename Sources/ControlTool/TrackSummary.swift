internal import Base
package import ControlProtocol
internal import Glibc

/// A place where the vehicle stood for a while.
package struct Stop: Encodable, Sendable, Equatable {
    /// Degrees WGS-84.
    package var latitude: Double
    /// Degrees WGS-84.
    package var longitude: Double
    /// UTC.
    package var from: String
    /// UTC.
    package var to: String
    /// Duration in seconds.
    package var seconds: Double
}

/// A track in a few numbers. Grows by one location at a time, in constant memory except for its stops.
package struct TrackSummary: Encodable, Sendable, Equatable {
    /// Mean radius of the Earth (IUGG), in metres.
    static let earthRadius = 6_371_008.8
    /// A vehicle that stays within this many metres of where it halted …
    private static let stopRadius = 50.0
    /// … for at least this many seconds has stopped.
    private static let leastStop = 120.0

    package private(set) var locations = 0
    /// Number of sessions, counted at each change.
    package private(set) var sessions = 0
    /// Metres along great circles between consecutive locations of a session.
    package private(set) var distanceMeters = 0.0
    /// Time of the first location, UTC.
    package private(set) var start: String?
    /// Time of the last location, UTC.
    package private(set) var end: String?
    /// Metres per second.
    package private(set) var highestSpeed: Double?
    /// Stops of two minutes or more, in chronological order.
    package private(set) var stops: [Stop] = []

    private enum CodingKeys: String, CodingKey {
        case locations, sessions, start, end, stops
        case distanceMeters = "distance_meters"
        case highestSpeed = "highest_speed"
    }

    private var last: Wire.Location?
    private var halt: (first: Wire.Location, last: Wire.Location)?

    package init() {}

    /// Compares the published values only.
    package static func == (a: TrackSummary, b: TrackSummary) -> Bool {
        (a.locations, a.sessions, a.distanceMeters, a.start, a.end, a.highestSpeed)
            == (b.locations, b.sessions, b.distanceMeters, b.start, b.end, b.highestSpeed)
            && a.stops == b.stops
    }

    /// Adds the next location, in chronological order.
    package mutating func add(_ location: Wire.Location) {
        locations += 1
        if start == nil { start = location.timestamp }
        end = location.timestamp
        if let speed = location.speed { highestSpeed = max(highestSpeed ?? speed, speed) }
        if let last, last.sessionId == location.sessionId {
            distanceMeters += Self.distance(last, location)
        } else {
            sessions += 1
            finish()
        }
        trackHalt(location)
        last = location
    }

    /// Ends a stop that lasts until the end of the track.
    package mutating func finish() {
        if let halt { recordStop(halt.first, until: halt.last) }
        halt = nil
    }

    private mutating func trackHalt(_ location: Wire.Location) {
        guard let current = halt else {
            halt = (location, location)
            return
        }
        if Self.distance(current.first, location) <= Self.stopRadius {
            halt = (current.first, location)
            return
        }
        // Nothing is stored while the vehicle stands, so the next location is that of the departure, and may be some
        // way off.
        recordStop(current.first, until: current.last.motion == "stationary" ? location : current.last)
        halt = (location, location)
    }

    private mutating func recordStop(_ first: Wire.Location, until last: Wire.Location) {
        guard let from = LocalClock.utc(first.timestamp), let to = LocalClock.utc(last.timestamp) else {
            return
        }
        let seconds = Double(to.milliseconds - from.milliseconds) / 1000
        guard seconds >= Self.leastStop else { return }
        stops.append(
            Stop(
                latitude: first.latitude, longitude: first.longitude, from: first.timestamp,
                to: last.timestamp,
                seconds: seconds))
    }

    /// Great-circle distance in metres (haversine formula).
    static func distance(_ a: Wire.Location, _ b: Wire.Location) -> Double {
        let radians = Double.pi / 180
        let height = sin((b.latitude - a.latitude) * radians / 2)
        let width = sin((b.longitude - a.longitude) * radians / 2)
        let chord = height * height + cos(a.latitude * radians) * cos(b.latitude * radians) * width * width
        return 2 * earthRadius * asin(min(1, chord.squareRoot()))
    }
}
