internal import Glibc

/// What a run has shown, in words.
package struct FleetReport {
    private let run: Run
    private let seconds: Double

    /// - Parameter seconds: what the run took.
    package init(_ run: Run, seconds: Double) {
        (self.run, self.seconds) = (run, seconds)
    }

    private static func number(_ value: Double, _ digits: Int) -> String {
        let scale = pow(10, Double(digits))
        let whole = Int((value * scale).rounded())
        guard digits > 0 else { return "\(whole)" }
        let rest = String(whole % Int(scale))
        return "\(whole / Int(scale))." + String(repeating: "0", count: digits - rest.count) + rest
    }

    private static func percent(_ share: Double) -> String { number(share * 100, 1) + " %" }

    private static func span(_ seconds: Double) -> String {
        seconds < 120
            ? "\(Int(seconds.rounded())) s"
            : seconds < 7200 ? number(seconds / 60, 0) + " min" : number(seconds / 3600, 1) + " h"
    }

    private static func clock(_ run: Run, _ second: Int) -> String {
        let minutes = (Int(run.plan.startHour * 60) + second / 60) % 1440
        return "\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")\(minutes % 60)"
    }

    private var isOverloaded: Bool { run.plan.scenario == .slowServer }

    private var verdict: String {
        guard let bound = run.plan.scenario.bound else { return "none" }
        return Self.number(bound, 1) + (run.peak.ratio <= bound ? ", holds" : ", exceeded")
    }

    private var backlog: String {
        run.backlogGone.map { isOverloaded ? "at " + Self.clock(run, Int($0)) : Self.span($0) }
            ?? (run.late.allSatisfy { $0 * 1000 <= run.plan.vehicles } ? "none" : "not gone")
    }

    /// One row for the table of docs/fleet.md.
    package var row: String {
        let (peak, away, total) = (
            run.peak, run.turnedAway, run.traffic.seconds.reduce(0) { $0 + Int($1.requests) }
        )
        let cells = [
            run.plan.scenario.rawValue, "\(total)", Self.number(peak.mean / Double(run.window), 1),
            Self.number(Double(peak.requests) / Double(run.window), 1), Self.number(peak.ratio, 2), verdict,
            Self.percent(away.shed), Self.percent(away.lost), backlog, Self.span(run.longestWait),
        ]
        return "| " + cells.joined(separator: " | ") + " |"
    }

    /// A few lines.
    package var text: String {
        let (plan, peak, away, account) = (run.plan, run.peak, run.turnedAway, run.account)
        let traffic = run.traffic.seconds.reduce(into: (requests: 0, rows: 0, bytes: 0)) { sums, second in
            sums.requests += Int(second.requests)
            sums.rows += Int(second.rows)
            sums.bytes += Int(second.bytes)
        }
        let compared = plan.event == nil ? "in the hour around" : "in the half hour before"
        return """
            \(plan.vehicles) vehicles for \(Self.number(plan.hours, 1)) h, scenario \(plan.scenario.rawValue), seed \
            \(plan.seed): simulated in \(Self.number(seconds, 1)) s
            requests: \(traffic.requests), \(Self.number(Double(traffic.bytes) / 1e6, 1)) MB, \(traffic.rows) locations
            busiest 10 s: \(Self.number(Double(peak.requests) / Double(run.window), 1)) requests/s at \
            \(Self.clock(run, peak.second)), \(Self.number(peak.ratio, 2)) times the \
            \(Self.number(peak.mean / Double(run.window), 1)) \(compared); bound: \(verdict)
            server: busy \(Self.percent(run.need)) of its busiest hour; \(Self.percent(away.shed)) of the requests \
            answered with 503, \(Self.percent(away.lost)) not at all
            backlog gone: \(backlog); most late at once: \(run.late.max() ?? 0); longest wait of a vehicle online: \
            \(Self.span(run.longestWait))
            account: \(account.stored) stored = \(account.acknowledged) acknowledged + \(account.pending) pending; the \
            server has \(account.received), \(account.unsure) of them unknown to the vehicle; \(run.ledger.repeated) \
            batches came again
            """
    }
}

extension Run {
    /// By how much the writer has to be slowed for the server to be capable of half of what the busiest hour needs. Measured
    /// with a tenth of the fleet.
    package static func slowness(for plan: Fleet.Plan) -> Double {
        var calm = plan
        (calm.scenario, calm.startHour, calm.hours) = (.day, 5, 10)
        calm.vehicles = max(plan.vehicles / 10, min(plan.vehicles, 1000))
        let need = Run(calm).need * Double(plan.vehicles) / Double(calm.vehicles)
        return need > 0 ? 2 / need : 1
    }
}
