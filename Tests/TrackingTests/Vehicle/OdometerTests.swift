import Base
import Testing

@testable import Tracking

/// What one fix says, made by hand.
func seen(
    at second: Double, north: Double = 0, speed: Double? = nil, accuracy: Double? = 5,
    motion: MotionState = .moving, quality: Quality? = nil
) -> Admission.Observation {
    var fix = fix(at: second, north: north, speed: speed)
    fix.accuracy = accuracy
    return Admission.Observation(
        fix: fix, motion: motion, activity: nil, quality: quality, isParked: false, isTurningPoint: false)
}

private func metres(_ seen: [Admission.Observation], ignition: Bool? = nil) -> Double {
    var odometer = Odometer()
    for one in seen { odometer.observe(one, ignition: ignition) }
    return (odometer.metres * 100).rounded() / 100
}

@Suite("odometer")
struct OdometerTests {
    @Test(
        "each step by the rule for it",
        arguments: [
            ("mean speed × time", [seen(at: 0, speed: 10), seen(at: 1, north: 90, speed: 12)], 11),
            ("3 s are joined", [seen(at: 0, speed: 10), seen(at: 3, speed: 10)], 30),
            ("3.1 s are not", [seen(at: 0, speed: 10), seen(at: 3.1, speed: 10)], 0),
            ("but by their line", [seen(at: 0, speed: 10), seen(at: 3.1, north: 31, speed: 10)], 31),
            ("both still", [seen(at: 0, speed: 0.49), seen(at: 1, north: 9, speed: 0.49)], 0),
            ("one still", [seen(at: 0, speed: 0), seen(at: 1, speed: 1)], 0.5),
            ("no speed, short", [seen(at: 0), seen(at: 60, north: 25)], 0),
            ("no speed, long", [seen(at: 0), seen(at: 60, north: 26)], 26),
            ("no speed, inaccurate", [seen(at: 0), seen(at: 60, north: 39, accuracy: 20)], 0),
            ("accuracy unknown", [seen(at: 0), seen(at: 60, north: 29, accuracy: nil)], 0),
            ("no speed, in parts", (0...5).map { seen(at: Double($0), north: Double($0) * 10) }, 30),
            (
                "a gap is a line, and speeds count again after it, around a corner too",
                [
                    seen(at: 0, speed: 8), seen(at: 5, north: 40, speed: 8), seen(at: 6, north: 40, speed: 8),
                    seen(at: 7, north: 40, speed: 8),
                ], 56
            ),
            (
                "noise at a light, where nothing was received for a while, is no way",
                [
                    seen(at: 0, speed: 0), seen(at: 5, north: -9, speed: 0), seen(at: 6, north: -9, speed: 8),
                    seen(at: 7, north: -1, speed: 8), seen(at: 8, north: 7, speed: 8),
                    seen(at: 9, north: 15, speed: 8), seen(at: 10, north: 23, speed: 8),
                    seen(at: 11, north: 31, speed: 8),
                ], 44
            ),
            (
                "a reflection that ends a gap is no way",
                [
                    seen(at: 0, speed: 8), seen(at: 5, north: 240, speed: 8),
                    seen(at: 6, north: 48, speed: 8),
                    seen(at: 7, north: 56, speed: 8),
                ], 56
            ),
            (
                "a line after a gap holds its beginning until it is long",
                [
                    seen(at: 0, speed: 4), seen(at: 5, north: 20, speed: 4), seen(at: 6, north: 24, speed: 4),
                    seen(at: 7, north: 28, speed: 4), seen(at: 8, north: 32, speed: 4),
                ], 32
            ),
            ("standing", (0...5).map { seen(at: Double($0), speed: 9, motion: .stationary) }, 0),
            (
                "departure is added",
                [
                    seen(at: 0, speed: 0, motion: .stationary), seen(at: 1, speed: 2, motion: .stationary),
                    seen(at: 2, speed: 4, motion: .stationary), seen(at: 3, speed: 6),
                ], 9
            ),
            (
                "departure from a stand only",
                [
                    seen(at: 0, speed: 2, motion: .stationary), seen(at: 1, speed: 2, motion: .stationary),
                    seen(at: 2, speed: 0, motion: .stationary), seen(at: 3, speed: 0, motion: .stationary),
                    seen(at: 4, speed: 6),
                ], 3
            ),
            (
                "a night of false speeds is no departure",
                (0...99).map { seen(at: Double($0), speed: 0.8, motion: .stationary) } + [
                    seen(at: 100, speed: 2)
                ], 1.4
            ),
            (
                "a jump and back",
                [
                    seen(at: 0), seen(at: 10, north: 9000, quality: .implausibleSpeed),
                    seen(at: 20, north: 0, quality: .implausibleSpeed), seen(at: 30, north: 100),
                ], 100
            ),
            ("faster than anything", [seen(at: 0), seen(at: 10, north: 1001)], 0),
            ("a speed that is none", [seen(at: 0, speed: 600), seen(at: 1, speed: 600)], 0),
            (
                "time went back",
                [seen(at: 100, speed: 9), seen(at: 0, north: 900, speed: 9), seen(at: 1, speed: 9)], 9
            ),
            ("the same instant", [seen(at: 0, speed: 9), seen(at: 0, speed: 9)], 0),
            (
                "unknown motion",
                [seen(at: 0, speed: 9, motion: .unknown), seen(at: 1, speed: 9, motion: .unknown)], 0
            ),
        ] as [(String, [Admission.Observation], Double)])
    func steps(name: String, seen: [Admission.Observation], expected: Double) {
        #expect(abs(metres(seen) - expected) < 0.1, "\(name): \(metres(seen))")
        #expect(metres(seen, ignition: true) == metres(seen), "\(name)")
        #expect(metres(seen, ignition: false) == 0, "\(name)")
    }

