package import Base
internal import Glibc

/// A time zone: its offset from UTC as a function of time.
package struct Zone: Sendable {
    /// Name of the zone in tables.
    package let name: String
    private let rule: @Sendable (Int64) -> Int

    /// - Parameter rule: seconds east of UTC at a moment in Unix seconds.
    package init(name: String, rule: @escaping @Sendable (Int64) -> Int) {
        self.name = name
        self.rule = rule
    }

    package static let utc = Zone(name: "UTC") { _ in 0 }

    /// The time zone of this host and user.
    package static let local = Zone(name: "local") { seconds in
        var time = time_t(seconds)
        var fields = tm()
        guard localtime_r(&time, &fields) != nil else { return 0 }
        return fields.tm_gmtoff
    }

    /// Seconds east of UTC at a moment in Unix seconds.
    package func offset(at seconds: Int64) -> Int { rule(seconds) }

    /// The moment at which clocks of this zone show the given local time, encoded as if it were UTC. If there are two
    /// (in autumn), the first; if there is none (in spring), the same time before the change.
    package func moment(showing wall: Int64) -> Int64 {
        let before = Int64(offset(at: wall - 86_400))
        let after = Int64(offset(at: wall + 86_400))
        if Int64(offset(at: wall - before)) == before { return wall - before }
        return Int64(offset(at: wall - after)) == after ? wall - after : wall - before
    }
}

extension Timestamp {
    /// The current time of the system clock.
    package static func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// `2026-06-15 12:34:10` in a time zone.
    package func text(in zone: Zone) -> String {
        let local = advanced(bySeconds: Double(zone.offset(at: unixSeconds))).iso8601
        return "\(local.prefix(10)) \(local.dropFirst(11).prefix(8))"
    }
}
