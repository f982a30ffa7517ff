package import Base

/// What reached the server, second by second.
package struct Traffic: Sendable {
    /// What reached the server in one second.
    package struct Second: Equatable, Sendable {
        /// Requests that came, whatever became of them; a connection that was asked for again counts once.
        package var requests: UInt32 = 0
        /// Requests that were accepted.
        package var accepted: UInt32 = 0
        /// Answered with 503.
        package var shed: UInt32 = 0
        /// Connections that were refused or ignored to the end.
        package var lost: UInt32 = 0
        package var rows: UInt32 = 0
        package var bytes: UInt32 = 0
    }

    package let start: BootInstant
    package internal(set) var seconds: [Second]

    package init(start: BootInstant, hours: Double) {
        self.start = start
        seconds = Array(repeating: Second(), count: Int((hours * 3600).rounded(.up)))
    }

    mutating func note(_ now: BootInstant, _ change: (inout Second) -> Void) {
        let second = Int(now.seconds(since: start))
        if seconds.indices.contains(second) { change(&seconds[second]) }
    }

    /// How many in each window of `length` seconds, one for each second that one can begin at.
    package func windows(
        _ length: Int, of part: (Second) -> UInt32 = { $0.requests }
    ) -> [Int] {
        guard length > 0, seconds.count >= length else { return [] }
        var sum = seconds[..<length].reduce(0) { $0 + Int(part($1)) }
        var windows = [sum]
        windows.reserveCapacity(seconds.count - length + 1)
        for second in length..<seconds.count {
            sum += Int(part(seconds[second])) - Int(part(seconds[second - length]))
            windows.append(sum)
        }
        return windows
    }

    /// How many on average in a window of `length` seconds, over these seconds.
    package func mean(_ range: Range<Int>, _ length: Int, of part: (Second) -> UInt32 = { $0.requests })
        -> Double
    {
        let clamped = range.clamped(to: 0..<seconds.count)
        guard !clamped.isEmpty else { return 0 }
        let sum = seconds[clamped].reduce(0) { $0 + Int(part($1)) }
        return Double(sum) / Double(clamped.count) * Double(length)
    }
}
