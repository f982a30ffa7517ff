package import Base

/// Parses the times that users type.
package enum TimeArgument {
    /// Text that is not a time; `description` says what would be.
    package struct Invalid: Error, CustomStringConvertible, Equatable {
        /// One sentence.
        package let description: String
    }

    /// 0001-01-01: what ISO 8601 can express with a four-digit year, and without a year 0.
    private static let earliest = Timestamp(milliseconds: -62_135_596_800_000)

    /// Parses `now`, `today` or `yesterday` (midnight in `zone`), an age such as `-2h` or `2h`, or ISO 8601 such as `2026-06-15`,
    /// `2026-06-15T12:34`, `2026-06-15T12:34:10.5Z` or `…+02:00`. A time without a zone is in `zone`.
    package static func instant(_ text: String, now: Timestamp, zone: Zone) throws(Invalid) -> Timestamp {
        switch text {
        case "now": return now
        case "today", "yesterday":
            let local = now.advanced(bySeconds: Double(zone.offset(at: now.unixSeconds)))
            let day = local.date.daysSince1970 - (text == "today" ? 0 : 1)
            return Timestamp(milliseconds: zone.moment(showing: day * 86_400) * 1000)
        default: break
        }
        // Nobody asks for the future.
        if let age = seconds(text.hasPrefix("-") ? text.dropFirst() : text[...]) {
            return max(now.advanced(bySeconds: -Double(age)), Self.earliest)
        }
        if let instant = iso(text, zone: zone) { return instant }
        throw Invalid(
            description:
                "\"\(Text.safe(text))\" is not a time: give now, today, yesterday, an age such as 2h (s, m, h, d, w), "
                + "or ISO-8601 such as 2026-06-15T12:34:00Z")
    }

    /// Parses a duration such as `90s`, `15m`, `2h`, `7d` or `1w` into seconds.
    package static func duration(_ text: String) throws(Invalid) -> Int64 {
        // Accept for --last what works for --from.
        guard let seconds = seconds(text.hasPrefix("-") ? text.dropFirst() : text[...]) else {
            throw Invalid(
                description:
                    "\"\(Text.safe(text))\" is not a duration: give a whole number and s, m, h, d or "
                    + "w, such as 2h")
        }
        return seconds
    }

    private static func seconds(_ text: Substring) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let last = text.last, let unit = units[last] else { return nil }
        // Nine digits of weeks do not overflow.
        guard let count = number(text.dropLast(), digits: 1...9) else { return nil }
        return Int64(count) * unit
    }

    private static func iso(_ text: String, zone: Zone) -> Timestamp? {
        var rest = text[...]
        guard let days = date(&rest) else { return nil }
        guard !rest.isEmpty else {
            return Timestamp(milliseconds: zone.moment(showing: days * 86_400) * 1000)
        }
        guard let separator = rest.popFirst(), "Tt ".contains(separator) else { return nil }
        guard let time = timeOfDay(&rest) else { return nil }
        let wall = days * 86_400 + time.seconds
        if rest.isEmpty {
            return Timestamp(milliseconds: zone.moment(showing: wall) * 1000 + time.milliseconds)
        }
        guard let offset = offset(rest) else { return nil }
        return Timestamp(milliseconds: (wall - offset) * 1000 + time.milliseconds)
    }

    /// Parses `2026-06-15` into days since 1970.
    private static func date(_ rest: inout Substring) -> Int64? {
        let parts = rest.prefix(10).split(separator: "-", omittingEmptySubsequences: false)
        guard rest.count >= 10, parts.count == 3,
            let year = number(parts[0], digits: 4...4), let month = number(parts[1], digits: 2...2),
            let day = number(parts[2], digits: 2...2),
            year >= 1, let date = CivilDate(year: Int64(year), month: Int64(month), day: Int64(day))
        else { return nil }
        rest = rest.dropFirst(10)
        return date.daysSince1970
    }

    /// Parses `12:34`, `12:34:10` or `12:34:10.5`, up to the zone.
    private static func timeOfDay(_ rest: inout Substring) -> (seconds: Int64, milliseconds: Int64)? {
        let text = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ":" || $0 == ".") }
        rest = rest.dropFirst(text.count)
        let halves = text.split(separator: ".", omittingEmptySubsequences: false)
        let parts = halves.first.map { $0.split(separator: ":", omittingEmptySubsequences: false) } ?? []
        let numbers = parts.compactMap { number($0, digits: 2...2) }
        guard (2...3).contains(parts.count), numbers.count == parts.count, halves.count <= 2 else {
            return nil
        }
        let second = numbers.count == 3 ? numbers[2] : 0
        guard numbers[0] < 24, numbers[1] < 60, second < 60 else { return nil }
        var milliseconds = 0
        if halves.count == 2 {
            guard parts.count == 3, number(halves[1], digits: 1...9) != nil else { return nil }
            // Digits beyond milliseconds are truncated.
            milliseconds = number(Text.left(String(halves[1].prefix(3)), 3).map { $0 == " " ? "0" : $0 }) ?? 0
        }
        return (Int64(numbers[0] * 3600 + numbers[1] * 60 + second), Int64(milliseconds))
    }

    /// Parses `Z`, `+02:00` or `+0200` into seconds east of UTC.
    private static func offset(_ text: Substring) -> Int64? {
        if text == "Z" || text == "z" { return 0 }
        guard let sign = text.first, sign == "+" || sign == "-" else { return nil }
        let digits = text.dropFirst().filter { $0 != ":" }
        guard text.dropFirst().count == (text.contains(":") ? 5 : 4),
            let hours = number(digits.prefix(2), digits: 2...2),
            let minutes = number(digits.dropFirst(2), digits: 2...2), hours < 24, minutes < 60
        else { return nil }
        return Int64(hours * 3600 + minutes * 60) * (sign == "-" ? -1 : 1)
    }

    private static func number(_ characters: [Character]) -> Int? {
        number(Substring(String(characters)), digits: 1...9)
    }

    /// Digits only: `Int` would accept a sign, too.
    private static func number(_ text: some StringProtocol, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.count), text.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        return Int(text)
    }
}
