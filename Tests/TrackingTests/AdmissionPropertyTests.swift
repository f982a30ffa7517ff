import Base
import Support
import Testing

@testable import Tracking

/// A vehicle that parks, creeps, drives, is towed and stops reporting speeds, with time steps of every kind.
private struct Wanderer {
    var random: SeededGenerator
    var time = 0.0
    var north = 0.0
    var east = 0.0
    var speed = 0.0
    var noise = 1.0
    var accuracy: Double? = 5.0
    var reportsSpeed = true
    var left = 0

    mutating func next() -> Fix {
        if left == 0 { change() }
        left -= 1
        let odd = Int.random(in: 0..<400, using: &random)
        switch odd {
        case 0: time -= .random(in: 0.5...600, using: &random)
        case 1...3: time += .random(in: 25...300, using: &random)
        case 4...20: time += .random(in: 0.2...0.9, using: &random)
        default: time += 1
        }
        north += speed
        let shown = speed == 12.5 ? 0.3 : speed + .random(in: -0.3...0.5, using: &random)
        var fix = fix(
            at: time, north: north + .random(in: -noise...noise, using: &random),
            east: east + .random(in: -noise...noise, using: &random),
            speed: reportsSpeed && odd % 9 != 0 ? max(0, shown) : nil)
        fix.accuracy = odd % 31 == 0 ? nil : accuracy
        return fix
    }

    private mutating func change() {
        left = .random(in: 3...120, using: &random)
        // The last one is a tow: the vehicle moves although the speed says otherwise.
        speed = [0, 0, 0, 0, 0.6, 1.2, 2.8, 3.2, 15, 12.5].randomElement(using: &random) ?? 0
        noise = [0.5, 3, 12, 40].randomElement(using: &random) ?? 0
        accuracy = [2, 5, 30, 150].randomElement(using: &random) ?? 5
        reportsSpeed = Int.random(in: 0..<4, using: &random) > 0
    }
}

private func randomThresholds(_ random: inout SeededGenerator) -> Admission.Thresholds {
    Admission.Thresholds(
        gate: Gate.Thresholds(
            interval: [0, 5, 30].randomElement(using: &random) ?? 0,
            distance: [0, 20, 100].randomElement(using: &random) ?? 0),
        motion: Motion.Thresholds(
            radius: [5, 25].randomElement(using: &random) ?? 5,
            duration: [5, 20, 60].randomElement(using: &random) ?? 5),
        whileStationary: [.nothing, .checkIns(every: 30), .gate].randomElement(using: &random) ?? .gate,
        quality: QualityLimits(accuracy: 100, speed: [20, 100].randomElement(using: &random) ?? 100))
}

@Test("random journeys are decided according to the plain rules", arguments: 1...24 as ClosedRange<UInt64>)
func admissionAgainstReference(number: UInt64) throws {
    let seed = testSeed(2027) &+ number
    var random = SeededGenerator(seed: seed)
    var thresholds = randomThresholds(&random)
    var admission = Admission(thresholds: thresholds)
    var reference = AdmissionReference(thresholds)
    var wanderer = Wanderer(random: SeededGenerator(seed: seed &* 31))
    var kept = (memory: Admission.Memory(), last: Gate.Reference?.none)
    var states: Set<MotionState> = []
    var (newest, isNewRun) = (Timestamp(milliseconds: .min), false)
    for step in 0..<1500 {
        if Int.random(in: 0..<300, using: &random) == 0 {
            thresholds = randomThresholds(&random)
            (admission.thresholds, reference.thresholds) = (thresholds, thresholds)
        }
        if Int.random(in: 0..<300, using: &random) == 0 {
            admission = Admission(
                thresholds: thresholds, last: kept.last, memory: kept.memory, odometer: admission.odometer)
            reference.restart()
            // It is found out again from what is stored.
            if isNewRun { admission.beginRun() }
        }
        let fix = wanderer.next()
        if fix.time < newest {
            admission.beginRun()
            reference.beginRun()
            isNewRun = true
        }
        newest = fix.time
        let crosses = Int.random(in: 0..<50, using: &random) == 0
        let observed = admission.observe(fix)
        let verdict = admission.decide(observed, crosses: crosses)
        let (expected, motion, quality) = reference.process(fix, crosses: crosses)
        let place: Comment = "seed \(seed), step \(step): \(fix)"
        try #require(verdict == expected, place)
        try #require(observed.motion == motion && observed.quality == quality, place)
        try #require(abs(admission.odometer - reference.odometer) < 1e-3, place)
        if let spot = admission.memory.spot {
            try #require(reference.spot.map { $0.distance(to: spot) < 1e-3 } == true, place)
        }
        states.insert(motion)
        guard case .admit = verdict else { continue }
        isNewRun = false
        kept = (
            admission.memory,
            Gate.Reference(time: fix.time, coordinate: fix.coordinate, bearing: fix.bearing)
        )
    }
    #expect(states.contains(.moving), "seed \(seed)")
}
