/// Exponential back-off with jitter: the n-th delay is uniform in [c/2, c], c = min(ceiling, first · 2ⁿ).
///
/// Half of each delay is fixed, to give a failing peer real rest; the other half is random, so that a fleet that
/// failed together does not return together (AWS Architecture Blog, "Exponential Backoff and Jitter").
package struct BackOff: Equatable, Sendable {
    /// The nominal first delay, in seconds.
    package let first: Double
    /// The longest delay, in seconds.
    package let ceiling: Double
    /// Number of delays taken since the last reset.
    package private(set) var failures = 0

    /// - Parameters:
    ///   - first: seconds.
    ///   - ceiling: seconds.
    package init(first: Double, ceiling: Double) {
        self.first = first
        self.ceiling = ceiling
    }

    /// The delay before the next attempt, in seconds.
    package mutating func next(using random: inout some RandomNumberGenerator) -> Double {
        var delay = first
        for _ in 0..<failures where delay < ceiling { delay *= 2 }
        failures += 1
        delay = min(delay, ceiling)
        return Double.random(in: delay / 2...delay, using: &random)
    }

    package mutating func reset() {
        failures = 0
    }
}
