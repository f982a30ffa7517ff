/// A time zone as a value: its offset from UTC at any moment, and when that changes. Pure: whoever makes one has read
/// the file.
///
/// libc takes a misspelt zone for UTC without a word, and its zone is one for the whole process.
package struct TimeZoneRules: Equatable, Sendable {
    /// What is wrong with a file.
    package struct Flaw: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    /// From a moment in Unix seconds on, an offset in seconds east of UTC holds.
    struct Transition: Equatable, Sendable {
        var second: Int64
        var offset: Int
    }

    /// In ascending order of time.
    private let transitions: [Transition]
    /// Seconds east of UTC before the first transition.
    private let first: Int
    /// What holds after the last transition; nil: its offset for ever.
    private let rule: POSIXTimeZone?

    init(transitions: [Transition], first: Int, rule: POSIXTimeZone?) {
        self.transitions = transitions
        self.first = first
        self.rule = rule
    }

    package static let utc = TimeZoneRules(transitions: [], first: 0, rule: nil)

    /// Seconds east of UTC.
    package func offset(at time: Timestamp) -> Int {
        let second = time.unixSeconds
        let index = firstIndex(after: second)
        if index == transitions.count, let rule { return rule.offset(at: second) }
        return index == 0 ? first : transitions[index - 1].offset
    }

    /// The first moment after `time` at which the offset changes; nil if it never does.
    package func nextTransition(after time: Timestamp) -> Timestamp? {
        let present = offset(at: time)
        let index = firstIndex(after: time.unixSeconds)
        if let next = transitions[index...].first(where: { $0.offset != present }) {
            return Timestamp(unixSeconds: next.second)
        }
        let last = max(transitions.last?.second ?? .min, time.unixSeconds)
        return rule?.change(after: last).map { Timestamp(unixSeconds: $0) }
    }

    private func firstIndex(after second: Int64) -> Int {
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle].second <= second { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Timestamp {
    /// Since 1970, rounded down.
    package var unixSeconds: Int64 { milliseconds.flooredDivision(by: 1000).quotient }

    /// Saturates at the limits of Int64 milliseconds.
    package init(unixSeconds: Int64) {
        let (product, isTooLarge) = unixSeconds.multipliedReportingOverflow(by: 1000)
        self.init(milliseconds: isTooLarge ? (unixSeconds < 0 ? .min : .max) : product)
    }
}
