import Base
import Testing

@testable import Tracking

@Suite("motion that somebody tells")
struct SetMotionTests {
    private let thresholds = Motion.Thresholds(radius: 5, duration: 120)

    @Test(
        "it holds for the next fix, whatever the state was",
        arguments: [MotionState.unknown, .moving, .stationary])
    func next(before: MotionState) {
        for said in [MotionState.moving, .stationary] {
            var motion = Motion(thresholds: thresholds, state: before, spot: place(north: 0))
            let old = motion.observe(fix(at: 0, north: 40, speed: 0.5), as: said)
            #expect(motion.state == said)
            #expect(old == (before == said ? nil : before))
            #expect(motion.spot == (said == .stationary ? place(north: 40) : nil))
        }
        // Nobody says anything.
        var motion = Motion(thresholds: thresholds, state: before, spot: place(north: 0))
        #expect(motion.observe(fix(at: 0, speed: 0), as: .unknown) == nil && motion.state == before)
    }

    @Test("a vehicle that stands is found out again after the usual time, counted from there")
    func standing() {
        var motion = Motion(thresholds: thresholds)
        for second in 0..<100 { _ = motion.observe(fix(at: Double(second), speed: 0)) }
        _ = motion.observe(fix(at: 100, speed: 0), as: .moving)
        for second in 101..<220 {
            _ = motion.observe(fix(at: Double(second), speed: 0))
            #expect(motion.state == .moving, "after \(second - 100) s")
        }
        _ = motion.observe(fix(at: 220, speed: 0))
        #expect(motion.state == .stationary)
    }

    @Test("a vehicle that drives is found out at once")
    func driving() {
        var motion = Motion(thresholds: thresholds, state: .moving)
        for second in 0..<10 {
            _ = motion.observe(fix(at: Double(second), north: Double(second) * 20, speed: 20))
        }
        _ = motion.observe(fix(at: 10, north: 200, speed: 20), as: .stationary)
        #expect(motion.state == .stationary)
        _ = motion.observe(fix(at: 11, north: 220, speed: 20))
        #expect(motion.state == .stationary, "one fix is not enough")
        #expect(motion.observe(fix(at: 12, north: 240, speed: 20)) == .stationary)
        #expect(motion.state == .moving)
    }

    @Test("what it changes is admitted as when motion changes by itself, and remembered")
    func admission() {
        let gate = Gate.Thresholds(interval: 30, distance: 100, angle: 0)
        var admission = Admission(thresholds: .init(gate: gate, motion: thresholds))
        func verdict(_ second: Double, _ motion: MotionState? = nil) -> Gate.Verdict {
            admission.decide(admission.observe(fix(at: second, speed: 0), as: motion))
        }
        #expect(verdict(0) == .admit(.interval))
        #expect(verdict(1, .stationary) == .admit(.motion))
        #expect(admission.memory.motion == .stationary && admission.memory.checkInFrom != nil)
        #expect(verdict(2) == .drop(.paused))
        #expect(verdict(3, .moving) == .admit(.motion))
        #expect(verdict(4, .moving) == .drop(.tooSoon), "it was moving already")
    }
}
