package import Base

/// Decides when a vehicle has stayed inside a geofence for as long as the fence asks: `dwell_seconds`. Pure.
///
/// It counts fix time from the persisted enter, also across power-off. The state of the fence decides whether the vehicle
/// is inside, with its hysteresis; a fix that lies outside while the exit is not decided yet brings no event.
package struct Dwell: Sendable {
    /// A stay whose event has not come yet; to be persisted beside the state of the fence.
    package struct Stay: Equatable, Sendable {
        /// Key of the fence.
        package var key: Int64
        /// Fix time of the enter.
        package var entered: Timestamp
        /// How long to stay, > 0.
        package var seconds: Double

        package init(key: Int64, entered: Timestamp, seconds: Double) {
            self.key = key
            self.entered = entered
            self.seconds = seconds
        }

        var due: Timestamp { entered.advanced(bySeconds: seconds) }
    }

    /// Fix time went back by more than this, in seconds: the enter was dated by a clock that was wrong.
    static let backwardsLimit = 1.0

    private var waiting: [Int64: Stay]
    /// The earliest of them, so that most fixes cost one comparison.
    private var due: Timestamp?
    private var last: Timestamp?

    /// - Parameter stays: those persisted; of fences that still ask for it.
    package init(_ stays: [Stay] = []) {
        waiting = Dictionary(stays.map { ($0.key, $0) }) { first, _ in first }
        due = waiting.values.map(\.due).min()
    }

    /// Whether there are stays whose event has not come yet.
    package var isWaiting: Bool { !waiting.isEmpty }

    /// To be persisted with the states.
    package var stays: [Stay] { waiting.values.sorted { $0.key < $1.key } }

    /// The vehicle entered a fence that asks for a stay. A fence whose event has come begins anew only by this.
    package mutating func enter(_ stay: Stay) {
        waiting[stay.key] = stay
        due = waiting.values.map(\.due).min()
    }

    /// The vehicle left the fence, or the fence was removed or asks no more.
    package mutating func leave(_ key: Int64) {
        guard waiting.removeValue(forKey: key) != nil else { return }
        due = waiting.values.map(\.due).min()
    }

    /// Processes the next settled fix, after the fences have judged it.
    ///
    /// - Parameter confirms: whether this fix shows the vehicle inside the fence with this key: it lies there, or the
    ///   vehicle is parked, whose position jitters.
    /// - Returns: the stays whose event happens with this fix; they wait no longer.
    package mutating func judge(at time: Timestamp, confirms: (Int64) -> Bool) -> [Stay] {
        defer { last = time }
        if last.map({ time.seconds(since: $0) < -Self.backwardsLimit }) ?? true { rebase(to: time) }
        guard let due, time >= due else { return [] }
        let reached = waiting.values.filter { $0.due <= time && confirms($0.key) }.sorted { $0.key < $1.key }
        for stay in reached { waiting[stay.key] = nil }
        if !reached.isEmpty { self.due = waiting.values.map(\.due).min() }
        return reached
    }

    /// A stay cannot have begun after the latest fix.
    private mutating func rebase(to time: Timestamp) {
        for (key, stay) in waiting where time.seconds(since: stay.entered) < -Self.backwardsLimit {
            waiting[key]?.entered = time
        }
        due = waiting.values.map(\.due).min()
    }
}
