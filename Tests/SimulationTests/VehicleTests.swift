import Glibc
import Simulation
import Testing

@Suite("the vehicle")
struct VehicleTests {
    /// An hour at 10 Hz, for several seeds.
    static func hour(seed: UInt64) -> [Vehicle.State] {
        var vehicle = Vehicle(seed: seed)
        return (0..<36_000).map { _ in
            vehicle.advance(milliseconds: 100)
            return vehicle.state
        }
    }

    @Test("accelerates, turns and climbs as a car does", arguments: [1, 2, 42] as [UInt64])
    func plausible(seed: UInt64) {
        let states = Self.hour(seed: seed)
        var hardest = 0.0, widestGap = 0.0, steepest = 0.0, sharpest = 0.0
        for (before, after) in zip(states, states.dropFirst()) {
            let vector = (velocity(before), velocity(after))
            let change = hypot(vector.1.east - vector.0.east, vector.1.north - vector.0.north)
            hardest = max(hardest, change / 0.1)
            let moved = hypot(after.east - before.east, after.north - before.north)
            widestGap = max(widestGap, abs(moved - (before.speed + after.speed) / 2 * 0.1))
            if moved > 0.1 { steepest = max(steepest, abs(after.altitude - before.altitude) / moved) }
            sharpest = max(sharpest, abs(remainder(after.heading - before.heading, 360)) / 0.1)
        }
        #expect(hardest < 4, "m/s²")
        #expect(widestGap < 0.02, "metres that speed does not explain")
        #expect(steepest < 0.1, "metres up per metre")
        #expect(sharpest < 60, "degrees per second")
        let top = states.map(\.speed).max() ?? 0
        #expect((14...25).contains(top))
        #expect(states.allSatisfy { $0.speed >= 0 && (0..<360).contains($0.heading) })
    }

    @Test("waits at lights, parks, drives on, and stays near home", arguments: [1, 2, 42] as [UInt64])
    func stops(seed: UInt64) {
        let states = Self.hour(seed: seed)
        let stands = states.split { $0.speed > 0 }.map { Double($0.count) / 10 }
        #expect(stands.contains { (5...31).contains($0) }, "a traffic light")
        #expect(stands.contains { $0 > 150 }, "long enough to count as parked")
        #expect(states.suffix(6000).contains { $0.speed > 5 }, "still driving after an hour")
        #expect(states.allSatisfy { hypot($0.east, $0.north) < 5000 })
    }

    @Test("drives within the first seconds")
    func fastStart() {
        let states = Self.hour(seed: 1)
        #expect(states[100].speed > 10)
        #expect(hypot(states[299].east, states[299].north) > 250)
    }

    @Test("when held it brakes to a halt and stays; when released it drives on")
    func held() {
        var vehicle = Vehicle(seed: 3)
        vehicle.advance(milliseconds: 20_000)
        #expect(vehicle.state.speed > 10)
        vehicle.advance(milliseconds: 10_000, held: true)
        let spot = vehicle.state
        #expect(spot.speed == 0)
        vehicle.advance(milliseconds: 60_000, held: true)
        #expect(vehicle.state == spot)
        vehicle.advance(milliseconds: 5000)
        #expect(vehicle.state.speed > 5)
    }

    @Test("the drive does not depend on how often it is observed")
    func stepping() {
        var fine = Vehicle(seed: 7)
        var coarse = Vehicle(seed: 7)
        for _ in 0..<300 { fine.advance(milliseconds: 333) }
        coarse.advance(milliseconds: 300 * 333)
        #expect(fine.state == coarse.state)
    }

    private func velocity(_ state: Vehicle.State) -> (east: Double, north: Double) {
        let radians = state.heading * .pi / 180
        return (state.speed * sin(radians), state.speed * cos(radians))
    }
}
