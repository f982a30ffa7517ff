/// What became of attempts to deliver something, since the start.
package struct DeliveryCounts: Sendable {
    package var accepted: UInt64 = 0
    /// Attempts that were not accepted.
    package var failed: UInt64 = 0
    /// Among these, those after which nothing more was tried.
    package var givenUp: UInt64 = 0

    package init() {}

    package static func += (left: inout DeliveryCounts, right: DeliveryCounts) {
        left.accepted += right.accepted
        left.failed += right.failed
        left.givenUp += right.givenUp
    }
}

/// What became of attempts, by place: of alerts, and of what is forwarded.
package struct DeliveryTally<Place: Hashable & Sendable>: Sendable {
    package private(set) var counts: [Place: DeliveryCounts] = [:]
    /// Places that did not accept the last attempt, and what they said then.
    package private(set) var failing: [Place: String] = [:]

    package init() {}

    /// - Returns: whether the attempt before had failed, which is worth a line.
    package mutating func accept(_ place: Place, _ count: Int = 1) -> Bool {
        counts[place, default: DeliveryCounts()].accepted += UInt64(max(0, count))
        return failing.removeValue(forKey: place) != nil
    }

    /// - Returns: whether the attempt before had not failed, which is worth a line.
    package mutating func fail(_ place: Place, _ reason: String) -> Bool {
        counts[place, default: DeliveryCounts()].failed += 1
        return failing.updateValue(reason, forKey: place) == nil
    }

    /// The last attempt of something.
    package mutating func giveUp(_ place: Place) {
        counts[place, default: DeliveryCounts()].failed += 1
        counts[place, default: DeliveryCounts()].givenUp += 1
    }
}
