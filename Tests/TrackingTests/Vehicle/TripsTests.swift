import Base
import Testing

@testable import Tracking

/// Feeds one fix a second, with the odometer that belongs to the speeds.
private struct Ride {
    var trips = Trips()
    var ignition: Bool?
    var second = 0.0
    var north = 0.0
    var metres = 0.0
    var told: [String] = []

    mutating func go(_ seconds: Int, speed: Double, _ motion: MotionState) {
        for _ in 0..<seconds {
            second += 1
            north += speed
            metres += ignition == false ? 0 : speed
            tell(
                trips.observe(
                    seen(at: second, north: north, speed: speed, motion: motion), odometer: metres,
                    ignition: ignition))
        }
    }

    /// Stands, and is known as stationary from the 120th second on.
    mutating func stand(_ seconds: Int) {
        go(min(seconds, 120), speed: 0, .moving)
        go(max(seconds - 120, 0), speed: 0, .stationary)
    }

    mutating func turn(on isOn: Bool) {
        ignition = isOn
        tell(trips.ignitionChanged(isOn: isOn, at: moment(second + 0.5), odometer: metres))
    }

    mutating func tell(_ changes: [Trips.Change]) {
        for change in changes {
            switch change {
            case .started(let at, _): told.append("start \(Int(at.seconds(since: moment(0))))")
            case .ended(let trip):
                told.append(
                    "end \(Int(trip.start.seconds(since: moment(0))))-\(Int(trip.end.seconds(since: moment(0))))"
                        + " \(Int(trip.metres)) m, top \(trip.topSpeed ?? -1), idle \(Int(trip.idle))")
            }
        }
    }
}

@Suite("trips")
struct TripsTests {
    @Test("by motion: from the last stand to the beginning of the stay, short stops within")
    func byMotion() {
        var ride = Ride()
        ride.go(200, speed: 0, .stationary)
        ride.go(3, speed: 2, .stationary)
        ride.go(97, speed: 10, .moving)
        ride.stand(250)
        ride.go(50, speed: 20, .moving)
        ride.stand(298)
        ride.go(50, speed: 5, .moving)
        ride.stand(400)
        #expect(ride.told == ["start 200", "end 200-948 2226 m, top 20.0, idle 546"])
        #expect(ride.trips.open == nil)
        #expect(ride.trips.deadline == nil)
    }

    @Test("by ignition: from edge to edge; standing with the ignition on is part of the trip")
    func byIgnition() {
        var ride = Ride(ignition: false)
        ride.go(100, speed: 0, .stationary)
        ride.turn(on: true)
        ride.go(100, speed: 0, .stationary)
        #expect(ride.told == [])
        ride.go(100, speed: 10, .moving)
        #expect(ride.told == ["start 100"])
        ride.stand(500)
        ride.turn(on: false)
        ride.go(200, speed: 0, .stationary)
        ride.turn(on: true)
        ride.go(100, speed: 10, .moving)
        ride.turn(on: false)
        #expect(ride.trips.deadline == moment(1400.5))
        // Towed away.
        ride.go(299, speed: 15, .moving)
        #expect(ride.told.count == 1)
        ride.tell(ride.trips.expire(at: moment(1400.5)))
        #expect(ride.told == ["start 100", "end 100-1100 2000 m, top 10.0, idle 598"])
    }

    @Test("the ignition on without moving is no trip, and off for less than the gap ends none")
    func noTrips() {
        var ride = Ride(ignition: false)
        ride.go(10, speed: 0, .stationary)
        ride.turn(on: true)
        ride.go(1000, speed: 0, .stationary)
        ride.turn(on: false)
        ride.go(400, speed: 0, .stationary)
        #expect(ride.told == [])
        #expect(ride.trips.open == nil)
    }

    @Test(
        "a power cut ends the trip at its last fix, or with the stay that had begun; a restart of the daemon does not"
    )
    func powerCut() {
        var ride = Ride()
        ride.go(100, speed: 10, .moving)
        let stored = ride.trips.open
        var restarted = Trips(stored)
        #expect(restarted.start(isNewBoot: false) == [])
        let cut = restarted.start(isNewBoot: true)
        guard case .ended(let trip) = cut.first else { return #expect(Bool(false), "\(cut)") }
        #expect(trip.end == moment(100))
        #expect(trip.endPlace == place(north: 1000))
        #expect(trip.metres == 990)
        #expect(restarted.open == nil)
        ride.stand(200)
        restarted = Trips(ride.trips.open)
        guard case .ended(let parked) = restarted.start(isNewBoot: true).first else {
            return #expect(Bool(false))
        }
        #expect(parked.end == moment(100))
        #expect(parked.metres == 990)
        #expect(restarted.start(isNewBoot: true) == [])
    }

    @Test(
        "without fixes: a night in a garage is a stay, a tunnel is none, and a stop of tracking begins a stay"
    )
    func withoutFixes() {
        var ride = Ride()
        ride.go(100, speed: 10, .moving)
        ride.second += 1200
        ride.north += 20_000
        ride.go(100, speed: 10, .moving)
        ride.second += 30_000
        ride.go(100, speed: 10, .moving)
        #expect(ride.told == ["start 1", "end 1-1400 1990 m, top 10.0, idle 0", "start 31401"])
        ride.trips.release()
        #expect(ride.trips.deadline == moment(31_800))
        ride.second += 200
        ride.go(10, speed: 10, .moving)
        #expect(ride.told.count == 3)
        ride.trips.release()
        ride.second += 400
        ride.go(1, speed: 10, .moving)
        #expect(ride.told.count == 5)
        #expect(ride.told.dropFirst(3).first?.hasPrefix("end 31401-31710") == true)
    }

    @Test("time that goes back ends the trip; deleted places are gone from it, and the sums stay")
    func details() {
        var ride = Ride()
        ride.go(100, speed: 10, .moving)
        ride.second -= 50
        ride.go(10, speed: 10, .moving)
        #expect(ride.told == ["start 1", "end 1-100 990 m, top 10.0, idle 0", "start 51"])
        ride.trips.forgetPlaces()
        guard case .ended(let trip) = ride.trips.start(isNewBoot: true).first else {
            return #expect(Bool(false))
        }
        #expect(trip.startPlace == nil)
        #expect(trip.endPlace == nil)
        #expect(trip.metres == 90)
        #expect(trip.duration == 9)
        var fast = Ride()
        fast.go(2, speed: 101, .moving)
        #expect(fast.trips.open?.last.topSpeed == nil)
    }

    @Test("where a speed is missing, motion tells since when it stands")
    func withoutSpeeds() {
        var trips = Trips()
        var changes: [Trips.Change] = []
        for second in 1...1000 {
            let isMoving = second <= 420
            changes += trips.observe(
                seen(
                    at: Double(second), north: Double(min(second, 300)) * 10,
                    motion: isMoving ? .moving : .stationary),
                odometer: Double(min(second, 300)) * 10, ignition: nil)
        }
        guard case .ended(let trip) = changes.last else { return #expect(Bool(false)) }
        #expect(trip.end == moment(301))
        #expect(trip.topSpeed == nil)
        #expect(trip.metres == 2990)
    }
}
