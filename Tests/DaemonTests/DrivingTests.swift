import Base
import Storage
import Testing

@testable import Daemon
@testable import Tracking

private let here = BootID(high: 1, low: 1)
private let elsewhere = BootID(high: 2, low: 2)

private let now = BootInstant(nanoseconds: 0)

private func driving() -> Driving {
    Driving(thresholds: Driving.Thresholds(trips: Trips.Thresholds()), boot: here)
}

private func place(_ second: Double) throws -> Coordinate {
    try #require(Coordinate(latitude: 52.5 + second * 10 / 111_195, longitude: 13.25))
}

/// Ten metres a second northward.
private func seen(
    _ second: Double, speed: Double = 10, motion: MotionState = .moving
) throws -> Admission.Observation {
    var fix = Fix(time: start.advanced(bySeconds: second), mode: 3, coordinate: try place(second))
    fix.speed = speed
    return Admission.Observation(
        fix: fix, motion: motion, activity: nil, quality: nil, isParked: false, isTurningPoint: false)
}

@Suite("the odometer and the trips, in the reader")
struct DrivingTests {
    @Test("nothing counts before the store has said where it stood; then it goes on from there")
    func waiting() throws {
        var driving = driving()
        #expect(try driving.observe(seen(0), ignition: nil, isTracking: true, now: now) == [])
        #expect(driving.vehicle == nil)
        #expect(driving.resume(Odometer.Memory(metres: 500), trip: nil, isTracking: true) == [])
        for second in 1...11 {
            _ = try driving.observe(seen(Double(second)), ignition: nil, isTracking: true, now: now)
        }
        #expect(driving.odometer?.memory.wholeMetres == 600)
        #expect(driving.vehicle?.trip?.open.hasStarted == true)
    }

    @Test("a trip goes on in the same boot, and has ended in another", arguments: [true, false])
    func boots(isSame: Bool) throws {
        var before = driving()
        _ = before.resume(Odometer.Memory(), trip: nil, isTracking: true)
        for second in 0...10 {
            _ = try before.observe(seen(Double(second)), ignition: nil, isTracking: true, now: now)
        }
        var stored = try #require(before.trip)
        if !isSame { stored.boot = elsewhere }
        var after = driving()
        let changes = after.resume(
            try #require(before.odometer?.memory), trip: stored, isTracking: true)
        guard !isSame else { return #expect(changes == [] && after.trip == stored) }
        guard case .ended(let trip) = changes.first else { return #expect(Bool(false), "\(changes)") }
        #expect(trip.end == start.advanced(bySeconds: 10))
        #expect(after.trip == nil)
    }

    @Test("where somebody goes who has stopped it is no trip, though the odometer counts")
    func untracked() throws {
        var driving = driving()
        _ = driving.resume(Odometer.Memory(), trip: nil, isTracking: false)
        for second in 0...10 {
            #expect(
                try driving.observe(seen(Double(second)), ignition: nil, isTracking: false, now: now) == [])
        }
        #expect(driving.trip == nil)
        #expect(driving.odometer?.memory.wholeMetres == 100)
        for second in 11...20 {
            _ = try driving.observe(seen(Double(second)), ignition: nil, isTracking: true, now: now)
        }
        driving.endTracking()
        for second in 21...309 {
            #expect(
                try driving.observe(seen(Double(second)), ignition: nil, isTracking: false, now: now) == [])
        }
        let ended = try (310...330).flatMap {
            try driving.observe(seen(Double($0)), ignition: nil, isTracking: false, now: now)
        }
        guard case .ended(let trip)? = ended.first else { return #expect(Bool(false), "\(ended)") }
        #expect(trip.end == start.advanced(bySeconds: 20))
        #expect(ended.count == 1)
    }

    @Test(
        "setting the odometer changes no trip, also when only the file had been written",
        arguments: [0.0, 9e7])
    func setting(metres: Double) throws {
        var driving = driving()
        _ = driving.resume(Odometer.Memory(metres: 5000), trip: nil, isTracking: true)
        for second in 0...10 {
            _ = try driving.observe(seen(Double(second)), ignition: nil, isTracking: true, now: now)
        }
        let stored = driving.trip
        var changed = try #require(driving.odometer)
        changed.set(metres: metres)
        var killed = driving
        driving.set(changed)
        _ = killed.resume(changed.memory, trip: stored, isTracking: true)
        for way in [driving, killed] {
            var way = way
            for second in 11...20 {
                _ = try way.observe(seen(Double(second)), ignition: nil, isTracking: true, now: now)
            }
            let open = try #require(way.trip?.open)
            #expect(abs(open.last.odometer - open.start.odometer - 200) < 1)
            #expect(abs((way.odometer?.metres ?? 0) - metres - 100) < 1)
        }
    }

    @Test("what is deleted of places is gone from both")
    func deletion() throws {
        var driving = driving()
        _ = driving.resume(Odometer.Memory(), trip: nil, isTracking: true)
        for second in 0...10 {
            _ = try driving.observe(seen(Double(second)), ignition: nil, isTracking: true, now: now)
        }
        driving.forgetPlaces(upTo: start.advanced(bySeconds: 5))
        #expect(driving.trip?.open.start.place == nil)
        #expect(driving.trip?.open.last.place != nil)
        #expect(driving.odometer?.memory.place != nil)
        driving.forgetPlaces(upTo: nil)
        #expect(driving.trip?.open.last.place == nil)
        #expect(driving.odometer?.memory.place == nil)
        #expect(driving.odometer?.memory.wholeMetres == 100)
    }
}
