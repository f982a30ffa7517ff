package import Tracking

/// What a sensor reports to the loop that owns it.
package enum SensorEvent: Equatable, Sendable {
    /// The level: the first one since it can be read, and each change that has held for long enough.
    case level(LevelDebounce.Edge)
    /// The level can be read no more, or for another reason than before: a sentence with what to do. It is tried again.
    case lost(String)
}

/// When a level that cannot be read is tried again, and when one is read although nobody says that it has changed.
enum Patience {
    /// Seconds before the first of them: a driver may only be on its way.
    static let first = 1.0
    /// Seconds between two, at most; and between two looks at a level. A driver that does not say that a level has
    /// changed, or that a chip has gone, is found out after so long.
    static let longest = 60.0
}
