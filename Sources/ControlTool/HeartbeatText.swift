package import ControlProtocol

/// The heartbeats of one destination in words.
package struct HeartbeatText {
    private let heartbeat: Wire.Heartbeat
    private let clock: LocalClock

    package init(_ heartbeat: Wire.Heartbeat, clock: LocalClock) {
        self.heartbeat = heartbeat
        self.clock = clock
    }

    /// The server has refused one, and none is sent for a while.
    package var isPaused: Bool { heartbeat.pausedUntil != nil }

    /// The server's answer, such as `400`, where it refused one.
    var refusal: String { heartbeat.refusedStatus.map { "\($0)" } ?? "with a refusal" }

    /// For a line of its own: `heartbeat every 1 h 00 min: last 12 min ago, next in 48 min`, in at most 70 columns.
    var phrase: String { (isPaused ? "no heartbeats " : "heartbeat ") + words }

    /// Where it is clear what is meant: `every 1 h 00 min: last 12 min ago, next in 48 min`.
    package var summary: String { (isPaused ? "none " : "") + words }

    private var words: String {
        if let until = heartbeat.pausedUntil {
            return "until \(clock.local(until)): the server answered \(refusal)"
        }
        let last = heartbeat.last.map { "last " + clock.age($0) } ?? "none yet"
        return "every \(Quantity.duration(seconds: interval)): \(last)" + next
    }

    private var interval: Int64 { Int64(exactly: heartbeat.intervalSeconds.rounded()) ?? 0 }

    private var next: String {
        guard let next = heartbeat.next, let seconds = clock.secondsSince(next) else { return "" }
        return seconds >= 0 ? ", next due now" : ", next \(clock.age(next))"
    }
}
