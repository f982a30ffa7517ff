package import Base

/// What is known of the battery, and when it is read: as seldom as whoever asks allows, and once at a time. Pure.
package struct BatteryWatch: Sendable {
    /// Seconds; as old may be what is kept with a location. Reading one may take the controller of a laptop some milliseconds.
    package static let interval = 60.0
    /// Seconds after which nothing is said any more by a battery that does not answer.
    package static let expiry = 600.0

    package enum Advice: Equatable, Sendable {
        /// What is known will do.
        case take(Battery?)
        /// The battery is to be read now, and the answer waited for; `end` tells it.
        case read
        /// Somebody reads it already: the answer is to be waited for so many seconds.
        case wait(Double)
    }

    private var latest: (battery: Battery?, at: BootInstant)?
    /// The reading under way.
    private var begun: BootInstant?

    package init() {}

    /// - Parameters:
    ///   - age: seconds; what is as old will do.
    ///   - patience: seconds that an answer is waited for. One reading is never waited for longer, however many ask.
    package mutating func ask(notOlderThan age: Double, patience: Double, now: BootInstant) -> Advice {
        if let latest, now.seconds(since: latest.at) < age { return .take(latest.battery) }
        guard let begun else {
            begun = now
            return .read
        }
        let left = patience - now.seconds(since: begun)
        return left > 0 ? .wait(min(left, patience)) : .take(latest(now: now))
    }

    /// The reading could not be begun.
    package mutating func giveUp() { begun = nil }

    /// A reading has ended.
    ///
    /// - Parameters:
    ///   - battery: nil: there is none.
    ///   - now: when it was begun.
    package mutating func end(with battery: Battery?, now: BootInstant) {
        (latest, begun) = ((battery, now), nil)
    }

    /// What it said last, unless that is too long ago.
    package func latest(now: BootInstant) -> Battery? {
        guard let latest, now.seconds(since: latest.at) < Self.expiry else { return nil }
        return latest.battery
    }
}
