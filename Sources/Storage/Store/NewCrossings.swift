package import Base
package import Tracking

/// What is to be written of the geofences for one fix: in the transaction of its location, if it has one.
package struct NewCrossings: Sendable {
    /// To be stored and uploaded; may be empty.
    package var events: [GeofenceEvent]
    /// The states that go with them.
    package var changes: [Geofences.Change]
    /// The session under way, or the one of the events between two sessions.
    package var session: UUIDv7
    /// When that session began, for its row, which is written with its first event.
    package var sessionStartedAt: Timestamp
    /// The session is one of tracking.
    package var isTracking: Bool
    /// The extras in force, a JSON object; nil when there are none.
    package var extras: String?
    /// Of the fix.
    package var time: Timestamp
    /// The fix time is trusted well enough to call other rows old by it.
    package var prunesByAge: Bool
    /// Only rows before this time may be deleted for their age, because time has jumped since. nil: all old ones.
    package var agesOnlyBefore: Timestamp?
    /// Trips that end with the fix; nil when none does.
    package var trips: NewTrips?

    /// Everything that one write needs.
    package init(
        events: [GeofenceEvent], changes: [Geofences.Change], session: UUIDv7, sessionStartedAt: Timestamp,
        isTracking: Bool, extras: String?, time: Timestamp, prunesByAge: Bool,
        agesOnlyBefore: Timestamp? = nil
    ) {
        self.events = events
        self.changes = changes
        self.session = session
        self.sessionStartedAt = sessionStartedAt
        self.isTracking = isTracking
        self.extras = extras
        self.time = time
        self.prunesByAge = prunesByAge
        self.agesOnlyBefore = agesOnlyBefore
    }
}
