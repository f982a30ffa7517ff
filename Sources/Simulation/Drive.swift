/// A whole drive, epoch by epoch: vehicle, receiver and sentences. Pure: the same scenario yields the same bytes.
public struct Drive: Sendable {
    /// A period in seconds since the start of the drive: `from` is included, `to` is not.
    public struct Window: Equatable, Sendable {
        /// Start of the period.
        public var from: Double
        /// End of the period, exclusive.
        public var to: Double

        /// nil unless 0 ≤ from < to.
        public init?(from: Double, to: Double) {
            guard from >= 0, from < to, to.isFinite else { return nil }
            self.from = from
            self.to = to
        }

        func contains(_ second: Double) -> Bool { from <= second && second < to }
    }

    /// Everything that determines the drive.
    public struct Scenario: Sendable {
        /// Time of the first epoch.
        public var start: Timestamp
        /// Start of the drive.
        public var origin: Coordinate
        /// Epochs per second, 1…10.
        public var rate: Int
        /// Determines the route, the satellites and the errors.
        public var seed: UInt64
        /// Standard deviation of the horizontal error, in metres.
        public var noise: Double = 1.5
        /// When no satellite is received.
        public var lostSky: [Window] = []
        /// When the vehicle stops and stands.
        public var parks: [Window] = []
        /// Whether the vehicle never moves at all.
        public var parked = false
        /// Talker ID of the position sentences.
        public var talker = NMEA.Talker.gp
        /// Whether fixes are marked as simulated.
        public var marked = false

        /// A scenario with default noise and no special events.
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
        /// The sentences, including line ends.
        public var sentences: [String]
        /// What the vehicle actually did.
        public var truth: Vehicle.State
        /// What the receiver observed.
        public var seen: Receiver.Observation
    }

    private let scenario: Scenario
    private let nmea: NMEA
    private var vehicle: Vehicle
    private var receiver: Receiver
    private var count = 0

    /// Creates the drive of a scenario, before its first epoch.
    public init(_ scenario: Scenario) {
        self.scenario = scenario
        nmea = NMEA(talker: scenario.talker, simulated: scenario.marked)
        vehicle = Vehicle(seed: scenario.seed)
        receiver = Receiver(origin: scenario.origin, noise: scenario.noise, seed: scenario.seed)
    }

    /// Milliseconds from the start to the epoch that `next` will return.
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
        // Satellites move slowly: receivers report them once a second, and a serial line could not carry more at 10
        // Hz.
        let sentences = nmea.sentences(seen, withSatellites: count % scenario.rate == 0)
        count += 1
        return Epoch(elapsed: elapsed, sentences: sentences, truth: vehicle.state, seen: seen)
    }

    private static func elapsed(_ count: Int, rate: Int) -> Int { count * 1000 / rate }
}
