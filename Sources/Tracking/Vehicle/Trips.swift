package import Base

/// Makes trips of fixes and ignition: a trip is what lies between two stays of at least `gap`. Pure: no clock, no I/O.
///
/// A stay is time with the ignition off, where that is known, else with motion `stationary`. Also a stay: time in which
/// fixes are not read, and time without fixes in which the vehicle did not get far, such as a night in an underground car
/// park. (A tunnel is none, however long.) A shorter stay is part of the trip.
///
///     none ── ignition on, or moving ──> open ── has moved ──> told as started
///     open ── at rest ──> open, with the mark of its end ── drives again before `gap` ──> open
///                                                        ── `gap` has passed ──> ended, at the mark
///
/// A trip is summed up as it goes: what is kept is one trip and three marks, whatever its length. Ignition on without
/// any movement is no trip.
package struct Trips: Sendable {
    /// A point of a trip, with the sums up to there.
    package struct Mark: Equatable, Sendable {
        /// Fix time; that of the edge for the ignition's.
        package var time: Timestamp
        package var place: Coordinate?
        /// Metres, by the odometer.
        package var odometer: Double
        /// Metres per second, up to there.
        package var topSpeed: Double?
        /// Seconds, up to there.
        package var idle: Double

        package init(
            time: Timestamp, place: Coordinate?, odometer: Double, topSpeed: Double? = nil, idle: Double = 0
        ) {
            self.time = time
            self.place = place
            self.odometer = odometer
            self.topSpeed = topSpeed
            self.idle = idle
        }
    }

    /// The open trip, to be persisted with each row while there is one.
    package struct Open: Equatable, Sendable {
        package var start: Mark
        /// Whether it has moved, and has been told as started.
        package var hasStarted: Bool
        /// The latest fix or edge.
        package var last: Mark
        /// The latest fix at which it was not still: where the stay begins.
        package var moved: Mark
        /// The beginning of the stay that ends the trip when it becomes long enough.
        package var stay: Mark?

        package init(start: Mark, hasStarted: Bool, last: Mark, moved: Mark, stay: Mark? = nil) {
            self.start = start
            self.hasStarted = hasStarted
            self.last = last
            self.moved = moved
            self.stay = stay
        }
    }

    /// To be recorded, in order.
    package enum Change: Equatable, Sendable {
        case started(at: Timestamp, place: Coordinate?)
        case ended(Trip)
    }

    /// What the operator can change. A change takes effect with the next fix.
    package struct Thresholds: Equatable, Sendable {
        /// Seconds; the shortest stay between two trips: `trip_gap_seconds`.
        package var gap: Double
        /// Seconds of standing after which motion is `stationary`: a stay began that much earlier.
        package var stationaryAfter: Double
        /// Metres per second; what is faster is no top speed: the setting of `implausible_speed`.
        package var fastest: Double

        /// The default values match the configuration's.
        package init(gap: Double = 300, stationaryAfter: Double = 120, fastest: Double = 100) {
            self.gap = gap
            self.stationaryAfter = stationaryAfter
            self.fastest = fastest
        }
    }

    /// Metres per second; a gap without fixes that was crossed more slowly than this was a stay.
    static let crawl = 1.0
    /// Seconds; time that goes back by more begins anew.
    static let backwardsLimit = 1.0

    package var thresholds: Thresholds
    /// To be persisted; nil between trips.
    package private(set) var open: Open?
    /// The latest fix at rest: where a trip begins.
    private var rest: Mark?
    private var wasStill = false

    /// - Parameter open: as persisted.
    package init(_ open: Open? = nil, thresholds: Thresholds = Thresholds()) {
        self.open = open
        self.thresholds = thresholds
    }

    /// When the stay has become long enough; nil without one. Then `expire` is due.
    package var deadline: Timestamp? { open?.stay?.time.advanced(bySeconds: thresholds.gap) }

    /// The daemon has started. A trip that was open when the machine went off ends at its last fix, or with the stay
    /// that had begun; after a mere restart of the daemon it goes on.
    ///
    /// - Parameter isNewBoot: whether the boot id has changed since.
    package mutating func start(isNewBoot: Bool) -> [Change] {
        guard isNewBoot, let open else { return [] }
        return end(at: open.stay ?? open.last)
    }

    /// Processes the next settled fix, after the odometer.
    ///
    /// - Parameter ignition: whether it is on; nil where none is configured, or its state is unknown.
    package mutating func observe(_ observed: Admission.Observation, odometer: Double, ignition: Bool?)
        -> [Change]
    {
        let fix = observed.fix
        let isStill = fix.speed.map { $0 < Odometer.stillSpeed } ?? (observed.motion == .stationary)
        let isAtRest = ignition.map { !$0 } ?? (observed.motion == .stationary)
        var changes = endWhatIsOver(at: fix, ignition)
        defer { wasStill = isStill }
        if open == nil { begin(at: fix, odometer, isAtRest, isStill, ignition, observed.motion) }
        guard var trip = open else { return changes }
        if observed.motion == .moving, let speed = fix.speed, speed <= thresholds.fastest {
            trip.last.topSpeed = max(trip.last.topSpeed ?? 0, speed)
        }
        if isStill, wasStill, ignition != false { trip.last.idle += fix.time.seconds(since: trip.last.time) }
        trip.last.advance(to: fix, odometer)
        if !trip.hasStarted { trip.start.place = trip.start.place ?? fix.coordinate }
        if isAtRest {
            trip.stay = trip.stay ?? (ignition == nil ? beginningOfStay(trip) : trip.last)
        } else {
            trip.stay = nil
        }
        if !isStill { trip.moved = trip.last }
        let hasMoved = observed.motion == .moving && !isStill || odometer > trip.start.odometer
        if !trip.hasStarted, !isAtRest, hasMoved {
            trip.hasStarted = true
            changes.append(.started(at: trip.start.time, place: trip.start.place))
        }
        open = trip
        return changes
    }

    /// The ignition was switched at this moment, which is between the fixes.
    package mutating func ignitionChanged(isOn: Bool, at time: Timestamp, odometer: Double) -> [Change] {
        let changes = expire(at: time)
        if isOn {
            let mark = Mark(time: time, place: rest?.place, odometer: odometer)
            var trip = open ?? Open(start: mark, hasStarted: false, last: mark, moved: mark)
            trip.stay = nil
            // The time with the ignition off is no idle time.
            trip.last.time = max(trip.last.time, time)
            open = trip
            wasStill = true
        } else if var trip = open {
            trip.last.time = max(trip.last.time, time)
            trip.stay = trip.stay ?? trip.last
            open = trip
        }
        return changes
    }

    /// Fixes are read no more: the stay begins with the last one.
    package mutating func release() {
        wasStill = false
        guard var trip = open else { return }
        trip.stay = trip.stay ?? trip.last
        open = trip
    }

    /// Ends the trip if its stay has become long enough.
    ///
    /// - Parameter time: by a clock that is known to be right.
    package mutating func expire(at time: Timestamp) -> [Change] {
        guard let stay = open?.stay, time.seconds(since: stay.time) >= thresholds.gap else { return [] }
        return end(at: stay)
    }

    /// The odometer has been set: what the trip has driven so far is the same as before.
    ///
    /// - Parameter metres: by how much it differs now.
    package mutating func shiftOdometer(by metres: Double) {
        rest?.odometer += metres
        open?.start.odometer += metres
        open?.last.odometer += metres
        open?.moved.odometer += metres
        open?.stay?.odometer += metres
    }

    /// The user deletes positions: the sums stay.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    package mutating func forgetPlaces(upTo cutoff: Timestamp? = nil) {
        if let time = rest?.time, cutoff.map({ time <= $0 }) ?? true { rest = nil }
        open?.forgetPlaces(upTo: cutoff)
    }
}

