/// A moment in UTC as Unix milliseconds, with its calendar fields.
public struct Timestamp: Equatable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public var unixMilliseconds: Int64

    /// - Parameter unixMilliseconds: since 1970-01-01T00:00:00Z.
    public init(unixMilliseconds: Int64) {
        self.unixMilliseconds = unixMilliseconds
    }

    /// Parses `2026-06-15T12:34:56Z`, with or without a fraction of a second. nil for anything else; only UTC is
    /// supported.
    public init?(iso8601 text: String) {
        var rest = Substring(text)
        guard let year = rest.parseNumber(digits: 4), rest.skip("-"),
            let month = rest.parseNumber(digits: 2), rest.skip("-"),
            let day = rest.parseNumber(digits: 2), rest.skip("T"),
            let hour = rest.parseNumber(digits: 2), rest.skip(":"),
            let minute = rest.parseNumber(digits: 2), rest.skip(":"),
            let second = rest.parseNumber(digits: 2)
        else { return nil }
        guard let milliseconds = rest.parseFraction(), rest == "Z" else { return nil }
        guard (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 60 else {
            return nil
        }
        let days = Self.days(year: year, month: month, day: day)
        guard Self.civil(days: days) == (year, month, day) else { return nil }
        let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
        self.init(unixMilliseconds: Int64(seconds) * 1000 + Int64(milliseconds))
    }

    /// Chronological order.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.unixMilliseconds < right.unixMilliseconds
    }

    /// The calendar date in UTC.
    var date: (year: Int, month: Int, day: Int) {
        Self.civil(days: Int((unixMilliseconds - Int64(millisecondOfDay)) / 86_400_000))
    }

    /// Milliseconds since midnight UTC.
    var millisecondOfDay: Int {
        let remainder = Int(unixMilliseconds % 86_400_000)
        return remainder < 0 ? remainder + 86_400_000 : remainder
    }

    /// Days from 1970-01-01 to a date. Years are counted from March, so that the leap day comes last.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}

extension Substring {
    fileprivate mutating func skip(_ character: Character) -> Bool {
        guard first == character else { return false }
        removeFirst()
        return true
    }

    fileprivate mutating func parseNumber(digits: Int) -> Int? {
        let head = prefix(digits)
        guard head.count == digits, head.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        removeFirst(digits)
        return Int(head)
    }

    /// The milliseconds of `.5`, `.123` or no fraction at all; nil for a point with no digits or too many.
    fileprivate mutating func parseFraction() -> Int? {
        guard skip(".") else { return 0 }
        let digits = prefix { $0.isASCII && $0.isNumber }
        guard (1...9).contains(digits.count) else { return nil }
        removeFirst(digits.count)
        return Int((digits + "00").prefix(3))
    }
}
