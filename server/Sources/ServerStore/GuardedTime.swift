package import Base

/// The time by which what is stored grows old: it follows the clocks, and no leap of theirs before that is confirmed. A value;
/// who calls reads the clocks and keeps it.
package struct GuardedTime: Equatable, Sendable {
    /// A clock that is more than a day ahead, and is watched.
    package struct Leap: Equatable, Sendable {
        /// What it showed at the last look.
        package var wall: Timestamp
        /// Milliseconds of running for which it has not stepped again.
        package var held: Int64 = 0
        /// Milliseconds of running for which the kernel called the clock synchronised, without a break.
        package var synchronised: Int64 = 0
    }

    /// What the devices say that were heard of within the last day of running; one vote each.
    package struct Votes: Equatable, Sendable {
        package var all = 0
        /// Devices that name a time within a day of the clock.
        package var near = 0
        /// Devices that name a time that is more than a day ahead of the clock.
        package var ahead = 0

        package init(all: Int = 0, near: Int = 0, ahead: Int = 0) {
            self.all = all
            self.near = near
            self.ahead = ahead
        }

        /// Enough of them to believe the clock.
        var confirm: Bool { Self.isMajority(near, of: all) }
        /// Enough of them to believe that the clock is behind.
        package var contradict: Bool { Self.isMajority(ahead, of: all) }

        private static func isMajority(_ count: Int, of all: Int) -> Bool {
            count >= least && 4 * count >= 3 * all
        }

        private static let least = 3

        /// Votes that have to be there, all in all, for so many that are ahead not to contradict; 0: too few are ahead to contradict.
        static func decisive(_ ahead: Int) -> Int { ahead < least ? 0 : 4 * ahead / 3 + 1 }
    }

    /// One look at the clocks.
    package struct Look: Equatable, Sendable {
        /// The lesser of the server's clock and the database's.
        package var wall: Timestamp
        /// Milliseconds of CLOCK_BOOTTIME since this process advanced the time last; nil when another did since, or none.
        package var ran: Int64?
        /// Milliseconds since this process looked before, when another had looked last by then and has not since.
        package var since: Int64?
        package var isSynchronised: Bool
        package var votes: Votes
        /// By an admin.
        package var isConfirmed: Bool
        /// The process watches the leap; of several servers one does.
        package var isWatching: Bool

        package init(
            wall: Timestamp, ran: Int64?, since: Int64? = nil, isSynchronised: Bool = false,
            votes: Votes = Votes(),
            isConfirmed: Bool = false, isWatching: Bool = true
        ) {
            self.wall = wall
            self.ran = ran
            self.since = since
            self.isSynchronised = isSynchronised
            self.votes = votes
            self.isConfirmed = isConfirmed
            self.isWatching = isWatching
        }
    }

    /// 2026-11-01T00:00:00Z, about when this version was released: no clock that is right shows an earlier time.
    package static let release = Timestamp(milliseconds: 1_793_491_200_000)
    /// Milliseconds that a clock may be ahead without being asked why: a night without power.
    package static let slack: Int64 = 86_400_000
    /// Milliseconds by which a clock and CLOCK_BOOTTIME may part between two looks: what NTP puts right.
    private static let drift: Int64 = 600_000
    /// Milliseconds between two looks of one server, about, and some more.
    private static let round: Int64 = 120_000
    /// Milliseconds that may pass while no server runs; nobody can tell them from a step.
    private static let pause: Int64 = 7 * 86_400_000
    /// Milliseconds of running for which a leap must hold.
    private static let patience: Int64 = 7 * 86_400_000
    private static let patienceSynchronised: Int64 = 86_400_000

    package var time: Timestamp
    /// Milliseconds for which servers have run, all in all.
    package var running: Int64
    package var leap: Leap?

    package init(time: Timestamp = release, running: Int64 = 0, leap: Leap? = nil) {
        self.time = time
        self.running = running
        self.leap = leap
    }

    package func isAhead(_ wall: Timestamp) -> Bool { wall.milliseconds > time.milliseconds + Self.slack }

    /// Follows the clock, or watches it.
    package mutating func advance(_ look: Look) {
        let ran = max(0, look.ran ?? 0)
        running += ran
        guard isAhead(look.wall) else {
            time = max(time, look.wall)
            if look.isWatching { leap = nil }
            return
        }
        time = min(look.wall, Timestamp(milliseconds: time.milliseconds + ran))
        if look.isWatching { watch(look, ran) }
        guard look.isConfirmed || look.votes.confirm || hasHeld else { return }
        time = look.wall
        leap = nil
    }

    private mutating func watch(_ look: Look, _ ran: Int64) {
        guard var known = leap else {
            leap = Leap(wall: look.wall)
            return
        }
        let progress = look.wall.milliseconds - known.wall.milliseconds
        let expected =
            if let ran = look.ran {
                ran - Self.drift...ran + Self.drift
            } else if let since = look.since {
                since - Self.drift...since + Self.round + Self.drift
            } else {
                -Self.drift...Self.pause
            }
        known.held = expected.contains(progress) ? known.held + ran : 0
        known.synchronised =
            expected.contains(progress) && look.isSynchronised ? known.synchronised + ran : 0
        known.wall = look.wall
        leap = known
    }

    private var hasHeld: Bool {
        guard let leap else { return false }
        return leap.held >= Self.patience || leap.synchronised >= Self.patienceSynchronised
    }
}
