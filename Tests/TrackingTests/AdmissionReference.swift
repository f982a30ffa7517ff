import Base

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// The rules of gate, motion, check-ins and quality, one by one, applied to all fixes ever seen.
struct AdmissionReference {
    var thresholds: Admission.Thresholds
    var motion = MotionState.unknown
    var spot: Coordinate?
    var checkInFrom: Timestamp?
    var odometer = 0.0
    private var seen: [Fix] = []
    /// The radius in effect at each of them: a change takes effect with the next fix.
    private var radii: [Double] = []
    /// Index of the first fix that counts towards standing, and towards moving.
    private var standingFrom = 0
    private var movingFrom = 0
    /// The first fix since the daemon started.
    private var knownFrom = 0
    private var admitted: (fix: Fix, motion: MotionState, spot: Coordinate?)?
    /// Nothing has been admitted since time was put back.
    private var isNewRun = false

    init(_ thresholds: Admission.Thresholds) {
        self.thresholds = thresholds
    }

    /// Only what was stored with the last admitted fix survives.
    mutating func restart() {
        motion = admitted?.motion ?? .unknown
        spot = admitted?.spot
        (standingFrom, movingFrom, knownFrom) = (seen.count, seen.count, seen.count)
    }

    mutating func beginRun() { (isNewRun, checkInFrom) = (true, nil) }

    mutating func process(_ fix: Fix, crosses: Bool) -> (Gate.Verdict, MotionState, Quality?) {
        let quality = quality(fix)
        let before = motion
        look(at: fix)
        let hasParked = motion == .stationary && before != .stationary
        let hasSetOff = motion == .moving && before == .stationary
        let verdict = verdict(fix, isTurningPoint: hasParked || hasSetOff, crosses)
        if case .admit(let trigger) = verdict {
            if let admitted, admitted.motion != .stationary || motion != .stationary {
                odometer += admitted.fix.coordinate.distance(to: fix.coordinate)
            }
            if hasParked || trigger == .checkIn { checkInFrom = fix.time }
            admitted = (fix, motion, spot)
            isNewRun = false
        }
        return (verdict, motion, quality)
    }

    private func verdict(_ fix: Fix, isTurningPoint: Bool, _ crosses: Bool) -> Gate.Verdict {
        if isTurningPoint { return .admit(.motion) }
        if crosses { return .admit(.geofence) }
        guard let admitted else { return .admit(.interval) }
        if motion == .stationary {
            if case .nothing = thresholds.whileStationary { return .drop(.paused) }
            if case .checkIns(let every) = thresholds.whileStationary {
                guard let checkInFrom else { return .admit(.checkIn) }
                return fix.time.seconds(since: checkInFrom) >= every ? .admit(.checkIn) : .drop(.paused)
            }
        }
        if isNewRun { return .admit(.interval) }
        let elapsed = fix.time.seconds(since: admitted.fix.time)
        let (interval, distance) = (thresholds.gate.interval, thresholds.gate.distance)
        if interval > 0, elapsed < interval - 0.05 { return .drop(.tooSoon) }
        let way = admitted.fix.coordinate.distance(to: fix.coordinate)
        return distance > 0 && way < distance ? .drop(.tooNear) : .admit(.interval)
    }

    private func quality(_ fix: Fix) -> Quality? {
        if seen.count > knownFrom, let last = seen.last {
            let seconds = fix.time.seconds(since: last.time)
            let metres =
                last.coordinate.distance(to: fix.coordinate) - (last.accuracy ?? 15) - (fix.accuracy ?? 15)
            if seconds > 0, metres / seconds > thresholds.quality.speed { return .implausibleSpeed }
        }
        return (fix.accuracy ?? 0) > thresholds.quality.accuracy ? .lowAccuracy : nil
    }

    private mutating func look(at fix: Fix) {
        let present = seen.count
        if present > knownFrom, let last = seen.last {
            let step = fix.time.seconds(since: last.time)
            if step < 0 { (standingFrom, movingFrom) = (present, present) }
            if step > 30, step > 3 * usualStep { standingFrom = present }
        }
        seen.append(fix)
        radii.append(thresholds.motion.radius)
        if motion == .stationary, let spot {
            guard isMoving(from: spot) else { return }
        } else if motion == .unknown {
            guard hasSetOff else { return checkStanding() }
        } else {
            return checkStanding()
        }
        motion = .moving
        spot = nil
        (standingFrom, movingFrom) = (present, present + 1)
    }

