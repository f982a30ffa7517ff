import Base
import Simulation
import Support
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// A simulated journey, and the expected result with default thresholds.
private struct Ride: CustomTestStringConvertible, Sendable {
    var name: String
    var noise = 1.5
    var stretches: [Journey.Stretch]
    /// How often it stands long enough to become stationary.
    var parkings: Int
    /// Number of stops and departures, each of which must be stored.
    var turningPoints: Int

    var testDescription: String { name }
}

private let block: [Journey.Stretch] = [
    .go(seconds: 25, speed: 13), .stand(seconds: 20), .go(seconds: 10, speed: 4, turn: 9),
    .go(seconds: 40, speed: 14), .stand(seconds: 45),
]

private let rides = [
    Ride(
        name: "city stop-and-go",
        stretches: [.stand(seconds: 200)] + (0..<12).flatMap { _ in block } + [.stand(seconds: 600)],
        parkings: 2, turningPoints: 3),
    Ride(
        name: "motorway",
        stretches: [
            .stand(seconds: 150), .go(seconds: 60, speed: 14), .go(seconds: 1800, speed: 36),
            .go(seconds: 60, speed: 10),
            .stand(seconds: 300), .go(seconds: 600, speed: 33), .stand(seconds: 200),
        ], parkings: 3, turningPoints: 5),
    Ride(
        name: "parked overnight", noise: 5,
        stretches: [.go(seconds: 60, speed: 12), .stand(seconds: 43_200), .go(seconds: 60, speed: 12)],
        parkings: 1, turningPoints: 2),
    Ride(
        name: "tunnel",
        stretches: [
            .stand(seconds: 150), .go(seconds: 120, speed: 22), .unseen(seconds: 90, speed: 22),
            .go(seconds: 120, speed: 22), .stand(seconds: 150),
        ], parkings: 2, turningPoints: 3),
    Ride(
        name: "ferry",
        stretches: [
            .go(seconds: 30, speed: 4), .stand(seconds: 900), .go(seconds: 2400, speed: 6.5),
            .stand(seconds: 300),
            .go(seconds: 60, speed: 12),
        ], parkings: 2, turningPoints: 4),
    Ride(
        name: "walk", noise: 3,
        stretches: [
            .stand(seconds: 180), .go(seconds: 900, speed: 1.4), .stand(seconds: 40),
            .go(seconds: 600, speed: 1.5, turn: 0.1),
            .stand(seconds: 240),
        ], parkings: 2, turningPoints: 3),
]

/// As gpsd would report it: 19 m of accuracy per unit of HDOP.
private func fix(_ seen: Receiver.Observation) -> Fix? {
    guard let fix = seen.fix,
        let place = Coordinate(latitude: fix.latitude, longitude: fix.longitude)
    else { return nil }
    return Fix(
        time: seen.time, mode: 3, coordinate: place,
        accuracy: fix.hdop * 19, speed: fix.speed, bearing: fix.track)
}

/// The result of a ride.
private struct Outcome {
    var stored = 0
    var motions = 0
    var checkIns = 0
    /// Number of fixes stored after it had been standing long enough to be stationary.
    var whileParked: [Trigger] = []
    /// Seconds from the first movement after a stop to its stored fix, if that is more than 30 or another trigger
    /// came first.
    var lateStarts: [Double] = []
}

private func outcome(_ ride: Ride, _ whileStationary: Admission.WhileStationary, seed: UInt64) -> Outcome {
    var journey = Journey(
        ride.stretches, start: Timestamp(milliseconds: start),
        origin: Position(latitude: 52.5163, longitude: 13.3777), noise: ride.noise, seed: seed)
    var admission = Admission(
        thresholds: Admission.Thresholds(
            gate: Gate.Thresholds(interval: 30, distance: 100), whileStationary: whileStationary))
    var outcome = Outcome()
    var (standing, second) = (0, 0)
    var begun: Int?
    while let (seen, truth) = journey.next() {
        second += 1
        let hasParked = admission.motion == .stationary
        if truth.speed > 0, hasParked, begun == nil { begun = second }
        standing = truth.speed == 0 ? standing + 1 : 0
        guard let fix = fix(seen) else { continue }
        let observed = admission.observe(fix)
        guard case .admit(let trigger) = admission.decide(observed) else { continue }
        outcome.stored += 1
        outcome.motions += trigger == .motion ? 1 : 0
        outcome.checkIns += trigger == .checkIn ? 1 : 0
        if standing > 125 { outcome.whileParked.append(trigger) }
        if let start = begun, observed.motion == .moving {
            if trigger != .motion || second - start > 30 { outcome.lateStarts.append(Double(second - start)) }
            begun = nil
        }
    }
    if let begun { outcome.lateStarts.append(Double(second - begun)) }
    return outcome
}

@Test("drives: a parked vehicle is silent, and no start is lost", arguments: rides)
private func ride(ride: Ride) {
    let seed = testSeed(11)
    let quiet = outcome(ride, .nothing, seed: seed)
    #expect(quiet.motions == ride.turningPoints, "seed \(seed)")
    #expect(quiet.lateStarts == [], "seed \(seed)")
    #expect(quiet.whileParked.allSatisfy { $0 == .motion }, "\(quiet.whileParked), seed \(seed)")
    #expect(quiet.whileParked.count <= ride.parkings, "seed \(seed)")
    let checking = outcome(ride, .checkIns(every: 900), seed: seed)
    #expect(checking.whileParked.allSatisfy { $0 == .motion || $0 == .checkIn }, "seed \(seed)")
    #expect(checking.stored == quiet.stored + checking.checkIns, "seed \(seed)")
    let seconds = ride.stretches.reduce(0) { total, stretch in
        guard case .stand(let seconds) = stretch else { return total }
        return total + seconds
    }
    #expect(checking.checkIns <= seconds / 900, "seed \(seed)")
    let open = outcome(ride, .gate, seed: seed)
    print(
        "\(ride.name): stored \(quiet.stored) (\(quiet.motions) of them motion), with check-ins \(checking.stored), "
            + "keep_tracking \(open.stored)")
}
