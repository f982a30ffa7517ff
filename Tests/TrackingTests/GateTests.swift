import Base
import Support
import Testing

@testable import Tracking

private let thresholds = Gate.Thresholds(interval: 30, distance: 100)

private func gate(_ thresholds: Gate.Thresholds, bearing: Double? = nil) -> Gate {
    var gate = Gate(thresholds: thresholds)
    gate.admitted(fix(at: 0, bearing: bearing))
    return gate
}

@Test("the first fix of a session passes, whatever the thresholds")
func firstFixPasses() {
    let gate = Gate(thresholds: Gate.Thresholds(interval: 1e6, distance: 1e6))
    #expect(gate.decide(fix(at: 0)) == .admit(.interval))
}

@Test(
    "the gate needs both interval and distance",
    arguments: [
        (after: 29.0, north: 500.0, expected: .drop(.tooSoon)),
        (after: 31.0, north: 50.0, expected: .drop(.tooNear)),
        (after: 31.0, north: 101.0, expected: .admit(.interval)),
        (after: 29.0, north: 50.0, expected: .drop(.tooSoon)),
        (after: 30.0, north: 100.5, expected: .admit(.interval)),
        (after: 30.0, north: 99.5, expected: .drop(.tooNear)),
        // An epoch that jitters by up to 50 ms is still on time.
        (after: 29.951, north: 101.0, expected: .admit(.interval)),
        (after: 29.95, north: 101.0, expected: .admit(.interval)),
        (after: 29.949, north: 101.0, expected: .drop(.tooSoon)),
        // Within a run of instants nothing is earlier; if something were, it would have to wait.
        (after: -0.001, north: 500.0, expected: .drop(.tooSoon)),
        (after: 0.0, north: 500.0, expected: .drop(.tooSoon)),
    ] as [(after: Double, north: Double, expected: Gate.Verdict)])
func gateNeedsBoth(after: Double, north: Double, expected: Gate.Verdict) {
    #expect(gate(thresholds).decide(fix(at: after, north: north)) == expected)
}

@Test(
    "the first fix of a new run of instants passes, and the next is compared with it", arguments: [-1e9, 0.5])
func gateOpensAtANewRun(after: Double) {
    var gate = gate(thresholds)
    gate.rearm()
    let first = fix(at: after)
    #expect(gate.decide(first) == .admit(.interval))
    #expect(gate.decide(first) == .admit(.interval), "nothing is recorded yet")
    gate.admitted(first)
    #expect(gate.decide(fix(at: after + 1, north: 500)) == .drop(.tooSoon))
}

@Test(
    "zero switches a side off",
    arguments: [
        (interval: 0.0, distance: 100.0, after: 1.0, north: 101.0, expected: .admit(.interval)),
        (interval: 0.0, distance: 100.0, after: 1000.0, north: 99.0, expected: .drop(.tooNear)),
        (interval: 30.0, distance: 0.0, after: 30.0, north: 0.0, expected: .admit(.interval)),
        (interval: 30.0, distance: 0.0, after: 29.0, north: 1e5, expected: .drop(.tooSoon)),
        (interval: 0.0, distance: 0.0, after: 0.1, north: 0.0, expected: .admit(.interval)),
    ] as [(interval: Double, distance: Double, after: Double, north: Double, expected: Gate.Verdict)])
func gateSideOff(interval: Double, distance: Double, after: Double, north: Double, expected: Gate.Verdict) {
    let thresholds = Gate.Thresholds(interval: interval, distance: distance)
    #expect(gate(thresholds).decide(fix(at: after, north: north)) == expected)
}

@Test(
    "a turn admits as well, at speed",
    arguments: [
        (from: 10.0, to: 55.0, speed: 2.0, expected: .admit(.interval)),
        (from: 10.0, to: 54.9, speed: 20.0, expected: .drop(.tooSoon)),
        (from: 10.0, to: 90.0, speed: 1.99, expected: .drop(.tooSoon)),
        (from: 10.0, to: 90.0, speed: nil, expected: .drop(.tooSoon)),
        (from: 350.0, to: 30.0, speed: 20.0, expected: .drop(.tooSoon)),
        (from: 350.0, to: 35.0, speed: 20.0, expected: .admit(.interval)),
        (from: 30.0, to: 345.0, speed: 20.0, expected: .admit(.interval)),
        (from: nil, to: 90.0, speed: 20.0, expected: .drop(.tooSoon)),
        (from: 10.0, to: nil, speed: 20.0, expected: .drop(.tooSoon)),
    ] as [(from: Double?, to: Double?, speed: Double?, expected: Gate.Verdict)])
