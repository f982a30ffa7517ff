import FoundationEssentials
import Testing

/// SplitMix64: the same seed gives the same run everywhere.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &self) < probability
    }
}

/// How much to do, from the environment.
enum Effort {
    /// BEEKOND_LONG=1 asks for the long form.
    static let isLong = ProcessInfo.processInfo.environment["BEEKOND_LONG"] == "1"

    /// BEEKOND_SEED repeats a run; otherwise every run is another.
    static let seed: UInt64 =
        ProcessInfo.processInfo.environment["BEEKOND_SEED"].flatMap { UInt64($0) }
        ?? .random(in: 1...999_999_999)
}
