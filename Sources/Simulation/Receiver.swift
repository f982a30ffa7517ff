package import Base
import Glibc

/// A GNSS receiver's view of a vehicle: position with slowly drifting errors, satellites, DOPs. Pure.
package struct Receiver: Sendable {
    /// Time constant of the position error in seconds: real errors drift, they do not jump.
    static let errorMemory = 40.0
    /// Metres of noise reported as one unit of HDOP: gpsd turns a unit into 19 m, roughly the 95 % circle.
    static let metersPerHDOP = 8.0
    /// Metres per second; below this a receiver cannot determine a direction.
    static let slowestWithTrack = 0.4
    /// EGM96 at the default start, in metres; correct to within a few metres all over central Europe.
    static let geoidSeparation = 39.7

    /// One satellite above the horizon.
    package struct Satellite: Equatable, Sendable {
        /// NMEA number of a GPS satellite, 1…32.
        package var number: Int
        /// Degrees above the horizon, 0…90.
        package var elevation: Int
        /// Degrees from true north, 0…359.
        package var azimuth: Int
        /// Signal-to-noise ratio in dBHz; nil when not tracked.
        package var signal: Int?
        /// Whether the position solution uses it.
        package var used: Bool
    }

    /// A position as the receiver reports it.
    package struct Fix: Equatable, Sendable {
        /// Degrees WGS-84, north positive.
        package var latitude: Double
        /// Degrees WGS-84, east positive.
        package var longitude: Double
        /// Metres above mean sea level.
        package var altitude: Double
        /// Metres from the ellipsoid up to mean sea level.
        package var geoidSeparation: Double
        /// Metres per second.
        package var speed: Double
        /// Degrees in [0, 360) from true north; nil when too slow to determine.
        package var track: Double?
        /// Horizontal and vertical dilution of precision.
        package var hdop: Double, vdop: Double
    }

    /// The receiver's output for one epoch.
    package struct Observation: Equatable, Sendable {
        /// Time of the measurement.
        package var time: Timestamp
        /// nil without satellite reception.
        package var fix: Fix?
        /// All satellites above the horizon.
        package var satellites: [Satellite]
    }

    private struct Orbit: Sendable {
        var number: Int
        var elevation: Double
        var azimuth: Double
        /// Degrees of azimuth per second.
        var drift: Double
    }

    private let origin: Position
    /// Standard deviation of the horizontal error, in metres.
    private let noise: Double
    private let orbits: [Orbit]
    private var random: SplitMix64
    /// Current error in metres.
    private var east = 0.0, north = 0.0, up = 0.0
    private var last: Timestamp?

    /// Creates a receiver for a vehicle whose positions are relative to `origin`.
    ///
    /// - Parameter noise: standard deviation of the horizontal error, in metres.
    package init(origin: Position, noise: Double, seed: UInt64) {
        self.origin = origin
        self.noise = noise
        // Independent of the route's random stream: the same seed drives the same streets whatever the noise.
        random = SplitMix64(seed: seed ^ 0x5EED_5A7E_1117_E500)
        orbits = Self.makeOrbits(&random)
    }

    private static func makeOrbits(_ random: inout SplitMix64) -> [Orbit] {
        let count = 9 + Int(random.uniform(0...6))
        var numbers = Array(1...32)
        return (0..<count).map { _ in
            Orbit(
                number: numbers.remove(at: Int(random.unit() * Double(numbers.count))),
                elevation: random.uniform(4...86),
                azimuth: random.uniform(0...360),
                drift: random.uniform(-0.008...0.008))
        }
    }

    /// The receiver's output for a vehicle in `state` at `time`. Times must increase from call to call.
    package mutating func observe(_ state: Vehicle.State, at time: Timestamp, elapsed: Double, sky: Bool)
        -> Observation
    {
        advanceError(to: time)
        let satellites = satellites(elapsed: elapsed, sky: sky)
        // Drawn in every epoch, with reception or without, so that losing it changes nothing afterwards.
        let speedError = 0.03 * random.gaussian()
        let trackError = random.gaussian()
        guard sky else { return Observation(time: time, fix: nil, satellites: satellites) }
        let speed = max(0, state.speed + speedError)
        let place = origin.moved(east: state.east + east, north: state.north + north)
        let hdop = (0.8 + 0.1 * sin(elapsed / 300)) * max(1, noise / Self.metersPerHDOP)
        let track = (state.heading + trackError * 0.8 / max(1, speed) + 360)
            .truncatingRemainder(dividingBy: 360)
        let fix = Fix(
            latitude: place.latitude, longitude: place.longitude,
            altitude: state.altitude + up, geoidSeparation: Self.geoidSeparation,
            speed: speed, track: speed < Self.slowestWithTrack ? nil : track,
            hdop: hdop, vdop: hdop * 1.4)
        return Observation(time: time, fix: fix, satellites: satellites)
    }

    /// Evolves the error as a first-order Gauss-Markov process; the vertical error is 1.5 times as large.
    private mutating func advanceError(to time: Timestamp) {
        let deviation = noise / 2.0.squareRoot()
        let draw = (random.gaussian(), random.gaussian(), random.gaussian())
        let passed = last.map { Double(time.milliseconds - $0.milliseconds) / 1000 }
        last = time
        // The first epoch draws from the full distribution, since there is no previous error.
        let kept = passed.map { exp(-$0 / Self.errorMemory) } ?? 0
        let fresh = (1 - kept * kept).squareRoot() * deviation
        east = kept * east + fresh * draw.0
        north = kept * north + fresh * draw.1
        up = kept * up + 1.5 * fresh * draw.2
    }

    private mutating func satellites(elapsed: Double, sky: Bool) -> [Satellite] {
        orbits.map { orbit in
            let azimuth = (orbit.azimuth + orbit.drift * elapsed + 720).truncatingRemainder(dividingBy: 360)
            let signal = 27 + orbit.elevation / 5 + 2 * random.gaussian()
            return Satellite(
                number: orbit.number, elevation: Int(orbit.elevation), azimuth: Int(azimuth + 360) % 360,
                signal: sky ? Int(min(max(signal, 12), 55)) : nil,
                used: sky && orbit.elevation >= 10)
        }
    }
}