func gateTurn(from: Double?, to: Double?, speed: Double?, expected: Gate.Verdict) {
    let gate = gate(Gate.Thresholds(interval: 30, distance: 100, angle: 45), bearing: from)
    #expect(gate.decide(fix(at: 1, speed: speed, bearing: to)) == expected)
}

@Test("a turn admits nothing when the angle is 0")
func gateTurnOff() {
    let gate = gate(thresholds, bearing: 0)
    #expect(gate.decide(fix(at: 1, speed: 20, bearing: 180)) == .drop(.tooSoon))
}

@Test("a restart restores the last admitted fix")
func gateRestart() {
    var before = Gate(thresholds: thresholds)
    before.admitted(fix(at: 0))
    let after = Gate(thresholds: thresholds, last: before.last)
    #expect(after.decide(fix(at: 29, north: 500)) == .drop(.tooSoon))
    #expect(after.decide(fix(at: 30, north: 500)) == .admit(.interval))
}

@Test("changed thresholds take effect with the next fix")
func gateThresholdsChange() {
    var gate = gate(thresholds)
    #expect(gate.decide(fix(at: 10, north: 200)) == .drop(.tooSoon))
    gate.thresholds.interval = 10
    #expect(gate.decide(fix(at: 10, north: 200)) == .admit(.interval))
}

/// The rule of the gate again, stated as plainly as possible.
private func naive(_ fix: Fix, last: Fix?, _ thresholds: Gate.Thresholds) -> Bool {
    guard let last else { return true }
    let milliseconds = fix.time.milliseconds - last.time.milliseconds
    if milliseconds < 0 { return true }
    if thresholds.angle > 0, let speed = fix.speed, speed >= 2, let old = last.bearing, let new = fix.bearing
    {
        var turn = (new - old).magnitude
        if turn > 180 { turn = 360 - turn }
        if turn >= thresholds.angle { return true }
    }
    let isLate = thresholds.interval == 0 || Double(milliseconds) >= thresholds.interval * 1000 - 50
    let isFar =
        thresholds.distance == 0 || last.coordinate.distance(to: fix.coordinate) >= thresholds.distance
    return isLate && isFar
}

@Test("random walks are gated according to the plain rule", arguments: 1...20 as ClosedRange<UInt64>)
func gateAgainstNaive(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let thresholds = Gate.Thresholds(
        interval: [0, 1, 10, 30].randomElement(using: &random) ?? 0,
        distance: [0, 5, 50, 100].randomElement(using: &random) ?? 0,
        angle: [0, 15, 90].randomElement(using: &random) ?? 0)
    var gate = Gate(thresholds: thresholds)
    var last: Fix?
    var (time, north, east) = (0.0, 0.0, 0.0)
    for step in 0..<1000 {
        time += Double(Int.random(in: 0...20, using: &random)) / 10
        if Int.random(in: 0..<100, using: &random) == 0 {
            time -= 5
            gate.rearm()
            last = nil
        }
        north += Double.random(in: -15...20, using: &random)
        east += Double.random(in: -15...20, using: &random)
        let next = fix(
            at: time, north: north, east: east,
            speed: Bool.random(using: &random) ? .random(in: 0...5, using: &random) : nil,
            bearing: Bool.random(using: &random) ? .random(in: 0..<360, using: &random) : nil)
        let isAdmitted = naive(next, last: last, thresholds)
        try #require((gate.decide(next) == .admit(.interval)) == isAdmitted, "seed \(seed), step \(step)")
        if isAdmitted {
            gate.admitted(next)
            last = next
        }
        // An occasional restart must not change anything.
        if step % 97 == 0 { gate = Gate(thresholds: thresholds, last: gate.last) }
    }
}

@Test(
    "the smaller angle between two bearings",
    arguments: [(0, 0, 0), (10, 350, 20), (350, 10, 20), (0, 180, 180), (90, 300, 150), (359.5, 0.5, 1)]
        as [(Double, Double, Double)])
func angleBetweenBearings(first: Double, second: Double, expected: Double) {
    #expect(angle(between: first, and: second) == expected)
}
