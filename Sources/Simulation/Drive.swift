package import Base

/// A whole drive, epoch by epoch: vehicle, receiver and sentences. Pure: the same scenario yields the same bytes.
package struct Drive: Sendable {
    /// A period in seconds since the start of the drive: `from` is included, `to` is not.
    package struct Window: Equatable, Sendable {
        package var from: Double
        package var to: Double

        /// nil unless 0 ≤ from < to.
        package init?(from: Double, to: Double) {
            guard from >= 0, from < to, to.isFinite else { return nil }
            self.from = from
            self.to = to
        }

        func contains(_ second: Double) -> Bool { from <= second && second < to }
    }

    /// Everything that determines the drive.
    package struct Scenario: Sendable {
        /// Time of the first epoch.
        package var start: Timestamp
        package var origin: Position
        /// Epochs per second, 1…10.
        package var rate: Int
        /// Determines the route, the satellites and the errors.
        package var seed: UInt64
        /// Standard deviation of the horizontal error, in metres.
        package var noise: Double = 1.5
        /// When no satellite is received.
        package var lostSky: [Window] = []
        /// When the vehicle stops and stands.
        package var parks: [Window] = []
        /// Whether the vehicle never moves at all.
        package var parked = false
        /// Talker ID of the position sentences.
        package var talker = NMEA.Talker.gp
        /// Whether fixes are marked as simulated.
        package var marked = false

        /// A scenario with default noise and no special events.
        package init(start: Timestamp, origin: Position, rate: Int, seed: UInt64) {
            self.start = start
            self.origin = origin
            self.rate = rate
            self.seed = seed
        }
    }

    /// One measurement instant, ready to send.
    package struct Epoch: Sendable {
        /// Milliseconds since the start of the drive.
        package var elapsed: Int
        /// The sentences, including line ends.
        package var sentences: [String]
        /// What the vehicle actually did.
        package var truth: Vehicle.State
        /// What the receiver observed.
        package var seen: Receiver.Observation
    }

    private let scenario: Scenario
    private let nmea: NMEA
    private var vehicle: Vehicle
    private var receiver: Receiver
    private var count = 0

    package init(_ scenario: Scenario) {
        self.scenario = scenario
        nmea = NMEA(talker: scenario.talker, simulated: scenario.marked)
        vehicle = Vehicle(seed: scenario.seed)
        receiver = Receiver(origin: scenario.origin, noise: scenario.noise, seed: scenario.seed)
    }

    /// Milliseconds from the start to the epoch that `next` will return.
    package var nextElapsed: Int { Self.elapsed(count, rate: scenario.rate) }

    package mutating func next() -> Epoch {
        let elapsed = nextElapsed
        let before = count == 0 ? 0 : Self.elapsed(count - 1, rate: scenario.rate)
        for millisecond in before..<elapsed {
            let second = Double(millisecond) / 1000
            let held = scenario.parked || scenario.parks.contains { $0.contains(second) }
            vehicle.advance(milliseconds: 1, held: held)
        }
        let second = Double(elapsed) / 1000
        let time = Timestamp(milliseconds: scenario.start.milliseconds + Int64(elapsed))
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
