internal import HTTPTypes
internal import ServerStore
internal import Synchronization

/// What this server counts of its work. Increments alone: nothing is computed before somebody asks.
final class Meters: Sendable {
    struct Request: Hashable, Comparable {
        let route: String
        let code: Int

        static func < (left: Request, right: Request) -> Bool {
            (left.route, left.code) < (right.route, right.code)
        }
    }

    struct Counts {
        var requests: [Request: UInt64] = [:]
        var rows = Receipt()
        /// Installations that showed tokens of devices that are others, each once.
        var otherInstallations: UInt64 = 0
        /// Batches whose id was known with other rows.
        var reusedIDs: UInt64 = 0
        /// Devices that have sent such a batch; each is logged once.
        fileprivate var reusers: Set<Int64> = []
        /// Lines that were logged of them, by device.
        fileprivate var installationLines: [Int64: Int] = [:]
        /// Refresh tokens that were shown after their end, within a minute and later.
        var endedTokens = (overtaken: UInt64(0), late: UInt64(0))
        /// Batches by how long their COMMIT took: one count for each bound, and one for what took longer.
        var batches = [UInt64](repeating: 0, count: Meters.bounds.count + 1)
        /// Seconds of all of them.
        var seconds = 0.0
    }

    /// Seconds.
    static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

    /// Devices whose use of ids is logged.
    private static let mostReusers = 1000
    /// Installations of a device that are logged: as many as the database keeps.
    private static let mostLines = 8

    /// Before requests are read.
    let door = Doorman.Counts()
    private let state = Mutex(Counts())

    var counts: Counts { state.withLock { $0 } }

    /// - Parameter route: the template of a route: there are few, whatever is asked for.
    func note(_ status: HTTPResponse.Status, route: String) {
        state.withLock { $0.requests[Request(route: route, code: status.code), default: 0] += 1 }
    }

    /// A refresh token was shown after its end.
    func noteEndedToken(isLate: Bool) {
        state.withLock { counts in
            if isLate { counts.endedTokens.late += 1 } else { counts.endedTokens.overtaken += 1 }
        }
    }

    /// A device has used the id of a batch again.
    ///
    /// - Returns: whether it is the first time since the start.
    func isFirstReuse(by device: Int64) -> Bool {
        state.withLock { $0.reusers.count < Self.mostReusers && $0.reusers.insert(device).inserted }
    }

    /// Another installation has shown the tokens of a device.
    ///
    /// - Returns: whether it is the last that is to be logged since the start; nil: it is not to be.
    func isWorthALine(for device: Int64) -> Bool? {
        state.withLock { counts in
            let lines = counts.installationLines[device] ?? 0
            guard lines < Self.mostLines, lines > 0 || counts.installationLines.count < Self.mostReusers
            else {
                return nil
            }
            counts.installationLines[device] = lines + 1
            return lines + 1 == Self.mostLines
        }
    }

    /// A batch that can no longer be lost.
    func note(_ receipt: Receipt, after duration: Duration) {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
        let place = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        state.withLock { counts in
            counts.rows.stored += receipt.stored
            counts.rows.duplicates += receipt.duplicates
            counts.rows.expired += receipt.expired
            counts.batches[place] += 1
            if receipt.otherInstallation != nil { counts.otherInstallations += 1 }
            if receipt.hasOtherRows { counts.reusedIDs += 1 }
            counts.seconds += seconds
        }
    }
}
