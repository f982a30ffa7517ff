/// Counts the connections to one destination that were closed without an answer after the request had been sent.
///
/// A lost network looks the same, so one of them says nothing. Ten in a row are the server's answer: Traccar closes the
/// connection on what it cannot read. From then on they count as a permanent refusal, until something is answered.
package struct SilentCloses: Equatable, Sendable {
    /// In a row.
    package static let limit = 10

    /// How an attempt ended.
    package enum Ending: Equatable, Sendable {
        /// With any answer.
        case answered
        case closed
        /// Nothing was sent, or the time ran out, or the daemon broke it off: that says nothing about the server.
        case neither

        package init(_ delivery: Delivery) {
            self =
                switch delivery {
                case .answer: .answered
                case .failure(let failure):
                    failure.wasSent && !failure.isTimeout && failure.kind == .network ? .closed : .neither
                case .unmatched, .cancelled: .neither
                }
        }
    }

    /// Must outlive the daemon: a vehicle may be powered for no more than an attempt or two at a time. 0…`limit`.
    package private(set) var count: Int

    /// - Parameter count: as stored; 0 for a new destination, and after a change of its url or format.
    package init(count: Int = 0) {
        self.count = min(max(count, 0), Self.limit)
    }

    /// - Returns: whether this ending is a permanent refusal.
    package mutating func observe(_ ending: Ending) -> Bool {
        switch ending {
        case .answered: count = 0
        case .closed: count = min(count + 1, Self.limit)
        case .neither: return false
        }
        return count == Self.limit
    }
}
