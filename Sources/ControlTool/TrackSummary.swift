public import ControlProtocol
internal import Glibc

/// A place where the vehicle stood for a while.
public struct Stop: Encodable, Sendable, Equatable {
    /// Degrees WGS-84.
    public var latitude: Double
    /// Degrees WGS-84.
    public var longitude: Double
    /// UTC.
    public var from: String
    /// UTC.
    public var to: String
    /// How long it was.
    public var seconds: Double
}

/// What can be said of a track in a few numbers. Grows by a location at a time, in constant memory but for its stops.
public struct TrackSummary: Encodable, Sendable, Equatable {
    /// Mean radius of the earth (IUGG), metres.
    static let earthRadius = 6_371_008.8
    /// Who stays this near to where it halted, in metres …
    private static let stopRadius = 50.0
    /// … for this long, in seconds, has stopped.
    private static let leastStop = 120.0

    /// Locations.
    public private(set) var locations = 0
    /// Sessions that they belong to, counted as they change.
    public private(set) var sessions = 0
    /// From location to location within sessions, metres along great circles.
    public private(set) var distanceMeters = 0.0
    /// UTC.
    public private(set) var start: String?
    /// UTC.
    public private(set) var end: String?
    /// Metres per second.
    public private(set) var highestSpeed: Double?
    /// Stops of two minutes and more, in order of time.
    public private(set) var stops: [Stop] = []

    private enum CodingKeys: String, CodingKey {
        case locations, sessions, start, end, stops
        case distanceMeters = "distance_meters"
        case highestSpeed = "highest_speed"
    }

    private var last: Wire.Location?
    private var halt: (first: Wire.Location, last: Wire.Location)?

    /// An empty track.
    public init() {}

    /// Equal in what is told.
    public static func == (a: TrackSummary, b: TrackSummary) -> Bool {
        (a.locations, a.sessions, a.distanceMeters, a.start, a.end, a.highestSpeed)
            == (b.locations, b.sessions, b.distanceMeters, b.start, b.end, b.highestSpeed)
            && a.stops == b.stops
    }

    /// The next location in order of time.
    public mutating func add(_ location: Wire.Location) {
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
        follow(location)
        last = location
    }

    /// Ends a stop that is under way at the end of the track.
    public mutating func finish() {
        if let halt { note(halt.first, until: halt.last) }
        halt = nil
    }

    private mutating func follow(_ location: Wire.Location) {
        guard let current = halt else {
            halt = (location, location)
            return
        }
        if Self.distance(current.first, location) <= Self.stopRadius {
            halt = (current.first, location)
            return
        }
        // While it stands nothing is stored, so the next location is that of the departure, and may be some way off.
        note(current.first, until: current.last.motion == "stationary" ? location : current.last)
        halt = (location, location)
    }

    private mutating func note(_ first: Wire.Location, until last: Wire.Location) {
        guard let from = Clock.utc(first.timestamp), let to = Clock.utc(last.timestamp) else { return }
        let seconds = Double(to.milliseconds - from.milliseconds) / 1000
        guard seconds >= Self.leastStop else { return }
        stops.append(
            Stop(
                latitude: first.latitude, longitude: first.longitude, from: first.timestamp,
                to: last.timestamp,
                seconds: seconds))
    }

    /// Great-circle distance in metres, by the haversine formula.
    static func distance(_ a: Wire.Location, _ b: Wire.Location) -> Double {
        let radians = Double.pi / 180
        let height = sin((b.latitude - a.latitude) * radians / 2)
        let width = sin((b.longitude - a.longitude) * radians / 2)
        let chord = height * height + cos(a.latitude * radians) * cos(b.latitude * radians) * width * width
        return 2 * earthRadius * asin(min(1, chord.squareRoot()))
    }
}
