import Base
import Simulation

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// Makes fixes of where a vehicle truly is, with the errors of one kind of place. Position errors drift, as a
/// first-order Gauss-Markov process does.
struct NoisyReceiver {
    struct Place: Sendable {
        /// Metres, standard deviation on each axis.
        var deviation: Double
        /// Seconds over which position errors drift.
        var memory: Double
        /// Metres, as reported.
        var accuracy: Double
        /// Metres per second, standard deviation on each axis: a speed is never negative, so noise adds to it.
        var speedDeviation: Double
        var hasSpeed = true
        /// Share of fixes that a reflection moves by 40 to 300 metres.
        var jumps = 0.0

        static let open = Place(deviation: 1.1, memory: 40, accuracy: 4, speedDeviation: 0.03)
        static let suburb = Place(deviation: 3, memory: 20, accuracy: 9, speedDeviation: 0.08)
        static let city = Place(deviation: 9, memory: 10, accuracy: 22, speedDeviation: 0.2, jumps: 0.002)
    }

    var place: Place
    private var random: SplitMix64
    private var east = 0.0
    private var north = 0.0
    private var last: Double?

    init(_ place: Place, seed: UInt64) {
        self.place = place
        random = SplitMix64(seed: seed)
    }

    /// The fix `second` seconds after `start`, of a vehicle `north` and `east` metres from a place in Berlin.
    mutating func fix(at second: Double, north trueNorth: Double, east trueEast: Double, speed: Double) -> Fix
    {
        let kept = last.map { exp(-(second - $0) / place.memory) } ?? 0
        let fresh = (1 - kept * kept).squareRoot() * place.deviation
        last = second
        east = kept * east + fresh * random.gaussian()
        north = kept * north + fresh * random.gaussian()
        let jump = random.chance(place.jumps) ? random.uniform(40...300) : 0
        let along = speed + place.speedDeviation * random.gaussian()
        let across = place.speedDeviation * random.gaussian()
        var fix = TrackingTests.fix(
            at: second, north: trueNorth + north + jump, east: trueEast + east,
            speed: place.hasSpeed ? (along * along + across * across).squareRoot() : nil)
        fix.accuracy = place.accuracy
        return fix
    }
}
