internal import Glibc

/// A moment, in Unix milliseconds.
public struct Instant: Sendable, Equatable, Comparable {
    /// Since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// What ISO 8601 can express with a four-digit year, from year 1 on.
    public static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    /// Clamps to `range`.
    public init(milliseconds: Int64) {
        self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound)
    }

    /// Chronological order.
    public static func < (a: Instant, b: Instant) -> Bool { a.milliseconds < b.milliseconds }

    /// The current time of the system clock.
    public static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// In the interface's format: `2026-06-15T12:34:10.000Z`.
    public var iso: String {
        let fields = Civil(milliseconds: milliseconds)
        let fraction = pad(Int(milliseconds - fields.wholeSeconds * 1000), 3)
        return "\(fields.date)T\(fields.time).\(fraction)Z"
    }

    /// `2026-06-15 12:34:10` in a time zone.
    public func text(in zone: Zone) -> String {
        let local = Civil(milliseconds: milliseconds + Int64(zone.offset(at: seconds)) * 1000)
        return "\(local.date) \(local.time)"
    }

    /// Whole seconds since 1970, rounded down.
    var seconds: Int64 { Civil(milliseconds: milliseconds).wholeSeconds }
}

/// A time zone: its offset from UTC as a function of time.
public struct Zone: Sendable {
    /// Its name in tables.
    public let name: String
    private let rule: @Sendable (Int64) -> Int

    /// - Parameter rule: seconds east of UTC at a moment in Unix seconds.
    public init(name: String, rule: @escaping @Sendable (Int64) -> Int) {
        self.name = name
        self.rule = rule
    }

    /// UTC.
    public static let utc = Zone(name: "UTC") { _ in 0 }

    /// The time zone of this host and user.
    public static let local = Zone(name: "local") { seconds in
        var time = time_t(seconds)
        var fields = tm()
        guard localtime_r(&time, &fields) != nil else { return 0 }
        return fields.tm_gmtoff
    }

    /// Seconds east of UTC at a moment in Unix seconds.
    public func offset(at seconds: Int64) -> Int { rule(seconds) }

    /// The moment at which clocks of this zone show the given local time, encoded as if it were UTC. If there are two
    /// (in autumn), the first; if there is none (in spring), the same time before the change.
    public func moment(showing wall: Int64) -> Int64 {
        let before = Int64(offset(at: wall - 86_400))
        let after = Int64(offset(at: wall + 86_400))
        if Int64(offset(at: wall - before)) == before { return wall - before }
        return Int64(offset(at: wall - after)) == after ? wall - after : wall - before
    }
}

/// Calendar fields of a moment, proleptic Gregorian.
struct Civil {
    let wholeSeconds: Int64
    let year: Int64
    let month: Int64
    let day: Int64

    init(milliseconds: Int64) {
        wholeSeconds = (milliseconds - (milliseconds % 1000 + 1000) % 1000) / 1000
        let days = (wholeSeconds - Self.secondOfDay(wholeSeconds)) / 86_400
        // Years are counted from March, so that the leap day comes last and every 400 years have 146,097 days.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Days since 1970-01-01.
    static func days(year: Int, month: Int, day: Int) -> Int64 {
        let shiftedYear = Int64(month <= 2 ? year - 1 : year)
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func secondOfDay(_ seconds: Int64) -> Int64 { (seconds % 86_400 + 86_400) % 86_400 }

    var date: String { "\(pad(Int(year), 4))-\(pad(Int(month), 2))-\(pad(Int(day), 2))" }

    var time: String {
        let second = Int(Self.secondOfDay(wholeSeconds))
        return "\(pad(second / 3600, 2)):\(pad(second / 60 % 60, 2)):\(pad(second % 60, 2))"
    }
}

func pad(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
