import FoundationEssentials

/// How much to do, from the environment.
enum Effort {
    /// BEEKOND_LONG=1 asks for the long form.
    static let isLong = ProcessInfo.processInfo.environment["BEEKOND_LONG"] == "1"

    /// BEEKOND_SEED repeats a run; otherwise every run is another.
    static let seed: UInt64 =
        ProcessInfo.processInfo.environment["BEEKOND_SEED"].flatMap { UInt64($0) }
        ?? .random(in: 1...999_999_999)
}
