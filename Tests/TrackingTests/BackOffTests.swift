import Support
import Testing

@testable import Tracking

@Test("each delay lies between half of the nominal delay and all of it", arguments: [UInt64(1), 2, 3])
func backOffBounds(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var backOff = BackOff(first: 2, ceiling: 300)
    for expected in [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300] as [Double] {
        let delay = backOff.next(using: &random)
        #expect((expected / 2...expected).contains(delay), "seed \(seed)")
    }
    #expect(backOff.failures == 11)
    backOff.reset()
    #expect((1...2).contains(backOff.next(using: &random)))
}

@Test("delays stay at the ceiling however long a peer is away")
func backOffNeverOverflows() {
    var random = SeededGenerator(seed: 4)
    var backOff = BackOff(first: 1, ceiling: 30)
    for _ in 0..<5000 { _ = backOff.next(using: &random) }
    #expect((15...30).contains(backOff.next(using: &random)))
}

@Test("a ceiling below the first delay wins")
func backOffLowCeiling() {
    var random = SeededGenerator(seed: 5)
    var backOff = BackOff(first: 10, ceiling: 1)
    #expect((0.5...1).contains(backOff.next(using: &random)))
}

@Test("delays are spread over the whole range, so that a fleet does not return together")
func backOffSpreads() {
    var random = SeededGenerator(seed: 6)
    let delays = (0..<1000).map { _ in
        var backOff = BackOff(first: 2, ceiling: 300)
        return backOff.next(using: &random)
    }
    #expect((delays.min() ?? 2) < 1.05)
    #expect((delays.max() ?? 1) > 1.95)
}
