import Glibc

/// A car on an endless route: accelerates, brakes for corners, waits at lights, parks. Pure: elapsed time is an
/// argument.
package struct Vehicle: Sendable {
    /// Comfortable braking, in metres per second squared.
    static let braking = 2.0
    /// Maximum braking when told to stop at once, in metres per second squared.
    static let hardBraking = 2.5
    /// Acceleration from standstill, in metres per second squared; it decreases linearly to zero at `fadeSpeed`.
    static let acceleration = 2.0
    /// The speed at which acceleration reaches zero, in metres per second.
    static let fadeSpeed = 45.0
    /// Lateral acceleration in curves, in metres per second squared.
    static let lateralAcceleration = 1.8
    /// A stop counts as reached within this many metres: small enough for the last step not to be a jolt.
    static let stopTolerance = 0.002

    /// Position and movement of the vehicle.
    package struct State: Equatable, Sendable {
        /// Metres east of the start of the drive.
        package var east: Double
        /// Metres north of the start of the drive.
        package var north: Double
        /// Metres above mean sea level.
        package var altitude: Double
        /// Metres per second, never negative.
        package var speed: Double
        /// Direction of travel in degrees, [0, 360) clockwise from true north; kept while standing.
        package var heading: Double
    }

    private var route: StreetRoute
    private var leg: Leg
    /// Metres driven on this leg.
    private var along = 0.0
    /// Metres per second.
    private var speed = 0.0
    /// Milliseconds left to stand.
    private var standing = 0
    private var stoppedOnThisLeg = false

    /// Creates a vehicle at rest at the start of the route for `seed`.
    package init(seed: UInt64) {
        var route = StreetRoute(random: SplitMix64(seed: seed))
        let heading = route.firstHeading()
        leg = route.next(from: Pose(east: 0, north: 0, heading: heading))
        self.route = route
    }

    package var state: State {
        let pose = leg.pose(at: along)
        let degrees = (pose.heading * 180 / .pi).truncatingRemainder(dividingBy: 360)
        return State(
            east: pose.east, north: pose.north,
            altitude: Self.altitude(east: pose.east, north: pose.north),
            speed: speed,
            heading: degrees < 0 ? degrees + 360 : degrees)
    }

    /// Advances the simulation. With `held` the vehicle brakes to a halt and stays there.
    ///
    /// The model always advances in steps of one millisecond, so the drive is the same whatever the epoch rate.
    package mutating func advance(milliseconds: Int, held: Bool = false) {
        for _ in 0..<max(0, milliseconds) {
            step(held: held)
        }
    }

    private mutating func step(held: Bool) {
        let seconds = 0.001
        guard standing == 0 else {
            standing -= 1
            return
        }
        let wanted = held ? 0 : wantedSpeed
        let gain = Self.acceleration * max(0, 1 - speed / Self.fadeSpeed)
        speed = max(0, min(max(wanted, speed - Self.hardBraking * seconds), speed + gain * seconds))
        along += speed * seconds
        if leg.wait > 0, !stoppedOnThisLeg, leg.straight - along <= Self.stopTolerance {
            stoppedOnThisLeg = true
            standing = leg.wait
            speed = 0
        } else if along >= leg.length {
            // Start from the exact end of the old leg, so that no distance is gained or lost.
            let end = leg.pose(at: leg.length)
            along -= leg.length
            leg = route.next(from: end)
            stoppedOnThisLeg = false
        }
    }

    /// The highest speed that still allows braking in time for the end of the straight.
    private var wantedSpeed: Double {
        guard along < leg.straight, !stoppedOnThisLeg else { return leg.curveSpeed }
        let atEnd = leg.wait > 0 ? 0 : leg.curveSpeed
        let brakeable = sqrt(atEnd * atEnd + 2 * Self.braking * (leg.straight - along))
        return min(leg.cruise, brakeable)
    }

    /// Rolling hills, as a function of position: the same street always has the same altitude.
    private static func altitude(east: Double, north: Double) -> Double {
        42 + 9 * sin(east / 410) + 6 * sin(north / 290 + 1) + 3 * sin((east + north) / 170)
    }
}
