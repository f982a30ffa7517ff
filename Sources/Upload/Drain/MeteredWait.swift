package import Base
package import DaemonConfiguration

/// What is known of the way to a destination.
package struct RouteFacts: Equatable, Sendable {
    /// The interface of the route; nil when there is none.
    package var interface: String?
    /// The interface is that of the default route, of which alone NetworkManager speaks.
    package var isDefault: Bool
    /// NetworkManager calls its primary connection metered, or guesses so.
    package var isCalledMetered: Bool

    package init(interface: String?, isDefault: Bool, isCalledMetered: Bool) {
        self.interface = interface
        self.isDefault = isDefault
        self.isCalledMetered = isCalledMetered
    }

    /// Without a route nothing can be sent, and nothing is saved by waiting.
    package func isMetered(_ settings: Settings.Metered) -> Bool {
        guard let interface else { return false }
        return isDefault && isCalledMetered
            || settings.interfaces.contains { Self.matches(interface, pattern: $0) }
    }

    /// Like the shell: `*` is any text, `?` any one character. Takes steps in proportion to the product of both lengths at
    /// most.
    static func matches(_ name: String, pattern: String) -> Bool {
        let (name, pattern) = (Array(name.utf8), Array(pattern.utf8))
        var (here, there) = (0, 0)
        // The latest asterisk, and where what it stands for ends.
        var star: (pattern: Int, name: Int)?
        while here < name.count {
            if there < pattern.count, pattern[there] == UInt8(ascii: "*") {
                star = (there, here)
                there += 1
            } else if there < pattern.count,
                pattern[there] == UInt8(ascii: "?") || pattern[there] == name[here]
            {
                (here, there) = (here + 1, there + 1)
            } else if let last = star {
                star = (last.pattern, last.name + 1)
                (here, there) = (last.name + 1, last.pattern + 1)
            } else {
                return false
            }
        }
        return pattern[there...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}

/// Decides whether what is due goes over a metered route, or waits for another one. Pure: facts and time are arguments.
package struct MeteredWait: Equatable, Sendable {
    /// What becomes of what is due.
    package enum Verdict: Equatable, Sendable {
        case send
        /// The route is to be looked at again at this time, if nothing is heard of it before.
        case wait(until: BootInstant)
    }

    /// Seconds: changes of other routes than the default ones are not announced.
    static let recheck = 60.0

    /// Since when something that is due has waited; nil while nothing does.
    private var since: BootInstant?
    /// The patience is at its end: until the next `done`, attempts follow their schedule.
    private var isImpatient = false

    package init() {}

    /// Something is due, and no person has asked for it.
    ///
    /// - Parameters:
    ///   - isMetered: the route is.
    ///   - overdue: seconds by which it was due already when it began to wait, as far as is known: before a restart, for
    ///     instance. 0 or more.
    ///   - patience: seconds that it may wait; 0 is for ever.
    package mutating func decide(
        isMetered: Bool, overdue: Double, patience: Double, now: BootInstant
    ) -> Verdict {
        guard isMetered else {
            self = MeteredWait()
            return .send
        }
        if isImpatient { return .send }
        let began = since ?? now.advanced(bySeconds: -max(overdue, 0))
        since = began
        let recheck = now.advanced(bySeconds: Self.recheck)
        guard patience > 0 else { return .wait(until: recheck) }
        let end = began.advanced(bySeconds: patience)
        guard now >= end else { return .wait(until: min(end, recheck)) }
        isImpatient = true
        return .send
    }

    /// Ends the wait, as nothing is due any more: the next one begins anew.
    package mutating func done() {
        self = MeteredWait()
    }
}
