/// A calendar date, proleptic Gregorian.
///
/// After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (`days_from_civil` and its inverse): years are
/// counted from March, so that the leap day comes last and every 400 years have 146,097 days.
package struct CivilDate: Equatable, Sendable {
    /// 0 is the year before year 1.
    package let year: Int64
    /// 1…12.
    package let month: Int64
    /// 1…31.
    package let day: Int64

    /// - Returns: nil for a month or a day that does not exist, such as 29 February 2026.
    package init?(year: Int64, month: Int64, day: Int64) {
        guard (1...12).contains(month), day >= 1, day <= Self.days(inMonth: month, of: year) else {
            return nil
        }
        self.year = year
        self.month = month
        self.day = day
    }

    /// - Parameter days: since 1970-01-01; negative before.
    package init(daysSince1970 days: Int64) {
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Negative before 1970-01-01.
    package var daysSince1970: Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let (era, yearOfEra) = shifted.flooredDivision(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        default: 31
        }
    }
}

extension Timestamp {
    /// The date in UTC.
    package var date: CivilDate {
        CivilDate(daysSince1970: milliseconds.flooredDivision(by: 86_400_000).quotient)
    }

    /// Milliseconds since midnight UTC.
    package var millisecondOfDay: Int64 { milliseconds.flooredDivision(by: 86_400_000).remainder }
}

extension Int64 {
    /// Rounds towards negative infinity, so that the remainder is never negative.
    package func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
