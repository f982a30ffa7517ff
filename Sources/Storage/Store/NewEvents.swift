package import Base
package import Tracking

/// What is to be written besides a location: what a fix has decided, in the transaction of its location, if it has one; or
/// what has happened without a fix.
package struct NewEvents: Sendable {
    /// To be stored and uploaded; may be empty.
    package var events: [GeofenceEvent]
    /// What else has happened; may be empty.
    package var vehicleEvents: [VehicleEvent]
    /// The states of geofences that go with them.
    package var changes: [Geofences.Change]
    /// The keys of geofences of which the state is not known any more.
    package var forgotten: [Int64] = []
    /// The session under way, or the one of the events between two sessions.
    package var session: UUIDv7
    /// When that session began, for its row, which is written with its first event.
    package var sessionStartedAt: Timestamp
    /// The session is one of tracking.
    package var isTracking: Bool
    /// The extras in force, a JSON object; nil when there are none.
    package var extras: String?
    /// Time of the fix; else the present.
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
        agesOnlyBefore: Timestamp? = nil, vehicleEvents: [VehicleEvent] = []
    ) {
        self.events = events
        self.vehicleEvents = vehicleEvents
        self.changes = changes
        self.session = session
        self.sessionStartedAt = sessionStartedAt
        self.isTracking = isTracking
        self.extras = extras
        self.time = time
        self.prunesByAge = prunesByAge
        self.agesOnlyBefore = agesOnlyBefore
    }

    /// Events of every kind.
    package var all: [RecordedEvent] { events.map { .crossing($0) } + vehicleEvents.map { .vehicle($0) } }
}
