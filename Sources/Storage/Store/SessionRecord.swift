package import Base
package import Tracking

/// What is known of the last admitted fix of a session, also when its row has left the database.
package struct SessionTail: Equatable, Sendable {
    /// What the gate compares with; nil when nothing has been admitted.
    package var reference: Gate.Reference?
    /// Metres.
    package var odometer: Double
    /// What was known of motion when it was stored.
    package var memory: Admission.Memory
    /// What was known of the vehicle.
    package var vehicle: VehicleTail

    /// All belong to one session.
    package init(
        reference: Gate.Reference?, odometer: Double, memory: Admission.Memory = Admission.Memory(),
        vehicle: VehicleTail = VehicleTail()
    ) {
        self.reference = reference
        self.odometer = odometer
        self.memory = memory
        self.vehicle = vehicle
    }
}

/// One start…stop run. Its counts include what has been uploaded and deleted.
package struct SessionRecord: Equatable, Sendable {
    /// The id that uploads name.
    package var id: UUIDv7
    /// When tracking was started.
    package var startedAt: Timestamp
    /// When it was stopped; nil while it is under way.
    package var stoppedAt: Timestamp?
    /// Admitted in it.
    package var locations: Int
    /// Metres.
    package var distance: Double
}
