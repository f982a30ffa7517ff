#if canImport(Glibc)
    import Glibc
#endif

/// Random numbers that come again with the same seed (SplitMix64, Steele, Lea and Flood 2014).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A failing test prints its seed; pass it here to see the failure again.
    package init(seed: UInt64) {
        state = seed
    }

    /// The next number of the sequence.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True with a probability from 0 to 1.
    package mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }
}

/// The seed of a test that tries a part of what there is: BEEKOND_SEED, or BEEKOND_SAMPLE, which `make test` makes of the
/// commit. So a run that is repeated tries the same, and over time all of it is tried.
package func sampleSeed() -> UInt64 {
    guard let text = getenv("BEEKOND_SAMPLE") else { return testSeed(1) }
    return testSeed(UInt64(String(cString: text)) ?? 1)
}

/// Whether all is tried that there is, as in `make nightly`: BEEKOND_LONG=1.
package let triesAll = getenv("BEEKOND_LONG").map { String(cString: $0) } == "1"

/// So few of what there is to try, in their order, others with each commit (`sampleSeed`); all of it with BEEKOND_LONG=1.
package func sampled<Case>(_ all: [Case], _ few: Int) -> [Case] {
    guard !triesAll, all.count > few else { return all }
    var random = SeededGenerator(seed: sampleSeed() &+ UInt64(all.count))
    return all.indices.shuffled(using: &random).prefix(few).sorted().map { all[$0] }
}

/// Whether one of many steps is tried: each so many-th, others with each commit; all with BEEKOND_LONG=1.
package func isSampled(_ number: Int, each step: Int) -> Bool {
    triesAll || UInt64(number) % UInt64(step) == sampleSeed() % UInt64(step)
}

/// The seed of a randomised test: BEEKOND_SEED, or its own.
package func testSeed(_ usual: UInt64) -> UInt64 {
    guard let text = getenv("BEEKOND_SEED") else { return usual }
    return UInt64(String(cString: text)) ?? usual
}
