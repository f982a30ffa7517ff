import Glibc

/// A position on the local plane around the start of the drive, and the direction of travel there.
struct Pose: Equatable, Sendable {
    /// Metres east of the start.
    var east: Double
    /// Metres north of the start.
    var north: Double
    /// Radians clockwise from true north.
    var heading: Double
}

/// A straight street followed by a curve.
struct Leg: Sendable {
    var start: Pose
    /// Metres of straight street before the curve.
    var straight: Double
    /// Radius of the curve, in metres.
    var radius: Double
    /// Angle of the curve in radians; positive to the right.
    var turn: Double
    /// Preferred speed on the straight, in metres per second.
    var cruise: Double
    /// Milliseconds that the vehicle stands at the end of the straight; 0 does not stop.
    var wait: Int

    /// Metres from the start of the straight to the end of the curve.
    var length: Double { straight + abs(turn) * radius }

    /// The speed at which the curve causes `Vehicle.lateralAcceleration`, in metres per second.
    var curveSpeed: Double { min(cruise, sqrt(Vehicle.lateralAcceleration * radius)) }

    func pose(at along: Double) -> Pose {
        guard along > straight else {
            return Pose(
                east: start.east + along * sin(start.heading),
                north: start.north + along * cos(start.heading),
                heading: start.heading)
        }
        let side = turn < 0 ? -1.0 : 1.0
        let bend = start.heading + side * min((along - straight) / radius, abs(turn))
        // The centre lies perpendicular to the end of the straight, on the side of the turn.
        let centreEast = start.east + straight * sin(start.heading) + side * radius * cos(start.heading)
        let centreNorth = start.north + straight * cos(start.heading) - side * radius * sin(start.heading)
        return Pose(
            east: centreEast - side * radius * cos(bend),
            north: centreNorth + side * radius * sin(bend),
            heading: bend)
    }
}

/// Generates streets one leg at a time: side streets and main roads, corners and bends, traffic lights and car parks.
struct StreetRoute: Sendable {
    /// Metres from the start beyond which the next turn leads back.
    static let homeRange = 1500.0
    /// Every so many legs the vehicle parks.
    static let legsBetweenParks = 9

    private var random: SplitMix64
    private var legs = 0

    init(random: SplitMix64) {
        self.random = random
    }

    /// Heading of the first street, in radians.
    mutating func firstHeading() -> Double {
        random.uniform(0...(2 * Double.pi))
    }

    /// The leg that begins at `start`.
    mutating func next(from start: Pose) -> Leg {
        legs += 1
        let mainRoad = random.chance(0.3)
        var leg = Leg(
            start: start,
            straight: mainRoad ? random.uniform(500...1100) : random.uniform(130...380),
            radius: 0, turn: 0,
            cruise: mainRoad ? random.uniform(19...25) : random.uniform(11...14.5),
            wait: 0)
        let corner = random.chance(0.7)
        leg.radius = corner ? random.uniform(9...14) : random.uniform(60...90)
        let angle = (corner ? random.uniform(82...98) : random.uniform(15...40)) * .pi / 180
        leg.turn = side(angle, of: leg)
        leg.wait = waitTime()
        guard legs > 1 else {
            // Someone who tries the simulator for half a minute should see it drive, not wait at a light.
            leg.straight = 420
            leg.cruise = 14
            leg.wait = 0
            return leg
        }
        return leg
    }

    /// Milliseconds to stand at the end of this leg: long at a car park, short at a light, usually 0.
    private mutating func waitTime() -> Int {
        let lightTurnsRed = random.chance(0.4)
        let light = random.uniform(6000...30_000)
        let park = random.uniform(160_000...320_000)
        if legs % Self.legsBetweenParks == 0 { return Int(park) }
        return lightTurnsRed ? Int(light) : 0
    }

    /// Right or left at random; near the edge of town, whichever leads back to the start.
    private mutating func side(_ angle: Double, of leg: Leg) -> Double {
        let coin = random.chance(0.5) ? angle : -angle
        let corner = leg.pose(at: leg.straight)
        guard hypot(corner.east, corner.north) > Self.homeRange else { return coin }
        let home = atan2(-corner.east, -corner.north)
        return cos(home - corner.heading - angle) > cos(home - corner.heading + angle) ? angle : -angle
    }
}
