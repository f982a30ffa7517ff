import Base

/// What the daemon says of itself, held against what it has said before.
final class StatusLaws {
    /// What the main thread reads from the boards and the store.
    struct Status {
        /// By name, since the process began.
        var counters: [String: Int] = [:]
        /// By name: kept over restarts.
        var lasting: [String: Int] = [:]
        /// Why the status is degraded.
        var troubles: [String] = []
    }

    private unowned let laws: Laws
    private var counters: [String: Int] = [:]
    private var lasting: [String: Int] = [:]

    init(_ laws: Laws) { self.laws = laws }

    /// docs/observability.md: counters never go back, those that are kept not over a restart either.
    func look(_ status: Status) {
        hold(&counters, status.counters)
        hold(&lasting, status.lasting)
    }

    private func hold(_ known: inout [String: Int], _ found: [String: Int]) {
        for (name, count) in found {
            if let before = known[name], count < before {
                laws.broken("\(name) goes back from \(before) to \(count)")
            }
        }
        known = found
    }

    /// A process has died.
    ///
    /// - Parameter isDurable: all that it had written is there.
    func died(isDurable: Bool) {
        counters = [:]
        // docs/durability.md, "Where it ends".
        if !isDurable { lasting = [:] }
    }

    /// All faults have ceased, and everything has arrived: nothing is the matter any more.
    func ended(_ status: Status) {
        look(status)
        if let first = status.troubles.first { laws.broken("without a fault the status says: \(first)") }
    }
}
