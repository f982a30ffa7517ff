import Base
import Support
import Testing

@testable import Upload

/// A thousand uploaders that meet the same fate at the same moment.
private struct Herd {
    var rigs: [Rig]
    /// Who made an attempt, and when, in seconds since the boot.
    var attempts: [(rig: Int, now: Double)] = []

    init(count: Int, interval: Double) {
        rigs = (0..<count).map { Rig(interval: interval, seed: UInt64($0)) }
    }

    /// Lets everybody act until `end`, answering each attempt by the moment at which it is made.
    mutating func run(until end: Double, _ answer: (Double) -> DrainOutcome) {
        for index in rigs.indices {
            while rigs[index].now + rigs[index].wait < end {
                rigs[index].sleep()
                attempts.append((index, rigs[index].now))
                rigs[index].drain(answer(rigs[index].now))
            }
            rigs[index].now = end
        }
    }

    /// How many attempts fall into the fullest of the slices, and how many into all of them on average. Of each uploader
    /// only the first counts, or all do.
    func load(
        _ range: Range<Double>, slice: Double, firstsOnly: Bool = false
    ) -> (peak: Int, mean: Double) {
        var seen: Set<Int> = []
        let counted = attempts.filter { range.contains($0.now) }.sorted { $0.now < $1.now }
            .filter { !firstsOnly || seen.insert($0.rig).inserted }
        var slices = [Int](
            repeating: 0, count: Int(((range.upperBound - range.lowerBound) / slice).rounded(.up)))
        for attempt in counted { slices[Int((attempt.now - range.lowerBound) / slice)] += 1 }
        return (slices.max() ?? 0, Double(slices.reduce(0, +)) / Double(slices.count))
    }
}

@Suite("a fleet does not act as one")
struct HerdTests {
    private static let boot = 1000.0
    private static let network = DrainOutcome.transient(isNetwork: true, retryAfter: nil)

    private func report(_ what: String, _ load: (peak: Int, mean: Double)) -> Double {
        let ratio = Double(load.peak) / load.mean
        print("1000 uploaders \(what): peak \(load.peak), mean \(load.mean), ratio \(ratio)")
        return ratio
    }

    @Test("after an outage of the network that all have seen end at the same moment")
    func networkReturns() {
        var herd = Herd(count: 1000, interval: 300)
        let back = Self.boot + 1800
        herd.run(until: back) { _ in Self.network }
        for index in herd.rigs.indices { herd.rigs[index].trigger(.networkReturned(outage: 1800)) }
        herd.run(until: back + 300) { _ in .drained }
        let first = herd.load(back..<back + 300, slice: 10, firstsOnly: true)
        #expect(report("first after the network's return", first) <= 2)
        #expect(report("after the network's return", herd.load(back..<back + 300, slice: 10)) <= 2)
        // Everybody has come back within the longest delay.
        #expect(herd.rigs.allSatisfy { $0.now + $0.wait - back > 300 })
    }

    @Test("while the server is down, and when it is back")
    func serverReturns() {
        var herd = Herd(count: 1000, interval: 300)
        let back = Self.boot + 1800
        // As long as the longest back-off.
        herd.run(until: back + 600) {
            $0 < back ? .transient(isNetwork: false, retryAfter: nil) : .drained
        }
        #expect(report("while the server is down", herd.load(Self.boot + 900..<back, slice: 10)) <= 2)
        let first = herd.load(back..<back + 600, slice: 10, firstsOnly: true)
        #expect(report("first when the server is back", first) <= 2)
        #expect(report("when the server is back", herd.load(back..<back + 600, slice: 10)) <= 2)
    }

    @Test("when all are powered up at the same moment")
    func poweredUp() {
        var herd = Herd(count: 1000, interval: 300)
        for index in herd.rigs.indices { herd.rigs[index].trigger(.started) }
        herd.run(until: Self.boot + 3600) { _ in .drained }
        let first = herd.load(Self.boot..<Self.boot + 30, slice: 1)
        #expect(report("in the first half minute", first) <= 2)
        let later = herd.load(Self.boot + 300..<Self.boot + 3600, slice: 10)
        #expect(report("in the hour after", later) <= 2)
    }
}
