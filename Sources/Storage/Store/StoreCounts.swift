package import Base

/// What the store holds, for status.
package struct StoreCounts: Equatable, Sendable {
    /// All rows, uploaded ones that are kept included.
    package var locations = 0
    /// Locations and geofence events that no backend has acknowledged.
    package var pending = 0
    /// The time of the oldest of those; nil when there are none.
    package var oldestPending: Timestamp?
    /// Dead letters.
    package var rejected = 0
    /// Lost for good since this database was created.
    package var losses = Losses()
}
