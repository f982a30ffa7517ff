/// How long to wait before something is tried once more: from 10 seconds to an hour, and not at the same moment as others.
package enum BackOff {
    /// Seconds.
    package static let shortest = 10.0
    package static let longest = 3600.0
    /// By how much a delay may grow by chance, so that what failed together does not come back together.
    private static let spread = 1.5

    /// Seconds.
    ///
    /// - Parameter attempts: those that have failed, this one included.
    package static func delay(
        after attempts: Int64, using random: inout some RandomNumberGenerator
    ) -> Double {
        var delay = shortest
        for _ in 1..<max(1, min(attempts, 30)) { delay = min(2 * delay, longest / spread) }
        return delay * Double.random(in: 1...spread, using: &random)
    }
}
