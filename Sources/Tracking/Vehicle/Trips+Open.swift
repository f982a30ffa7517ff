package import Base

extension Trips.Open {
    /// Takes up a location that was stored after this was written down, and before the daemon ended: its fix, and of the
    /// fixes before it only what it says itself.
    package mutating func takeUp(_ location: Location) {
        let fix = location.fix
        guard fix.time >= last.time else { return }
        let isStill = fix.speed.map { $0 < Odometer.stillSpeed } ?? (location.motion == .stationary)
        let wasStill = last.time > moved.time
        if isStill, wasStill { last.idle += fix.time.seconds(since: last.time) }
        if location.motion == .moving, location.quality != .implausibleSpeed, let speed = fix.speed {
            last.topSpeed = max(last.topSpeed ?? 0, speed)
        }
        last.time = fix.time
        last.place = fix.coordinate
        last.odometer = max(last.odometer, location.mileage.map { Double($0) } ?? last.odometer)
        if !isStill { moved = last }
        if location.motion != .stationary { stay = nil }
    }

    /// The user deletes positions: the sums stay.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    package mutating func forgetPlaces(upTo cutoff: Timestamp?) {
        start.forgetPlace(upTo: cutoff)
        last.forgetPlace(upTo: cutoff)
        moved.forgetPlace(upTo: cutoff)
        stay?.forgetPlace(upTo: cutoff)
    }
}

extension Trips.Mark {
    fileprivate mutating func forgetPlace(upTo cutoff: Timestamp?) {
        if cutoff.map({ time <= $0 }) ?? true { place = nil }
    }
}

extension Trip {
    /// The user deletes positions: the sums stay.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    package mutating func forgetPlaces(upTo cutoff: Timestamp?) {
        if cutoff.map({ start <= $0 }) ?? true { startPlace = nil }
        if cutoff.map({ end <= $0 }) ?? true { endPlace = nil }
    }
}
