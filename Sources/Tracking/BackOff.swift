/// Exponential back-off with jitter: the n-th delay is uniform in [c/2, c], c = min(ceiling, first · 2ⁿ).
///
/// Half of the delay is always kept, so that a failing peer gets real rest; the other half is random, so that a fleet
/// that failed together does not come back together (AWS Architecture Blog, "Exponential Backoff and Jitter").
public struct BackOff: Equatable, Sendable {
    /// Seconds.
    public let first: Double
    /// Seconds.
    public let ceiling: Double
    /// How many delays have been taken since the last reset.
    public private(set) var failures = 0

    /// Both in seconds.
    public init(first: Double, ceiling: Double) {
        self.first = first
        self.ceiling = ceiling
    }

    /// The delay before the next attempt, in seconds.
    public mutating func next(using random: inout some RandomNumberGenerator) -> Double {
        var delay = first
        for _ in 0..<failures where delay < ceiling { delay *= 2 }
        failures += 1
        delay = min(delay, ceiling)
        return Double.random(in: delay / 2...delay, using: &random)
    }

    /// The next delay is a first one again.
    public mutating func reset() {
        failures = 0
    }
}
