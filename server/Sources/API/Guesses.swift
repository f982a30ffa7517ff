internal import Synchronization

/// How often somebody may get a password wrong. By the name that is tried: addresses are nginx's to know. It goes by a clock that
/// never leaps.
final class Guesses: Sendable {
    /// Wrong passwords in a row before one has to wait.
    static let free = 10
    /// After which one more may be tried.
    static let interval = Duration.seconds(6)
    /// Names that are remembered: who tries more of them at once only forgets the oldest.
    private static let capacity = 1000

    /// When the guesses of each name will all be forgotten.
    private let debts = Mutex<[String: ContinuousClock.Instant]>([:])

    /// - Returns: seconds to wait before the next try; nil: none.
    func delay(of name: String, now: ContinuousClock.Instant) -> Int? {
        guard let end = debts.withLock({ $0[Self.key(name)] }) else { return nil }
        let wait = now.duration(to: end) - Self.interval * (Self.free - 1)
        guard wait > .zero else { return nil }
        let (seconds, rest) = wait.components
        return Int(seconds) + (rest > 0 ? 1 : 0)
    }

    /// A password was wrong.
    func noteWrong(_ name: String, now: ContinuousClock.Instant) {
        let key = Self.key(name)
        debts.withLock { debts in
            if debts.count >= Self.capacity, debts[key] == nil {
                debts = debts.filter { $0.value > now }
                if debts.count >= Self.capacity, let oldest = debts.min(by: { $0.value < $1.value })?.key {
                    debts[oldest] = nil
                }
            }
            let start = debts[key].map { max($0, now) } ?? now
            debts[key] = start + Self.interval
        }
    }

    /// No longer than a name can be.
    private static func key(_ name: String) -> String { String(name.prefix(100)) }
}
