package import Base
import Glibc

/// A scripted drive as a receiver sees it, one observation a second, for journeys too long to run in real time. Pure:
/// the same stretches and seed yield the same observations.
package struct Journey: Sendable {
    /// What the vehicle does for a while.
    package enum Stretch: Sendable {
        /// Stands still, while position errors drift.
        case stand(seconds: Int)
        /// Changes to a speed in metres per second and keeps it, turning by `turn` degrees a second.
        case go(seconds: Int, speed: Double, turn: Double = 0)
        /// Goes on at a speed, without satellite reception.
        case unseen(seconds: Int, speed: Double)

        var seconds: Int {
            switch self {
            case .stand(let seconds), .go(let seconds, _, _), .unseen(let seconds, _): seconds
            }
        }

        /// Metres per second.
        var speed: Double {
            switch self {
            case .stand: 0
            case .go(_, let speed, _), .unseen(_, let speed): speed
            }
        }
    }

    /// Acceleration and braking, in metres per second squared.
    private static let acceleration = 1.8

    private let stretches: [Stretch]
    private let start: Timestamp
    private var receiver: Receiver
    private var vehicle = Vehicle.State(east: 0, north: 0, altitude: 40, speed: 0, heading: 30)
    private var second = 0
    private var index = 0
    private var spent = 0

    /// - Parameter noise: standard deviation of the horizontal error, in metres.
    package init(_ stretches: [Stretch], start: Timestamp, origin: Position, noise: Double, seed: UInt64) {
        self.stretches = stretches.filter { $0.seconds > 0 }
        self.start = start
        receiver = Receiver(origin: origin, noise: noise, seed: seed)
    }

    /// The observation for the next second, and what the vehicle actually did; nil when the journey is over.
    package mutating func next() -> (seen: Receiver.Observation, truth: Vehicle.State)? {
        guard index < stretches.count else { return nil }
        let stretch = stretches[index]
        var isSeen = true
        if case .unseen = stretch { isSeen = false }
        if case .go(_, _, let turn) = stretch {
            vehicle.heading = (vehicle.heading + turn + 360).truncatingRemainder(dividingBy: 360)
        }
        let change = stretch.speed - vehicle.speed
        vehicle.speed += min(max(change, -Self.acceleration), Self.acceleration)
        let heading = vehicle.heading * .pi / 180
        vehicle.east += vehicle.speed * sin(heading)
        vehicle.north += vehicle.speed * cos(heading)
        let time = Timestamp(milliseconds: start.milliseconds + Int64(second) * 1000)
        let seen = receiver.observe(vehicle, at: time, elapsed: Double(second), sky: isSeen)
        second += 1
        spent += 1
        if spent == stretch.seconds { (index, spent) = (index + 1, 0) }
        return (seen, vehicle)
    }
}
