/// How long to wait before something is tried once more, and not at the same moment as others.
package struct BackOff: Sendable {
    /// Seconds.
    package let shortest: Double
    package let longest: Double

    /// For alerts: a receiver may be away for days.
    package static let alerts = BackOff(shortest: 10, longest: 3600)
    /// For what is forwarded: whoever takes it is waited for.
    package static let forwarding = BackOff(shortest: 1, longest: 60)

    /// By how much a delay may grow by chance, so that what failed together does not come back together.
    private static let spread = 1.5

    /// Seconds.
    ///
    /// - Parameter attempts: those that have failed, this one included.
    package func delay(
        after attempts: Int64, using random: inout some RandomNumberGenerator
    ) -> Double {
        var delay = shortest
        for _ in 1..<max(1, min(attempts, 30)) { delay = min(2 * delay, longest / Self.spread) }
        return delay * Double.random(in: 1...Self.spread, using: &random)
    }
}
