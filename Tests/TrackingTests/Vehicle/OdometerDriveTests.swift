import Base
import Simulation
import Support
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// Where a vehicle is at each second.
struct TruePath {
    struct Point {
        var north: Double
        var east: Double
        var speed: Double
        /// Metres driven up to here.
        var metres: Double
    }

    var points: [Point] = []

    /// An hour of streets, lights and car parks.
    static func streets(seconds: Int, seed: UInt64) -> TruePath {
        var vehicle = Vehicle(seed: seed)
        var path = TruePath()
        var metres = 0.0
        var before = vehicle.state
        for _ in 0..<seconds {
            for _ in 0..<20 {
                vehicle.advance(milliseconds: 50)
                let state = vehicle.state
                metres += hypot(state.north - before.north, state.east - before.east)
                before = state
            }
            path.points.append(
                Point(north: before.north, east: before.east, speed: before.speed, metres: metres))
        }
        return path
    }

    /// A road of gentle bends, as (seconds, metres per second).
    static func road(_ stretches: [(seconds: Int, speed: Double)]) -> TruePath {
        var path = TruePath()
        var point = Point(north: 0, east: 0, speed: 0, metres: 0)
        for stretch in stretches {
            for _ in 0..<stretch.seconds {
                let change = min(max(stretch.speed - point.speed, -1.8), 1.8)
                let metres = point.speed + change / 2
                let heading = 0.6 + 0.25 * sin(point.metres / 900)
                point.north += metres * cos(heading)
                point.east += metres * sin(heading)
                point.metres += metres
                point.speed += change
                path.points.append(point)
            }
        }
        return path
    }
}

private struct Scene: CustomTestStringConvertible, Sendable {
    var name: String
    var place: NoisyReceiver.Place
    /// Every so many seconds there is no reception, and for how long.
    var outage: (every: Int, seconds: Int)?
    /// The daemon is killed so often, and goes on by what it stored with its last row.
    var killedEvery: Int?
    /// Seconds between fixes.
    var step = 1
    /// The receiver tells no speeds, and gpsd 3.22 makes them of its positions.
    var hasMadeUpSpeeds = false
    /// Error allowed, as a share of the true distance.
    var allowed = 0.005

    var testDescription: String { name }
}

private func error(_ scene: Scene, _ path: TruePath, seed: UInt64) -> Double {
    var receiver = NoisyReceiver(scene.place, seed: seed)
    let thresholds = Admission.Thresholds(gate: Gate.Thresholds(interval: 30, distance: 100))
    var admission = Admission(thresholds: thresholds)
    var odometer = Odometer()
    var row = (odometer: odometer.memory, admission: admission.memory, last: Gate.Reference?.none)
    var before = 0.0
    var last: Coordinate?
    for (second, point) in path.points.enumerated() {
        var fix = receiver.fix(at: Double(second), north: point.north, east: point.east, speed: point.speed)
        defer { last = fix.coordinate }
        if scene.hasMadeUpSpeeds { fix.speed = last?.distance(to: fix.coordinate) }
        if let outage = scene.outage, second % outage.every >= outage.every - outage.seconds { continue }
        if second % scene.step != 0 { continue }
        if let every = scene.killedEvery, second % every == every - 1 {
            odometer = Odometer(row.odometer)
            admission = Admission(thresholds: thresholds, last: row.last, memory: row.admission)
            before = 0
        }
        let observed = admission.observe(fix)
        odometer.observe(observed, ignition: nil)
        if case .admit = admission.decide(observed) {
            let reference = Gate.Reference(time: fix.time, coordinate: fix.coordinate, bearing: nil)
            row = (odometer.memory, admission.memory, reference)
        }
        #expect(odometer.metres >= before)
        before = odometer.metres
    }
    guard let end = path.points.last?.metres else { return 1 }
    return odometer.metres / end - 1
}

private let streets = [
    Scene(name: "open", place: .open), Scene(name: "suburb", place: .suburb),
    Scene(name: "city", place: .city),
    Scene(name: "suburb, 4 s without reception every 2 minutes", place: .suburb, outage: (120, 4)),
    Scene(name: "city, 4 s without reception every 4 minutes", place: .city, outage: (240, 4)),
    Scene(name: "open, every third second", place: .open, step: 3),
    Scene(name: "open, speeds made of positions", place: withoutSpeeds(.open), hasMadeUpSpeeds: true),
    // gpsd of Debian 12 does not let it come to this: straight lines of 25 m cut the corners of streets.
    Scene(name: "open, no speeds", place: withoutSpeeds(.open), allowed: 0.0125),
    Scene(name: "open, killed every 20 minutes", place: .open, killedEvery: 1200),
]

private func withoutSpeeds(_ place: NoisyReceiver.Place) -> NoisyReceiver.Place {
    var place = place
    place.hasSpeed = false
    return place
}

private let roads = [
    Scene(name: "motorway", place: .open),
    Scene(name: "motorway, tunnels of 90 s every 10 minutes", place: .open, outage: (600, 90)),
    Scene(name: "motorway, no speeds", place: withoutSpeeds(.open)),
    Scene(name: "motorway, a fix every 10 s", place: .open, step: 10),
    Scene(name: "motorway, killed every 10 minutes", place: .suburb, killedEvery: 600),
]

