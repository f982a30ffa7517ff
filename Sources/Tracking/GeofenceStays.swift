internal import Base

/// Which geofences the vehicle is in, since when, and whose stay has been long enough. Pure.
struct GeofenceStays: Sendable {
    /// Fix times of the enter, by key; without those whose stay has been recorded.
    private(set) var entered: [Int64: Timestamp] = [:]
    private var dwell = Dwell()

    init() {}

    /// - Parameter known: of each fence that the vehicle is in its key, the fix time of the enter, and the seconds that it
    ///   asks for, if it does.
    init(_ known: [(key: Int64, entered: Timestamp, seconds: Double?)]) {
        for stay in known { entered[stay.key] = stay.entered }
        dwell = Dwell(
            known.compactMap { stay in
                stay.seconds.map { Dwell.Stay(key: stay.key, entered: stay.entered, seconds: $0) }
            })
    }

    /// Whether there are stays whose event has not come yet.
    var isWaiting: Bool { dwell.isWaiting }

    /// - Parameter seconds: what the fence asks for; nil: nothing.
    mutating func enter(_ key: Int64, at time: Timestamp, asking seconds: Double?) {
        entered[key] = time
        ask(key, for: seconds)
    }

    /// The fence asks for another stay, or for none any more. Without a known enter it gets none.
    mutating func ask(_ key: Int64, for seconds: Double?) {
        dwell.leave(key)
        guard let seconds, let time = entered[key] else { return }
        dwell.enter(Dwell.Stay(key: key, entered: time, seconds: seconds))
    }

    /// The vehicle has left the fence, or the fence is gone.
    mutating func leave(_ key: Int64) {
        entered[key] = nil
        dwell.leave(key)
    }

    /// Processes the next settled fix, after the fences have judged it.
    ///
    /// - Parameter confirms: whether this fix shows the vehicle inside the fence with this key.
    /// - Returns: the stays that have been long enough.
    mutating func judge(at time: Timestamp, confirms: (Int64) -> Bool) -> [Dwell.Stay] {
        let reached = dwell.judge(at: time, confirms: confirms)
        for stay in reached { entered[stay.key] = nil }
        return reached
    }
}
