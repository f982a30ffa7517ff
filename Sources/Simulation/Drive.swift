/// A whole drive: vehicle, receiver and sentences, epoch by epoch. Pure: the same scenario gives the same
/// bytes.
public struct Drive: Sendable {
    /// A stretch of the drive, seconds since its start: `from` belongs to it, `to` does not.
    public struct Window: Equatable, Sendable {
        /// First second inside.
        public var from: Double
        /// First second outside again.
        public var to: Double

        /// The stretch from one second to another; nil unless 0 ≤ from < to.
        public init?(from: Double, to: Double) {
            guard from >= 0, from < to, to.isFinite else { return nil }
            self.from = from
            self.to = to
        }

        func contains(_ second: Double) -> Bool { from <= second && second < to }
    }

    /// Everything that decides what the drive looks like.
    public struct Scenario: Sendable {
        /// The time of the first epoch.
        public var start: Timestamp
        /// Where the drive begins.
        public var origin: Coordinate
        /// Epochs per second, 1…10.
        public var rate: Int
        /// Chooses the route, the satellites and the errors.
        public var seed: UInt64
        /// Standard deviation of the horizontal error, metres.
        public var noise: Double = 1.5
        /// When no satellite is received.
        public var lostSky: [Window] = []
        /// When the vehicle stops where it is and stays.
        public var parks: [Window] = []
        /// The vehicle never moves at all.
        public var parked = false
        /// Who the sentences say they come from.
        public var talker = NMEA.Talker.gp
        /// Fixes are marked as simulated.
        public var marked = false

        /// A scenario without anything special in it.
        public init(start: Timestamp, origin: Coordinate, rate: Int, seed: UInt64) {
            self.start = start
            self.origin = origin
            self.rate = rate
            self.seed = seed
        }
    }

    /// One measurement instant, ready to send.
    public struct Epoch: Sendable {
        /// Milliseconds since the start of the drive.
        public var elapsed: Int
        /// The sentences, each with its line end.
        public var sentences: [String]
        /// What the vehicle really did.
        public var truth: Vehicle.State
        /// What the receiver made of it.
        public var seen: Receiver.Observation
    }

    private let scenario: Scenario
    private let nmea: NMEA
    private var vehicle: Vehicle
    private var receiver: Receiver
    private var count = 0

    /// The drive of a scenario, before its first epoch.
    public init(_ scenario: Scenario) {
        self.scenario = scenario
        nmea = NMEA(talker: scenario.talker, simulated: scenario.marked)
        vehicle = Vehicle(seed: scenario.seed)
        receiver = Receiver(origin: scenario.origin, noise: scenario.noise, seed: scenario.seed)
    }

    /// Milliseconds from the start to the epoch that `next` gives.
    public var nextElapsed: Int { Self.elapsed(count, rate: scenario.rate) }

    /// The next epoch.
    public mutating func next() -> Epoch {
        let elapsed = nextElapsed
        let before = count == 0 ? 0 : Self.elapsed(count - 1, rate: scenario.rate)
        for millisecond in before..<elapsed {
            let second = Double(millisecond) / 1000
            let held = scenario.parked || scenario.parks.contains { $0.contains(second) }
            vehicle.advance(milliseconds: 1, held: held)
        }
        let second = Double(elapsed) / 1000
        let time = Timestamp(unixMilliseconds: scenario.start.unixMilliseconds + Int64(elapsed))
        let sky = !scenario.lostSky.contains { $0.contains(second) }
        let seen = receiver.observe(vehicle.state, at: time, elapsed: second, sky: sky)
        // Satellites creep: once a second is what receivers do, and a serial line at 10 Hz could not carry
        // more.
        let sentences = nmea.sentences(seen, withSatellites: count % scenario.rate == 0)
        count += 1
        return Epoch(elapsed: elapsed, sentences: sentences, truth: vehicle.state, seen: seen)
    }

    private static func elapsed(_ count: Int, rate: Int) -> Int { count * 1000 / rate }
}
