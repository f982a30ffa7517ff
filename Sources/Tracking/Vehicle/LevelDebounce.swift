package import Base

/// Takes a level (ignition, external power) as changed once it has held for a while. Pure: boot time is an argument.
package struct LevelDebounce: Equatable, Sendable {
    /// A change of the level.
    package struct Edge: Equatable, Sendable {
        package var isOn: Bool
        /// When it changed, not when it had held for long enough.
        package var at: BootInstant

        package init(isOn: Bool, at: BootInstant) {
            self.isOn = isOn
            self.at = at
        }
    }

    /// How long a new level must hold; 0 takes it at once.
    package var seconds: Double
    /// nil until it has been read, and while it cannot be.
    package private(set) var level: Bool?
    private var candidate: Edge?

    package init(seconds: Double) {
        self.seconds = seconds
    }

    /// When `expire` is due; nil while nothing changes.
    package var deadline: BootInstant? { candidate?.at.advanced(bySeconds: seconds) }

    /// Processes what has been read. The first level counts at once: there is nothing that it could bounce from.
    ///
    /// - Returns: the change that this, or the time since the last one, has made sure.
    package mutating func take(_ isOn: Bool, now: BootInstant) -> Edge? {
        guard let known = level else {
            level = isOn
            return Edge(isOn: isOn, at: now)
        }
        // Told late: what held before this for long enough was a change.
        if let edge = expire(now: now) {
            if isOn != edge.isOn { candidate = Edge(isOn: isOn, at: now) }
            return edge
        }
        guard isOn != known else {
            candidate = nil
            return nil
        }
        if candidate == nil { candidate = Edge(isOn: isOn, at: now) }
        return expire(now: now)
    }

    /// - Returns: the change that has held for long enough.
    package mutating func expire(now: BootInstant) -> Edge? {
        guard let edge = candidate, let deadline, deadline <= now else { return nil }
        candidate = nil
        level = edge.isOn
        return edge
    }

    /// Readings are missing: what was about to count begins anew.
    package mutating func interrupt() {
        candidate = nil
    }

    /// The level can be read no more: no such line, chip or supply.
    package mutating func lose() {
        level = nil
        candidate = nil
    }
}
