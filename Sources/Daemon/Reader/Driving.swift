internal import Base
internal import Storage
internal import Tracking

/// The odometer and the trips, as the fixes make them. Pure: no clock, no I/O.
///
/// Nothing counts before the store has said where the odometer stood: the next fix then continues from there.
struct Driving {
    /// The settings that decide.
    struct Thresholds: Equatable {
        var trips: Trips.Thresholds
        /// Metres per second; what is faster is no movement.
        var fastest: Double { trips.fastest }
    }

    /// nil until the store has said where it stood.
    private(set) var odometer: Odometer?
    private(set) var trips: Trips
    private let boot: BootID
    private var thresholds: Thresholds
    /// The latest fix, by both clocks.
    private var heard: (time: Timestamp, now: BootInstant)?

    /// - Parameter boot: the present one.
    init(thresholds: Thresholds, boot: BootID) {
        self.thresholds = thresholds
        self.boot = boot
        trips = Trips(thresholds: thresholds.trips)
    }

    /// Changes what applies from the next fix on.
    mutating func configure(_ thresholds: Thresholds) {
        self.thresholds = thresholds
        trips.thresholds = thresholds.trips
        odometer?.fastest = thresholds.fastest
    }

    /// Goes on from what was stored.
    ///
    /// - Parameters:
    ///   - memory: as of `Odometer.Memory.latest`.
    ///   - trip: the one under way, if there was one.
    ///   - isTracking: otherwise the stay has begun.
    /// - Returns: what has ended meanwhile.
    mutating func resume(
        _ memory: Odometer.Memory, trip: StoredTrip?, isTracking: Bool
    ) -> [Trips.Change] {
        odometer = Odometer(memory, fastest: thresholds.fastest)
        trips = Trips(trip?.open, thresholds: thresholds.trips)
        if let trip, trip.settings != memory.settings {
            trips.shiftOdometer(by: memory.metres - trip.open.last.odometer)
        }
        let changes = trips.start(isNewBoot: trip.map { $0.boot != boot } ?? false)
        if !isTracking { trips.release() }
        return changes
    }

    /// Processes the next settled fix. Trips are made of what is tracked, and of nothing else: where somebody has been who
    /// has stopped it is not recorded.
    ///
    /// - Parameter ignition: whether it is on; nil where none is configured, or its state is unknown.
    mutating func observe(
        _ observed: Admission.Observation, ignition: Bool?, isTracking: Bool, now: BootInstant
    ) -> [Trips.Change] {
        guard odometer != nil else { return [] }
        heard = (observed.fix.time, now)
        odometer?.observe(observed, ignition: ignition)
        guard isTracking else { return trips.expire(at: observed.fix.time) }
        return trips.observe(observed, odometer: odometer?.metres ?? 0, ignition: ignition)
    }

    /// The ignition was switched, between two fixes.
    ///
    /// - Parameter time: in the time of the fixes.
    mutating func ignitionChanged(isOn: Bool, at time: Timestamp) -> [Trips.Change] {
        guard let odometer else { return [] }
        return trips.ignitionChanged(isOn: isOn, at: time, odometer: odometer.metres)
    }

    /// The present in the time of the fixes, which may be those of a recording; nil before the first.
    func time(now: BootInstant) -> Timestamp? {
        heard.map { $0.time.advanced(bySeconds: now.seconds(since: $0.now)) }
    }

    /// Ends the trip if its stay has become long enough.
    ///
    /// - Parameter time: by a clock that is known to be right.
    mutating func expire(at time: Timestamp) -> [Trips.Change] { trips.expire(at: time) }

    /// Ends tracking: the stay begins with the last fix.
    mutating func endTracking() { trips.release() }

    /// Fixes are read no more: the next position does not continue the last one.
    mutating func release() {
        odometer?.forgetPlace()
        trips.release()
    }

    /// The user deletes positions: the sums stay.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    mutating func forgetPlaces(upTo cutoff: Timestamp?) {
        trips.forgetPlaces(upTo: cutoff)
        if let time = odometer?.memory.place?.time, cutoff.map({ time <= $0 }) ?? true {
            odometer?.forgetPlace()
        }
    }

    /// The vehicle's own odometer says otherwise.
    mutating func set(_ changed: Odometer) {
        // The trip's length is a difference.
        trips.shiftOdometer(by: changed.metres - (odometer?.metres ?? 0))
        odometer = changed
    }

    /// What has been written beside the database may be gone.
    mutating func forgetKept() { odometer?.forgetKept() }

    /// The odometer has been written beside the database.
    mutating func keep(_ memory: Odometer.Memory, now: BootInstant) { odometer?.keep(memory, now: now) }

    /// The trip under way.
    var trip: StoredTrip? {
        trips.open.map { StoredTrip($0, boot: boot, settings: odometer?.memory.settings ?? 0) }
    }

    /// What a location takes along; nil before anything is known.
    var vehicle: NewVehicle? {
        odometer.map { NewVehicle(settings: $0.memory.settings, trip: trip) }
    }
}
