import Base

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

func geofence(
    _ id: String = "home", north: Double = 0, east: Double = 0, radius: Double = 100,
    notifiesOnEntry: Bool = true, notifiesOnExit: Bool = true
) throws -> Geofence {
    let centre = place(north: north, east: east)
    return try Geofence(
        id: id, latitude: centre.latitude, longitude: centre.longitude, radius: radius,
        notifiesOnEntry: notifiesOnEntry, notifiesOnExit: notifiesOnExit)
}

/// A polygon with as many corners and the area of a circle.
func rounded(_ id: String, _ centre: Coordinate, radius: Double, corners: Int) throws -> Geofence {
    let turn = 2 * Double.pi / Double(corners)
    let reach = radius * (turn / sin(turn)).squareRoot()
    let ring = (0..<corners).map { corner in
        let (east, north) = (reach * sin(turn * Double(corner)), reach * cos(turn * Double(corner)))
        let rise = north / LocalScale(latitude: centre.latitude).north
        let scale = LocalScale(latitude: centre.latitude + rise / 2)
        return [
            PolygonRing.wrapped(centre.longitude + east / scale.east), centre.latitude + north / scale.north,
        ]
    }
    return try Geofence(id: id, ring: ring)
}

/// One fix of a table: seconds, metres north of the fence's centre, accuracy.
struct Seen {
    var at: Double
    var north: Double
    var accuracy: Double? = 5
    var isParked = false
    var isImplausible = false

    init(
        _ at: Double, _ north: Double, _ accuracy: Double? = 5, parked: Bool = false,
        implausible: Bool = false
    ) {
        self.at = at
        self.north = north
        self.accuracy = accuracy
        isParked = parked
        isImplausible = implausible
    }

    var fix: Fix {
        var fix = TrackingTests.fix(at: at, north: north)
        fix.accuracy = accuracy
        return fix
    }
}

extension Geofences {
    /// Processes the steps and returns the crossings: `enter 12` is an entry at second 12.
    mutating func take(_ steps: [Seen]) -> [String] {
        steps.flatMap { step in
            judge(step.fix, isImplausible: step.isImplausible, isParked: step.isParked).crossings
        }.map { crossing in
            let seconds = crossing.time.seconds(since: Timestamp(milliseconds: start))
            return "\(crossing.kind.rawValue) \(Int(seconds.rounded()))"
        }
    }
}
