internal import Base

/// Reports external power lost and back, from its debounced level. Pure.
///
/// Unlike the ignition it says nothing of the time in which the machine was off: a battery may have kept it running until
/// it was empty, or somebody has switched it off.
package struct ExternalPower: Equatable, Sendable {
    /// An event.
    package struct Event: Equatable, Sendable {
        /// Back; else lost.
        package var isBack: Bool
        package var time: EventTime

        package init(isBack: Bool, time: EventTime) {
            self.isBack = isBack
            self.time = time
        }
    }

    /// Whether there was external power when that was last known; nil while it never was. To be persisted.
    package private(set) var isPresent: Bool?

    /// - Parameter isPresent: as persisted.
    package init(isPresent: Bool? = nil) {
        self.isPresent = isPresent
    }

    /// Processes a debounced level.
    ///
    /// - Parameters:
    ///   - boot: the present one.
    ///   - anchor: nil while no time can be trusted.
    /// - Returns: nil when nothing has changed against what was known; the first level of all is none of its changes.
    package mutating func observe(
        _ edge: LevelDebounce.Edge, boot: BootID, anchor: EventTime.Anchor?
    ) -> Event? {
        let before = isPresent
        isPresent = edge.isOn
        guard let before, before != edge.isOn else { return nil }
        return Event(isBack: edge.isOn, time: EventTime(at: edge.at, boot: boot, anchor: anchor))
    }
}
