import Simulation
import Testing

@Suite("the drive")
struct DriveTests {
    @Test("same seed and start, same bytes; another seed, other bytes")
    func repeatable() {
        let first = epochs(.test(rate: 2, seed: 9, noise: 2), count: 400).flatMap(\.sentences)
        let again = epochs(.test(rate: 2, seed: 9, noise: 2), count: 400).flatMap(\.sentences)
        let other = epochs(.test(rate: 2, seed: 10, noise: 2), count: 400).flatMap(\.sentences)
        #expect(first == again)
        #expect(first != other)
    }

    @Test("noise and lost sky do not change the route")
    func independent() throws {
        var scenario = Drive.Scenario.test(seed: 4, noise: 25)
        scenario.lostSky = [try #require(Drive.Window(from: 10, to: 50))]
        let plain = epochs(.test(seed: 4), count: 300).map(\.truth)
        #expect(epochs(scenario, count: 300).map(\.truth) == plain)
    }

    @Test("errors are as large as requested, and drift instead of jumping")
    func noise() throws {
        var scenario = Drive.Scenario.test(seed: 5, noise: 4)
        scenario.parked = true
        let places = try epochs(scenario, count: 7200).map {
            let fix = try #require($0.seen.fix)
            return (fix.latitude, fix.longitude)
        }
        let home = (scenario.origin.latitude, scenario.origin.longitude)
        let square = places.map { meters(home, $0) * meters(home, $0) }.reduce(0, +) / Double(places.count)
        #expect((3...5).contains(square.squareRoot()))
        let widest = zip(places, places.dropFirst()).map { meters($0, $1) }.max() ?? 0
        #expect(widest < 4)
    }

    @Test("parked: hardly any speed, no track, one position")
    func parked() throws {
        var scenario = Drive.Scenario.test()
        scenario.parked = true
        for epoch in epochs(scenario, count: 300) {
            let fix = try #require(epoch.seen.fix)
            #expect(fix.speed < 0.4 && fix.track == nil)
            #expect(epoch.truth.east == 0 && epoch.truth.north == 0)
        }
    }

    @Test("a park window stops the vehicle and then releases it")
    func parkWindow() throws {
        var scenario = Drive.Scenario.test()
        scenario.parks = [try #require(Drive.Window(from: 15, to: 200))]
        let speeds = epochs(scenario, count: 220).map(\.truth.speed)
        #expect(speeds[14] > 10)
        #expect(speeds[25...199].allSatisfy { $0 == 0 })
        #expect(speeds[210] > 5)
    }

    @Test(
        "windows that make no sense are refused",
        arguments: [(-1, 5), (5, 5), (6, 5), (0, .infinity), (.nan, 5)] as [(Double, Double)])
    func windows(from: Double, to: Double) {
        #expect(Drive.Window(from: from, to: to) == nil)
    }

    @Test("the worse the noise, the worse the reported precision")
    func precision() throws {
        let good = try #require(epochs(.test(noise: 1), count: 1)[0].seen.fix)
        let bad = try #require(epochs(.test(noise: 80), count: 1)[0].seen.fix)
        #expect(good.hdop < 1 && bad.hdop > 6)
    }
}
