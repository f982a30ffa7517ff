internal import Base

/// A run from its beginning to its end, and what it has shown.
package struct Run {
    package let plan: Fleet.Plan
    package let traffic: Traffic
    package let ledger: FleetLedger
    package let account: Account
    /// How many vehicles were late at each minute.
    package private(set) var late: [Int] = []
    /// Seconds that a vehicle has waited at most, online with something pending, until something was accepted or the end.
    package let longestWait: Double

    /// Seconds of the windows in which requests are counted.
    package let window: Int

    /// Vehicles of which as small a part is late are a backlog that is gone: their own networks are to blame.
    static let lateShare = 0.001

    /// Lets everything happen.
    ///
    /// - Parameter window: seconds; a small fleet needs longer ones to be told from chance.
    package init(_ plan: Fleet.Plan, window: Int = 10) {
        var fleet = Fleet(plan)
        var longestWait = 0.0
        for minute in 1...max(Int(plan.hours * 60), 1) {
            let now = plan.start.advanced(bySeconds: Double(minute) * 60)
            fleet.run(until: now)
            late.append(fleet.late(at: now))
            longestWait = max(longestWait, fleet.longestWaiting(at: now))
        }
        (self.plan, self.window) = (plan, window)
        (traffic, ledger, account) = (fleet.traffic, fleet.ledger, fleet.account)
        self.longestWait = max(longestWait, fleet.ledger.longestWait)
    }

    // MARK: Requests

    /// The busiest window, and what it is compared with.
    package struct Peak: Equatable, Sendable {
        /// Requests in it.
        package var requests: Int
        /// Seconds from the beginning until it begins.
        package var second: Int
        /// Requests in a window on average: see `Scenario.bound`.
        package var mean: Double

        package var ratio: Double { mean > 0 ? Double(requests) / mean : 0 }
    }

    /// Where nothing happens, each window is compared with the hour around it, because how many drive changes over the day.
    /// Where something does, those after it are compared with the half hour before.
    package var peak: Peak {
        guard let event = plan.event else { return dayPeak }
        let windows = traffic.windows(window)
        let (begin, end) = (Int(event.lowerBound), Int(event.upperBound))
        let mean = traffic.mean(begin - 1800..<begin, window)
        let after = windows.indices.filter { $0 >= end }
        let second = after.max { windows[$0] < windows[$1] } ?? 0
        return Peak(requests: windows.isEmpty ? 0 : windows[second], second: second, mean: mean)
    }

    private var dayPeak: Peak {
        let windows = traffic.windows(window)
        var sums = [0]
        for second in traffic.seconds { sums.append(sums[sums.count - 1] + Int(second.requests)) }
        var peak = Peak(requests: 0, second: 0, mean: 1)
        for (second, requests) in windows.enumerated() {
            let (from, to) = (max(second - 1800, 0), min(second + 1800, traffic.seconds.count))
            let mean = Double(sums[to] - sums[from]) / Double(to - from) * Double(window)
            if mean > 0, Double(requests) / mean > peak.ratio {
                peak = Peak(requests: requests, second: second, mean: mean)
            }
        }
        return peak
    }

    // MARK: The server

    /// Seconds of the writer, in each second of the hour in which there was most for it to do.
    package var need: Double {
        let hour = min(3600, traffic.seconds.count)
        let work = zip(traffic.windows(hour) { $0.accepted }, traffic.windows(hour) { $0.rows }).map {
            Double($0) * plan.capacity.request + Double($1) * plan.capacity.row
        }
        return (work.max() ?? 0) / Double(max(hour, 1))
    }

    /// Which part of the requests was answered with 503, and which was not answered at all.
    package var turnedAway: (shed: Double, lost: Double) {
        let (requests, shed, lost) = traffic.seconds.reduce(into: (0, 0, 0)) { sums, second in
            sums.0 += Int(second.requests)
            sums.1 += Int(second.shed)
            sums.2 += Int(second.lost)
        }
        let all = Double(max(requests, 1))
        return (Double(shed) / all, Double(lost) / all)
    }

    // MARK: Who is served

    /// Seconds from the end of what happened, or of the longest time in which vehicles were late, until few are; nil: they
    /// still are, or never were.
    package var backlogGone: Double? {
        let most = Int(Double(plan.vehicles) * Self.lateShare)
        guard let last = late.lastIndex(where: { $0 > most }), last + 1 < late.count else { return nil }
        let second = Double(last + 2) * 60
        return max(second - (plan.event?.upperBound ?? 0), 0)
    }
}