    /// The median of the last five steps forward.
    private var usualStep: Double {
        let steps = zip(seen[knownFrom...], seen[knownFrom...].dropFirst()).map {
            $1.time.seconds(since: $0.time)
        }
        let last = steps.filter { $0 > 0 }.suffix(5).sorted()
        return last.isEmpty ? 0 : last[(last.count - 1) / 2]
    }

    /// Seconds for which the latest fixes have satisfied the condition without a break.
    private func spanOfLast(_ isSo: (Fix, _ radius: Double) -> Bool) -> Double {
        spanOfLast(upTo: seen.count - 1) { isSo(seen[$0], radius(seen[$0], radii[$0])) }
    }

    private func spanOfLast(upTo index: Int, _ isSo: (Int) -> Bool) -> Double {
        firstOfLast(upTo: index, isSo).map { seen[index].time.seconds(since: seen[$0].time) } ?? -1
    }

    /// The first of them.
    private func firstOfLast(upTo index: Int, _ isSo: (Int) -> Bool) -> Int? {
        guard index >= movingFrom else { return nil }
        return seen.indices[movingFrom...index].reversed().prefix { isSo($0) }.last
    }

    /// By its speeds; without them as from a parking spot at the first fix, and further than where that began.
    private var hasSetOff: Bool {
        spanOfLast { fix, _ in (fix.speed ?? 0) >= 1 } >= 1
            || spanOfLast(upTo: seen.count - 1) {
                goesOn($0, for: 30) { $0 > $1 } || goesOn($0, for: 1) { $0 > max(4 * $1, 50) }
            } >= 1
    }

    private func goesOn(_ index: Int, for seconds: Double, _ isOut: (Double, _ radius: Double) -> Bool)
        -> Bool
    {
        let origin = seen[movingFrom].coordinate
        let first = firstOfLast(upTo: index) {
            seen[$0].speed == nil
                && isOut(origin.distance(to: seen[$0].coordinate), radius(seen[$0], radii[$0]))
        }
        guard let first, seen[index].time.seconds(since: seen[first].time) >= seconds else { return false }
        let way = seen[first].coordinate.distance(to: seen[index].coordinate)
        return way > 2 * radius(seen[index], radii[index])
    }

    private func radius(_ fix: Fix, _ least: Double) -> Double {
        max(least, 2 * (fix.accuracy ?? 15))
    }

    private func isMoving(from spot: Coordinate) -> Bool {
        func distance(_ fix: Fix) -> Double { spot.distance(to: fix.coordinate) }
        return spanOfLast { fix, _ in (fix.speed ?? 0) >= 3 } >= 1
            || spanOfLast { fix, radius in distance(fix) > radius && (fix.speed ?? 0) >= 1 } >= 1
            || spanOfLast { fix, radius in distance(fix) > radius && (fix.speed ?? 1) >= 1 } >= 30
            || spanOfLast { fix, radius in distance(fix) > max(4 * radius, 50) } >= 1
    }

    private mutating func checkStanding() {
        guard let present = seen.last else { return }
        let candidates = seen.indices[standingFrom...]
        guard
            let first = candidates.last(where: {
                present.time.seconds(since: seen[$0].time) >= thresholds.motion.duration
            })
        else { return }
        // A fix that has left the window does not return when the window is made longer.
        standingFrom = first
        let window = seen[first...]
        let slow = window.count { ($0.speed ?? 0) < 1 }
        guard window.allSatisfy({ ($0.speed ?? 0) < 3 }), slow * 100 >= window.count * 95 else { return }
        guard let middle = mean(window.map(\.coordinate)) else { return }
        let near = window.count { middle.distance(to: $0.coordinate) <= radius($0, thresholds.motion.radius) }
        guard near * 100 >= window.count * 95 else { return }
        motion = .stationary
        spot = middle
        movingFrom = seen.count
    }

    private func mean(_ places: [Coordinate]) -> Coordinate? {
        let radians = places.map { ($0.latitude * .pi / 180, $0.longitude * .pi / 180) }
        let x = radians.reduce(0) { $0 + cos($1.0) * cos($1.1) }
        let y = radians.reduce(0) { $0 + cos($1.0) * sin($1.1) }
        let z = radians.reduce(0) { $0 + sin($1.0) }
        return Coordinate(latitude: atan2(z, hypot(x, y)) * 180 / .pi, longitude: atan2(y, x) * 180 / .pi)
    }
}
