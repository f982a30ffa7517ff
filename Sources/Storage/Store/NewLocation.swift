package import Base
package import Tracking

/// What is to be written for one admitted fix.
package struct NewLocation: Sendable {
    /// The admitted fix.
    package var location: Location
    /// The session it was admitted in.
    package var session: UUIDv7
    /// When that session began, for its row, which is written with its first location.
    package var sessionStartedAt: Timestamp
    /// Metres of the session, this fix included.
    package var odometer: Double
    /// The extras in force, a JSON object; nil when there are none.
    package var extras: String?
    /// The fix time is trusted well enough to call other rows old by it.
    package var prunesByAge: Bool
    /// Only rows before this time may be deleted for their age, because time has jumped since. nil: all old ones.
    package var agesOnlyBefore: Timestamp?
    /// What is to be remembered about the observed times; nil leaves what is stored.
    package var ages: AgeTrust.Memory?
    /// What must survive of motion; nil leaves what is stored. Written only when it differs.
    package var memory: Admission.Memory?
    /// What is to be remembered of the vehicle; nil leaves what is stored.
    package var vehicle: NewVehicle?
    /// The number of the run that its instant belongs to: within one they ascend, or the location is refused. 0 also is that of
    /// what had been stored before the daemon started. nil: nobody says.
    package var run: Int?

    /// Everything that one write needs.
    package init(
        location: Location, session: UUIDv7, sessionStartedAt: Timestamp, odometer: Double, extras: String?,
        prunesByAge: Bool, agesOnlyBefore: Timestamp? = nil, ages: AgeTrust.Memory? = nil,
        memory: Admission.Memory? = nil, vehicle: NewVehicle? = nil, run: Int? = nil
    ) {
        self.location = location
        self.session = session
        self.sessionStartedAt = sessionStartedAt
        self.odometer = odometer
        self.extras = extras
        self.prunesByAge = prunesByAge
        self.agesOnlyBefore = agesOnlyBefore
        self.ages = ages
        self.memory = memory
        self.vehicle = vehicle
        self.run = run
    }
}
