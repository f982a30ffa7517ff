package import Base

/// Follows a schedule as time passes, and makes up for what it missed while the machine was off or suspended. Pure.
///
/// Time here is a clock that is known to be right. A change of the schedule or of its zone begins a new watch.
package struct ScheduleWatch: Sendable {
    package enum Verdict: Equatable, Sendable {
        /// Nobody knows whether a window is open: gpsd is to be read until its time has settled, and the wish holds.
        case timeUnknown
        /// The schedule has opened or closed: this wish is to be judged.
        case wish(Wish)
        /// Nothing changes before `deadline`.
        case wait
    }

    package let schedule: TrackingSchedule
    package let zone: TimeZoneRules
    /// When to look again; nil while time is unknown, and if the schedule never changes.
    package private(set) var deadline: Timestamp?
    private var last: Timestamp?

    package init(_ schedule: TrackingSchedule, in zone: TimeZoneRules) {
        self.schedule = schedule
        self.zone = zone
    }

    /// Looks at the clock: at the start, at the deadline, when the time becomes known, and after a step of the clock
    /// or a suspension.
    ///
    /// - Parameters:
    ///   - time: nil while the clock is unknown.
    ///   - present: the wish in force. It is settled where that is due, and is then to be persisted.
    package mutating func look(_ time: Timestamp?, present: inout Wish?) -> Verdict {
        guard let time else {
            // Once it has been known this is a clock in doubt for a while: nothing is missed by waiting.
            return last == nil ? .timeUnknown : .wait
        }
        defer {
            last = time
            deadline = schedule.nextEdge(after: time, in: zone)?.time
        }
        let isContinuous = last.map { time >= $0 } ?? false
        if !isContinuous { present?.settle(at: time) }
        if isContinuous, deadline.map({ time < $0 }) ?? true { return .wait }
        guard let wish = wish(at: time, after: present), wish.judge(after: present) == .taken else {
            return .wait
        }
        return .wish(wish)
    }

    /// What the schedule last decided. What it had decided before is decided again: schedule or clock may have changed.
    private func wish(at time: Timestamp, after present: Wish?) -> Wish? {
        let edge = schedule.latestEdge(upTo: time, in: zone)
        if let present, present.origin != .schedule {
            return edge.map { Wish(tracks: $0.isOpen, origin: .schedule, time: $0.time) }
        }
        let isOpen = schedule.isOpen(at: time, in: zone)
        guard isOpen != present?.tracks else { return nil }
        return Wish(tracks: isOpen, origin: .schedule, time: edge?.time ?? time)
    }
}
