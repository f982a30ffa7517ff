import Glibc

/// A seeded generator: the same seed yields the same numbers on every machine and in every release.
///
/// The standard library's generator cannot be seeded, and its algorithms for ranges may change between releases. A
/// drive must be reproducible byte for byte, so everything from bits to Gaussian deviates is implemented here.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Uniform in [0, 1).
    package mutating func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// Uniform in [`range.lowerBound`, `range.upperBound`).
    package mutating func uniform(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * unit()
    }

    /// True with the given probability, 0…1.
    package mutating func chance(_ probability: Double) -> Bool {
        unit() < probability
    }

    /// Approximately standard normal: the sum of twelve uniform deviates, hence within 6 of the mean. An unbounded
    /// tail would occasionally produce a jump that no receiver reports.
    package mutating func gaussian() -> Double {
        var sum = -6.0
        for _ in 0..<12 {
            sum += unit()
        }
        return sum
    }
}
