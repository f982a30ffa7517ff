internal import Base
internal import Glibc
internal import Simulation
internal import Tracking

/// An hour of driving as the daemon stores it: what the gate and the detection of motion make of a receiver's fixes, one a
/// second. A vehicle drives it again and again.
struct Road: Sendable {
    /// Seconds.
    static let length = 3600

    /// What is stored, in order. Times count from 1970.
    let rows: [Location]
    /// How many of them are stored before the end of each second.
    private let counts: [Int32]

    /// - Parameters:
    ///   - pace: 0 is a round of deliveries with many stops, 1 a motorway.
    ///   - id: any; those of the rows are minted when they are sent.
    init(pace: Double, id: UUIDv7, using random: inout SplitMix64) {
        var journey = Journey(
            Self.stretches(pace: pace, using: &random), start: Timestamp(milliseconds: 0),
            origin: Position(latitude: 52.5163, longitude: 13.3777), noise: 1.5, seed: random.next())
        var admission = Admission(thresholds: .init(gate: .init(interval: 30, distance: 100)))
        var (rows, counts): ([Location], [Int32]) = ([], [])
        for _ in 0..<Self.length {
            if let seen = journey.next()?.seen, let fix = Fix(seen) {
                let observed = admission.observe(fix)
                if case .admit(let trigger) = admission.decide(observed) {
                    rows.append(
                        Location(
                            id: id, session: nil, fix: fix, trigger: trigger, motion: observed.motion,
                            quality: observed.quality))
                }
            }
            counts.append(Int32(rows.count))
        }
        (self.rows, self.counts) = (rows, counts)
    }

    /// Legs between stops, of which some are long enough to park.
    private static func stretches(pace: Double, using random: inout SplitMix64) -> [Journey.Stretch] {
        var stretches: [Journey.Stretch] = []
        var seconds = 0
        while seconds < length {
            let drive = Int(random.uniform(40...180) * (1 + 9 * pace))
            let speed = random.uniform(9...14) + 13 * pace
            let stop =
                random.chance(0.3) ? random.uniform(120...300) * (1 - 0.7 * pace) : random.uniform(5...45)
            stretches += [
                .go(seconds: drive, speed: speed, turn: random.uniform(-0.4...0.4)),
                .stand(seconds: Int(stop)),
            ]
            seconds += drive + Int(stop)
        }
        return stretches
    }

    /// How many rows are stored in the first `seconds` of driving it.
    func count(upTo seconds: Double) -> Int {
        let second = Int(max(seconds, 0))
        let (rounds, rest) = second.quotientAndRemainder(dividingBy: Self.length)
        return rounds * rows.count + (rest > 0 ? Int(counts[rest - 1]) : 0)
    }

    /// The row of this number, counted over all rounds, and seconds from the start of the first to it.
    func row(_ number: Int) -> (location: Location, seconds: Double)? {
        guard !rows.isEmpty, number >= 0 else { return nil }
        let (round, rest) = number.quotientAndRemainder(dividingBy: rows.count)
        let location = rows[rest]
        return (location, Double(round * Self.length) + Double(location.fix.time.milliseconds) / 1000)
    }
}

extension Fix {
    /// What gpsd would make of it; nil without a position.
    fileprivate init?(_ seen: Receiver.Observation) {
        guard let fix = seen.fix,
            let coordinate = Coordinate(
                latitude: (fix.latitude * 1e9).rounded() / 1e9,
                longitude: (fix.longitude * 1e9).rounded() / 1e9)
        else { return nil }
        self.init(
            time: seen.time, mode: 3, coordinate: coordinate, accuracy: (fix.hdop * 19 * 1e3).rounded() / 1e3,
            speed: (fix.speed * 1e3).rounded() / 1e3, bearing: fix.track.map { ($0 * 1e4).rounded() / 1e4 },
            altitude: ((fix.altitude + fix.geoidSeparation) * 1e3).rounded() / 1e3)
    }
}
