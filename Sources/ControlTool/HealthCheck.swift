package import ControlProtocol

/// How the daemon does, for monitors: in a word, an exit code and the problems.
package struct HealthCheck: Encodable, Sendable {
    package enum Result: String, Encodable, Sendable {
        /// All is well.
        case ok
        /// Something wants attention, and nothing stands still.
        case degraded
        /// Fixes do not come, are not stored, or are not accepted, and waiting does not help.
        case failing
        /// The daemon does not answer.
        case noDaemon = "no_daemon"
        /// The daemon cannot be asked from here, and may be well.
        case unknown
    }

    package let result: Result
    /// A sentence each; empty when all is well.
    package let problems: [String]

    /// Exit code by the convention of Nagios plugins: 0, 1, 2, 3.
    package var exitCode: Int32 {
        switch result {
        case .ok: 0
        case .degraded: 1
        case .failing: 2
        case .noDaemon, .unknown: 3
        }
    }

    /// - Parameter clock: that of the reader.
    package init(_ status: Wire.Status, clock: LocalClock) {
        problems = Advice.all(status, clock: clock)
        result = problems.isEmpty ? .ok : Self.isFailing(status) ? .failing : .degraded
    }

    /// - Parameter message: why it cannot be asked.
    package init(_ failure: ClientFailure.Kind, message: String) {
        result =
            switch failure {
            case .unreachable, .timedOut: .noDaemon
            case .permissionDenied, .badReply, .badPath, .system: .unknown
            }
        problems = [Text.safe(message)]
    }

    /// The word, then the problems, a line each.
    package var lines: [String] {
        let word =
            result == .ok ? "all is well" : result.rawValue.split(separator: "_").joined(separator: " ")
        return [word] + problems
    }

    private static func isFailing(_ status: Wire.Status) -> Bool {
        let isBlind =
            switch status.source.health {
            case .disconnected, .noDevice, .stale: status.state == .tracking
            case .released, .noFix, .unsettled, .ok: false
            }
        let syncs = [status.sync] + status.destinations.map(\.sync)
        let auths = [status.auth] + status.destinations.map(\.auth)
        return status.store.degraded || isBlind || syncs.contains { $0.state == .failed }
            || auths.contains { $0.state == "dead" } || status.degraded.contains("loss")
    }
}
