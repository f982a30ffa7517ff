package import Base
package import Tracking

/// The trip under way, as it is kept in the database.
package struct StoredTrip: Equatable, Sendable {
    /// The trip up to the last stored fix.
    package var open: Trips.Open
    /// In which boot of the machine that was; nil where that could not be told.
    package var boot: BootID?
    /// How often the odometer had been set: it measures the trip.
    package var settings: Int

    /// - Parameters:
    ///   - boot: the present one.
    ///   - settings: as of the odometer.
    package init(_ open: Trips.Open, boot: BootID?, settings: Int) {
        self.open = open
        self.boot = boot
        self.settings = settings
    }
}

/// What is known of the vehicle with the last admitted fix of a session.
package struct VehicleTail: Equatable, Sendable {
    /// Metres since installation; nil when an earlier version stored the fix.
    package var mileage: Int64?
    /// nil between trips.
    package var trip: StoredTrip?

    /// The default values are those of a database of an earlier version.
    package init(mileage: Int64? = nil, trip: StoredTrip? = nil) {
        self.mileage = mileage
        self.trip = trip
    }

    /// Whether a trip has begun or ended between the two, or a stay in it: what is to be written with the row. Sums are
    /// written when rows leave, and found again in those that have not.
    func hasTurned(since earlier: VehicleTail) -> Bool {
        let (new, old) = (trip?.open, earlier.trip?.open)
        return new?.start.time != old?.start.time || new?.hasStarted != old?.hasStarted
            || (new?.stay == nil) != (old?.stay == nil)
    }
}

/// What a start goes on from.
package struct VehicleMemory: Equatable, Sendable {
    /// Where the odometer stood at the newest location of all; nil when none is known.
    package var odometer: Odometer.Memory?
    /// nil between trips.
    package var trip: StoredTrip?
}

/// What is written with a location about its vehicle, besides the mileage.
package struct NewVehicle: Equatable, Sendable {
    /// How often the odometer has been set.
    package var settings: Int
    /// The trip that the location belongs to; nil between trips.
    package var trip: StoredTrip?

    /// The state of the vehicle at one location.
    package init(settings: Int, trip: StoredTrip?) {
        self.settings = settings
        self.trip = trip
    }
}

/// What is written when trips end. Writing it twice changes nothing.
package struct NewTrips: Equatable, Sendable {
    /// Oldest first.
    package var ended: [Trip]
    /// The one under way then.
    package var open: StoredTrip?

    /// All of one fix, or of one moment.
    package init(ended: [Trip], open: StoredTrip?) {
        self.ended = ended
        self.open = open
    }

    /// The user deletes positions.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    package mutating func forgetPlaces(upTo cutoff: Timestamp?) {
        for index in ended.indices { ended[index].forgetPlaces(upTo: cutoff) }
        open?.open.forgetPlaces(upTo: cutoff)
    }
}