@Suite("odometer on drives with noise")
struct OdometerDriveTests {
    @Test("in streets, with lights and car parks")
    func inStreets() {
        let seed = testSeed(23)
        for number in 0..<3 as Range<UInt64> {
            let path = TruePath.streets(seconds: 3600, seed: seed + number)
            for scene in streets {
                let error = error(scene, path, seed: seed + number)
                print("odometer, streets, \(scene.name): \((error * 100_000).rounded() / 1000) %")
                #expect(abs(error) <= scene.allowed, "\(scene.name), seed \(seed + number)")
            }
        }
    }

    @Test("on roads, with tunnels, without speeds, over kills", arguments: roads)
    private func onRoads(scene: Scene) {
        let seed = testSeed(29)
        let path = TruePath.road(
            [
                (130, 0), (300, 22), (60, 0), (900, 31), (400, 14), (200, 0), (1200, 36), (20, 3), (600, 25),
                (300, 0),
            ])
        let error = error(scene, path, seed: seed)
        print("odometer, road, \(scene.name): \((error * 100_000).rounded() / 1000) %")
        #expect(abs(error) <= scene.allowed, "seed \(seed)")
    }

    @Test("a receiver without speeds counts from its first fix on, though the vehicle never stands")
    func fromTheFirstFix() {
        let seed = testSeed(37)
        for place in [NoisyReceiver.Place.open, .suburb, .city].map(withoutSpeeds) {
            let path = TruePath.road([(300, 22), (200, 31), (300, 14), (400, 36)])
            let error = error(Scene(name: "no stand", place: place), path, seed: seed)
            print("odometer, no speeds and no stand: \((error * 100_000).rounded() / 1000) %")
            #expect(abs(error) <= 0.015, "seed \(seed)")
        }
    }

    /// The first position of a receiver that has just been switched on may be far off.
    @Test("parked from the first fix on, without speeds: 0 m, also when the first positions were far off")
    func parkedFromTheFirstFix() {
        for (number, place) in [NoisyReceiver.Place.open, .suburb, .city].map(withoutSpeeds).enumerated() {
            for leap in [0.0, 60, 400] {
                var receiver = NoisyReceiver(place, seed: testSeed(41) + UInt64(number))
                var admission = Admission(
                    thresholds: Admission.Thresholds(gate: Gate.Thresholds(interval: 30, distance: 100)))
                var odometer = Odometer()
                var trips = Trips()
                var changes: [Trips.Change] = []
                for second in 0..<3600 {
                    let fix = receiver.fix(
                        at: Double(second), north: second < 5 ? leap : 0, east: 0, speed: 0)
                    let observed = admission.observe(fix)
                    odometer.observe(observed, ignition: nil)
                    changes += trips.observe(observed, odometer: odometer.metres, ignition: nil)
                }
                #expect(odometer.metres == 0 && changes.isEmpty, "\(place), \(leap) m")
            }
        }
    }

    @Test("trips of a receiver without speeds begin where the vehicle set off", arguments: [0, 40, 100])
    func tripFromTheFirstFix(standing: Int) {
        var receiver = NoisyReceiver(withoutSpeeds(.open), seed: testSeed(43))
        let path = TruePath.road([(standing, 0), (900, 20), (600, 0)])
        var admission = Admission(
            thresholds: Admission.Thresholds(gate: Gate.Thresholds(interval: 30, distance: 100)))
        var odometer = Odometer()
        var trips = Trips()
        var changes: [Trips.Change] = []
        for (second, point) in path.points.enumerated() {
            let fix = receiver.fix(at: Double(second), north: point.north, east: point.east, speed: 0)
            let observed = admission.observe(fix)
            odometer.observe(observed, ignition: nil)
            changes += trips.observe(observed, odometer: odometer.metres, ignition: nil)
        }
        let told = changes.compactMap { change in
            if case .ended(let trip) = change { trip } else { nil }
        }
        guard told.count == 1, let trip = told.first, let truth = path.points.last?.metres else {
            return #expect(Bool(false), "\(changes)")
        }
        #expect(abs(trip.metres - truth) < 0.01 * truth, "\(trip.metres) of \(truth)")
        let began = trip.start.seconds(since: moment(0))
        #expect((Double(standing) - 15...Double(standing) + 5).contains(began), "it began at \(began)")
    }

    @Test(
        "parked for 12 hours: 0 m",
        arguments: [NoisyReceiver.Place.open, .suburb, .city].flatMap { [$0, withoutSpeeds($0)] })
    func parked(place: NoisyReceiver.Place) {
        var receiver = NoisyReceiver(place, seed: testSeed(31))
        var admission = Admission(
            thresholds: Admission.Thresholds(gate: Gate.Thresholds(interval: 30, distance: 100)))
        var odometer = Odometer()
        var arrived = 0.0
        for second in 0..<(12 * 3600 + 200) {
            let speed = second < 200 ? min(10, Double(200 - second)) : 0
            let fix = receiver.fix(
                at: Double(second), north: Double(min(second, 200)) * 10, east: 0, speed: speed)
            let observed = admission.observe(fix)
            odometer.observe(observed, ignition: nil)
            // Without speeds the last metres are counted once they are more than noise.
            let isMoving = !place.hasSpeed && observed.motion == .moving
            if second == 200 || isMoving, second < 1000 { arrived = odometer.metres }
        }
        #expect(odometer.metres == arrived)
    }
}