    @Test("a ferry with the ignition off counts nothing, nor does its line")
    func ferry() {
        var odometer = Odometer()
        for second in 0...10 { odometer.observe(seen(at: Double(second), speed: 5), ignition: true) }
        for second in 11...3600 {
            odometer.observe(seen(at: Double(second), north: Double(second) * 9, speed: 9), ignition: false)
        }
        odometer.observe(seen(at: 3601, north: 32_400, speed: 5), ignition: true)
        odometer.observe(seen(at: 3602, north: 32_405, speed: 5), ignition: true)
        #expect(abs(odometer.metres - 55) < 0.1)
    }

    @Test("after a crash the way in between counts as a line; after a stop it does not")
    func restarts() {
        var odometer = Odometer()
        for second in 0...10 {
            odometer.observe(seen(at: Double(second), north: Double(second) * 9, speed: 9), ignition: nil)
        }
        var resumed = Odometer(Odometer.Memory.latest(odometer.memory, nil))
        resumed.observe(seen(at: 100, north: 990, speed: 9), ignition: nil)
        #expect(abs(resumed.metres - 990) < 1)
        odometer.forgetPlace()
        odometer.observe(seen(at: 100, north: 990, speed: 9), ignition: nil)
        odometer.observe(seen(at: 101, north: 999, speed: 9), ignition: nil)
        #expect(abs(odometer.metres - 99) < 0.1)
    }

    @Test(
        "at a start the later setting wins, then the larger",
        arguments: [
            (nil, nil, 0, 0), ((5, 0), nil, 5, 0), (nil, (7, 1), 7, 1), ((5, 0), (7, 0), 7, 0),
            ((9, 0), (7, 0), 9, 0),
            ((9000, 0), (7, 1), 7, 1), ((6, 2), (700, 1), 6, 2), ((8, 1), (7, 1), 8, 1),
        ] as [((Double, Int)?, (Double, Int)?, Double, Int)])
    func start(row: (Double, Int)?, file: (Double, Int)?, metres: Double, settings: Int) {
        func memory(_ pair: (Double, Int)?) -> Odometer.Memory? {
            pair.map { Odometer.Memory(metres: $0.0, settings: $0.1) }
        }
        #expect(Odometer.Memory.latest(memory(row), memory(file)) == memory((metres, settings)))
    }

    @Test("what a file says is bounded, and setting it is the only way back")
    func values() {
        #expect(Odometer.Memory(metres: .nan).metres == 0)
        #expect(Odometer.Memory(metres: -5).metres == 0)
        var odometer = Odometer(Odometer.Memory(metres: 9000))
        odometer.set(metres: 123)
        #expect(odometer.metres == 123)
        #expect(odometer.memory.settings == 1)
    }

    @Test("the file is written at a stop, hourly, after it was set, and when the place is to be forgotten")
    func due() {
        var odometer = Odometer()
        #expect(odometer.due(isAtStop: true, now: booted(0)) == nil)
        odometer.observe(seen(at: 0, speed: 9), ignition: nil)
        odometer.observe(seen(at: 1, speed: 9), ignition: nil)
        #expect(odometer.due(isAtStop: false, now: booted(1)) == odometer.memory)
        odometer.keep(odometer.memory, now: booted(1))
        #expect(odometer.due(isAtStop: true, now: booted(9000)) == nil)
        odometer.observe(seen(at: 2, speed: 9), ignition: nil)
        #expect(odometer.due(isAtStop: false, now: booted(3600)) == nil)
        #expect(odometer.due(isAtStop: false, now: booted(3601)) == odometer.memory)
        #expect(odometer.due(isAtStop: true, now: booted(2)) == odometer.memory)
        odometer.keep(odometer.memory, now: booted(2))
        odometer.forgetPlace()
        #expect(odometer.due(isAtStop: false, now: booted(3)) == odometer.memory)
    }
}
