package import Base

/// When to track, by the clock on the wall: windows of the week. Pure: time and time zone are arguments.
///
/// A window holds at an instant if the local wall time lies in [start, end). One whose end is not after its start runs
/// past midnight and belongs to the day of its start. So changes of daylight saving time need no rule of their own: an
/// hour that does not exist is in no window, one that comes twice is in it twice.
package struct TrackingSchedule: Equatable, Sendable {
    /// A span of the same times on some days of the week.
    package struct Window: Equatable, Sendable {
        /// Days on which it starts; 0 is Monday.
        package var days: Set<Int>
        /// Seconds since midnight, 0 ≤ start < 86,400.
        package var start: Int
        /// Seconds since midnight, 0 ≤ end ≤ 86,400; at or before the start it is on the next day.
        package var end: Int

        /// Whether it is open at this second of this day of the week.
        func holds(_ day: Int, _ second: Int) -> Bool {
            guard end <= start else { return days.contains(day) && (start..<end).contains(second) }
            return second >= start && days.contains(day) || second < end && days.contains((day + 6) % 7)
        }
    }

    /// The schedule opens or closes.
    package struct Edge: Equatable, Sendable {
        package var time: Timestamp
        /// Whether it is open from then on.
        package var isOpen: Bool
    }

    /// Windows in a schedule.
    package static let limit = 64
    private static let day: Int64 = 86_400
    private static let week: Int64 = 7 * day
    /// Seconds; whatever does not change in that time never does. A window may be skipped by the clocks one week, and
    /// be closed in its whole length by those around it in no other.
    private static let horizon: Int64 = 3 * week

    /// Not empty.
    package let windows: [Window]
    /// Seconds since Monday 00:00 at which a window may open or close, in order.
    private let boundaries: [Int64]

    init(windows: [Window]) {
        self.windows = windows
        let boundaries = windows.flatMap { window in
            window.days.flatMap { day in
                [window.start, window.end + (window.end <= window.start ? 86_400 : 0)].map {
                    (Int64(day) * Self.day + Int64($0)) % Self.week
                }
            }
        }
        self.boundaries = Set(boundaries).sorted()
    }

    /// Whether a window holds.
    package func isOpen(at time: Timestamp, in zone: TimeZoneRules) -> Bool {
        let (day, second) = Self.wall(time, zone).flooredDivision(by: Self.day)
        let weekday = Int(Self.weekday(of: day))
        return windows.contains { $0.holds(weekday, Int(second)) }
    }

    /// The next moment after `time` at which it opens or closes; nil if it never does.
    package func nextEdge(after time: Timestamp, in zone: TimeZoneRules) -> Edge? {
        let isOpen = isOpen(at: time, in: zone)
        let end = time.advanced(bySeconds: Double(Self.horizon))
        var reached = Timestamp(unixSeconds: time.unixSeconds)
        while let candidate = nextCandidate(after: reached, in: zone), candidate <= end, candidate > reached {
            if self.isOpen(at: candidate, in: zone) != isOpen {
                return Edge(time: candidate, isOpen: !isOpen)
            }
            reached = candidate
        }
        return nil
    }

    /// The latest moment up to `time` at which it opened or closed; nil if there is none within three weeks.
    package func latestEdge(upTo time: Timestamp, in zone: TimeZoneRules) -> Edge? {
        var latest: Edge?
        var reached = time.advanced(bySeconds: -Double(Self.horizon))
        while let edge = nextEdge(after: reached, in: zone), edge.time <= time {
            latest = edge
            reached = edge.time
        }
        return latest
    }

    /// The next moment at which a window may open or close, or the clocks change.
    private func nextCandidate(after time: Timestamp, in zone: TimeZoneRules) -> Timestamp? {
        let (day, second) = Self.wall(time, zone).flooredDivision(by: Self.day)
        let inWeek = Self.weekday(of: day) * Self.day + second
        guard let first = boundaries.first else { return nil }
        let boundary = boundaries.first { $0 > inWeek } ?? first + Self.week
        let next = Timestamp(unixSeconds: time.unixSeconds &+ boundary - inWeek)
        guard let change = zone.nextTransition(after: time), change < next else { return next }
        return change
    }

    /// Seconds since 1970-01-01 00:00 on the local clock.
    private static func wall(_ time: Timestamp, _ zone: TimeZoneRules) -> Int64 {
        time.unixSeconds + Int64(zone.offset(at: time))
    }

    /// 0 is Monday; 1970-01-01 was a Thursday.
    private static func weekday(of day: Int64) -> Int64 { (day + 3).flooredDivision(by: 7).remainder }
}
