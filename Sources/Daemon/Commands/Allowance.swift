internal import Base
internal import Linux

/// A token bucket: so many at once, then so many a second. Pure: the time is an argument.
struct Allowance {
    private let burst: Double
    private let perSecond: Double
    private var left: Double
    private var filled: BootInstant?

    /// - Parameters:
    ///   - burst: what may be taken at once after a rest.
    ///   - perSecond: what comes back, more than 0.
    init(burst: Int, perSecond: Double) {
        self.burst = Double(burst)
        self.perSecond = perSecond
        left = Double(burst)
    }

    /// Takes one.
    ///
    /// - Returns: nil, or the whole seconds after which there is one.
    mutating func take(now: BootInstant) -> Int? {
        let passed = filled.map { max(now.seconds(since: $0), 0) } ?? 0
        left = min(left + passed * perSecond, burst)
        filled = now
        guard left < 1 else {
            left -= 1
            return nil
        }
        return max(Int(clamping: Int64(((1 - left) / perSecond).rounded(.up))), 1)
    }
}
