/// The rule of a POSIX TZ string, such as `CET-1CEST,M3.5.0,M10.5.0/3`, with the extensions of RFC 9636 3.3.1: times of
/// change from −167 to 167 hours. TZif files end in one; it says what holds after their last transition.
struct POSIXTimeZone: Equatable, Sendable {
    /// The day of a change.
    enum Day: Equatable, Sendable {
        /// 1…365; 29 February is never counted.
        case julian(Int64)
        /// 0…365; 29 February counts.
        case zeroBased(Int64)
        /// Week 5 is the last one; weekday 0 is Sunday.
        case weekday(month: Int64, week: Int64, weekday: Int64)
    }

    /// When the clocks change, by the local time until then.
    struct Change: Equatable, Sendable {
        var day: Day
        /// Seconds from midnight of that day.
        var second: Int64
    }

    /// Summer time; in some zones this is the winter's, with the lesser offset.
    struct Daylight: Equatable, Sendable {
        /// Seconds east of UTC.
        var offset: Int
        var start: Change
        var end: Change
    }

    /// Seconds east of UTC.
    let standard: Int
    /// nil when the clocks never change.
    let daylight: Daylight?

    /// Seconds east of UTC at a moment in Unix seconds.
    func offset(at second: Int64) -> Int {
        changes(around: second).last { $0.second <= second }?.offset ?? standard
    }

    /// The next moment after `second` at which the offset changes; nil if it never does.
    func change(after second: Int64) -> Int64? {
        let present = offset(at: second)
        return changes(around: second).first { $0.second > second && offset(at: $0.second) != present }?
            .second
    }

    /// All changes of the year of `second` and of its neighbours, in order. Where daylight saving time lasts all year,
    /// its end and its next start are the same moment, and the start comes last.
    private func changes(around second: Int64) -> [(second: Int64, offset: Int)] {
        guard let daylight else { return [] }
        let year = CivilDate(daysSince1970: second.flooredDivision(by: 86_400).quotient).year
        var changes: [(second: Int64, offset: Int)] = []
        for year in year - 1...year + 2 {
            let start = daylight.start.wallSecond(in: year) - Int64(standard)
            let end = daylight.end.wallSecond(in: year) - Int64(daylight.offset)
            changes.append((end, standard))
            changes.append((start, daylight.offset))
        }
        let order = changes.indices.sorted {
            (changes[$0].second, $0 % 2) < (changes[$1].second, $1 % 2)
        }
        return order.map { changes[$0] }
    }
}

extension POSIXTimeZone.Change {
    /// The moment as the clocks on the wall show it, in seconds since 1970-01-01 as if they showed UTC.
    func wallSecond(in year: Int64) -> Int64 { day.daysSince1970(in: year) * 86_400 + second }
}

extension POSIXTimeZone.Day {
    func daysSince1970(in year: Int64) -> Int64 {
        switch self {
        case .julian(let number):
            let isAfterFebruary = number > 59
            return first(of: 1, year) + number - 1 + (isAfterFebruary && isLeap(year) ? 1 : 0)
        case .zeroBased(let number): return first(of: 1, year) + number
        case .weekday(let month, let week, let weekday):
            let first = first(of: month, year)
            // 1970-01-01 was a Thursday.
            let firstWeekday = (first + 4).flooredDivision(by: 7).remainder
            let day = first + (weekday - firstWeekday + 7) % 7 + (week - 1) * 7
            let next = month == 12 ? self.first(of: 1, year + 1) : self.first(of: month + 1, year)
            return day < next ? day : day - 7
        }
    }

    private func first(of month: Int64, _ year: Int64) -> Int64 {
        CivilDate(year: year, month: month, day: 1)?.daysSince1970 ?? 0
    }

    private func isLeap(_ year: Int64) -> Bool {
        CivilDate(year: year, month: 2, day: 29) != nil
    }
}

extension POSIXTimeZone {
    /// - Parameter text: at most 128 bytes are looked at.
    /// - Returns: nil for what is no rule, and for daylight saving time without its dates.
    init?(_ text: some Sequence<UInt8>) {
        var scanner = Scanner(bytes: Array(text.prefix(129)))
        guard scanner.bytes.count <= 128, scanner.name(), let offset = scanner.offset() else { return nil }
        standard = -offset
        guard !scanner.isAtEnd else {
            daylight = nil
            return
        }
        guard scanner.name() else { return nil }
        var summer = standard + 3600
        if scanner.next != UInt8(ascii: ",") {
            guard let offset = scanner.offset() else { return nil }
            summer = -offset
        }
        guard scanner.skip(","), let start = scanner.change(), scanner.skip(","),
            let end = scanner.change(), scanner.isAtEnd
        else { return nil }
        daylight = Daylight(offset: summer, start: start, end: end)
    }

    private struct Scanner {
        let bytes: [UInt8]
        var position = 0

        var isAtEnd: Bool { position == bytes.count }
        var next: UInt8? { position < bytes.count ? bytes[position] : nil }

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard next == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        /// `CET`, or `<+0330>`: at least three characters.
        mutating func name() -> Bool {
            let isQuoted = skip("<")
            let start = position
            while let byte = next, isLetter(byte) || isQuoted && isDigitOrSign(byte) { position += 1 }
            return position - start >= 3 && (!isQuoted || skip(">"))
        }

        /// At most three digits.
        mutating func number(upTo limit: Int64) -> Int64? {
            var value: Int64 = 0
            let start = position
            while let byte = next, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9"), position - start < 3
            {
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
                position += 1
            }
            return position > start && value <= limit ? value : nil
        }

        /// `[+-]hh[:mm[:ss]]` in seconds.
        mutating func time(hours limit: Int64) -> Int64? {
            let isNegative = skip("-")
            if !isNegative { _ = skip("+") }
            guard let hours = number(upTo: limit) else { return nil }
            var seconds = hours * 3600
            for unit: Int64 in [60, 1] where skip(":") {
                guard let part = number(upTo: 59) else { return nil }
                seconds += part * unit
            }
            return isNegative ? -seconds : seconds
        }

        /// Seconds west of UTC.
        mutating func offset() -> Int? { time(hours: 24).map { Int($0) } }

        mutating func change() -> Change? {
            guard let day = day() else { return nil }
            guard skip("/") else { return Change(day: day, second: 7200) }
            return time(hours: 167).map { Change(day: day, second: $0) }
        }

        private mutating func day() -> Day? {
            if skip("J") { return number(upTo: 365).flatMap { $0 > 0 ? .julian($0) : nil } }
            guard skip("M") else { return number(upTo: 365).map { .zeroBased($0) } }
            guard let month = number(upTo: 12), month > 0, skip("."), let week = number(upTo: 5), week > 0,
                skip("."), let weekday = number(upTo: 6)
            else { return nil }
            return .weekday(month: month, week: week, weekday: weekday)
        }

        private func isLetter(_ byte: UInt8) -> Bool {
            let lower = byte | 0x20
            return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z")
        }

        private func isDigitOrSign(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
                || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
        }
    }
}
