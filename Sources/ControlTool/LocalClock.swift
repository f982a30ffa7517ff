package import Base

/// The current time and the reader's time zone.
package struct LocalClock: Sendable {
    package let now: Timestamp
    package let zone: Zone

    /// Time and zone for one text: neither changes while it is composed.
    package init(now: Timestamp, zone: Zone) {
        self.now = now
        self.zone = zone
    }

    /// A time of the interface in the reader's zone; anything that is not a time is shown as it is.
    func local(_ iso: String) -> String {
        guard let instant = parse(iso) else { return Text.cut(Text.safe(iso), to: 30) }
        return instant.text(in: zone)
    }

    /// `12 s ago`, `in 3 min 5 s`.
    func age(_ iso: String) -> String {
        guard let instant = parse(iso) else { return Text.cut(Text.safe(iso), to: 30) }
        let seconds = (now.milliseconds - instant.milliseconds) / 1000
        if seconds < 0 { return "in " + Quantity.duration(seconds: -seconds) }
        return seconds == 0 ? "now" : Quantity.duration(seconds: seconds) + " ago"
    }

    /// The duration between two times, or until now; nil when the start is not a time.
    func length(from iso: String, to end: String? = nil) -> String? {
        guard let start = parse(iso) else { return nil }
        let end = end.flatMap(parse) ?? now
        return Quantity.duration(seconds: (end.milliseconds - start.milliseconds) / 1000)
    }

    /// Seconds since a time of the interface; negative for the future.
    package func secondsSince(_ iso: String) -> Int64? {
        parse(iso).map { (now.milliseconds - $0.milliseconds) / 1000 }
    }

    private func parse(_ iso: String) -> Timestamp? { Self.utc(iso) }

    /// Parses a time of the interface.
    static func utc(_ iso: String) -> Timestamp? {
        try? TimeArgument.instant(iso, now: Timestamp(milliseconds: 0), zone: .utc)
    }
}