extension Trips {
    /// Before a fix is taken into the trip: a stay, and a gap without fixes, may have ended it.
    private mutating func endWhatIsOver(at fix: Fix, _ ignition: Bool?) -> [Change] {
        guard let trip = open else { return [] }
        let seconds = fix.time.seconds(since: trip.last.time)
        if seconds < -Self.backwardsLimit {
            let changes = end(at: trip.stay ?? trip.last)
            rest = nil
            return changes
        }
        if trip.stay != nil { return expire(at: fix.time) }
        guard ignition == nil, seconds >= thresholds.gap, let place = trip.last.place,
            place.distance(to: fix.coordinate) < Self.crawl * seconds
        else { return [] }
        return end(at: trip.last)
    }

    private mutating func begin(
        at fix: Fix, _ odometer: Double, _ isAtRest: Bool, _ isStill: Bool, _ ignition: Bool?,
        _ motion: MotionState
    ) {
        let here = Mark(time: fix.time, place: fix.coordinate, odometer: odometer)
        // After a gap motion may still be `moving` while the vehicle stands.
        let isDriving = !isAtRest && (ignition == true || motion == .moving && !isStill)
        guard isDriving else {
            if isStill || rest.map({ isNoise(from: $0, fix) }) ?? true { rest = here }
            return
        }
        // Movement is established a few fixes after it began.
        let isRecent =
            rest.map { (0...Odometer.longestDeparture).contains(fix.time.seconds(since: $0.time)) } ?? false
        let start = ignition == nil && isRecent ? rest ?? here : here
        open = Open(start: start, hasStarted: false, last: start, moved: start)
        wasStill = false
    }

    /// Without speeds, while motion is unknown, a fix that is no further away than that is no movement. By then a departure
    /// would have been found out.
    private func isNoise(from rest: Mark, _ fix: Fix) -> Bool {
        guard fix.speed == nil, let place = rest.place,
            fix.time.seconds(since: rest.time) >= Odometer.longestDeparture / 2
        else { return false }
        let noise = max(Odometer.shortestLine, 2 * (fix.accuracy ?? Motion.assumedAccuracy))
        return place.distance(to: fix.coordinate) <= noise
    }

    /// Motion became stationary after a while of standing; the speeds tell since when.
    private func beginningOfStay(_ trip: Open) -> Mark {
        var mark = trip.moved
        let latest = trip.last.time.advanced(bySeconds: -thresholds.stationaryAfter)
        mark.time = max(min(mark.time, latest), trip.start.time)
        mark.place = trip.last.place
        return mark
    }

    private mutating func end(at mark: Mark) -> [Change] {
        guard let trip = open else { return [] }
        open = nil
        wasStill = false
        rest = Mark(time: trip.last.time, place: trip.last.place, odometer: trip.last.odometer)
        guard trip.hasStarted else { return [] }
        let ended = Trip(
            start: trip.start.time, end: max(mark.time, trip.start.time), startPlace: trip.start.place,
            endPlace: mark.place, metres: max(mark.odometer - trip.start.odometer, 0),
            topSpeed: mark.topSpeed, idle: max(mark.idle, 0))
        return [.ended(ended)]
    }
}

extension Trips.Mark {
    fileprivate mutating func advance(to fix: Fix, _ odometer: Double) {
        time = max(fix.time, time)
        place = fix.coordinate
        self.odometer = odometer
    }
}
