internal import Base

/// Decides whether the vehicle is inside one geofence. Pure: takes distances and fix times.
///
/// Positions jitter by more than their accuracy suggests. A single fix therefore decides only after a gap, and with
/// wider margins. While the vehicle is parked, speed is more reliable than position, and hardly anything is decided.
struct GeofenceWatch: Equatable, Sendable {
    /// One fix as seen from the fence.
    struct Sighting {
        /// Fix time.
        var time: Timestamp
        /// Sequence number of the fix.
        var number: Int
        /// Metres from the fence's edge; negative inside.
        var distance: Double
        /// Metres.
        var accuracy: Double
        /// The previous fix that counts for this fence is at least 10 s older, or there is none.
        var isAfterGap: Bool
        /// Stationary, as confirmed by a reported speed.
        var isParked: Bool
    }

    /// A change of state.
    struct Decision: Equatable {
        var isInside: Bool
        /// The state before; false also where that was undecided.
        var wasInside: Bool
        var since: Timestamp
    }

    /// Seconds that two fixes inside must be apart to establish an entry.
    static let entrySpan = 1.0
    /// Seconds for which all fixes must lie beyond the margin to establish an exit.
    static let exitSpan = 10.0
    /// Minimum number of fixes for an exit.
    static let exitFixes = 3
    /// Seconds beyond the wide margin after which even a parked vehicle has left.
    static let parkedExitSpan = 60.0
    /// Metres; the floor for accuracy limits and margins of small fences.
    static let smallest = 100.0

    /// nil while undecided.
    private(set) var isInside: Bool?
    /// Sequence number of the fix up to which the path has been judged.
    private(set) var decidedAt: Int?
    private var within = Run()
    private var beyond = Run()
    private var farBeyond = Run()

    /// Consecutive fixes that agree.
    private struct Run: Equatable {
        var fixes = 0
        var start = Timestamp(milliseconds: 0)
        var latest = Timestamp(milliseconds: 0)

        /// Time that runs backwards restarts the run.
        mutating func extend(_ isContinued: Bool, at time: Timestamp) {
            guard isContinued else {
                fixes = 0
                return
            }
            if fixes == 0 || time <= latest {
                fixes = 0
                start = time
            }
            fixes += 1
            latest = time
        }

        var span: Double { latest.seconds(since: start) }
    }

    init(isInside: Bool? = nil) {
        self.isInside = isInside
    }

    /// The state with no evidence to the contrary: a fix on the same side changes nothing, unless the path to it passes through.
    /// nil while there is some, and while undecided.
    var undisputed: Bool? {
        guard let isInside else { return nil }
        return (isInside ? beyond.fixes == 0 && farBeyond.fixes == 0 : within.fixes == 0) ? isInside : nil
    }

    /// Multiple of the accuracy: the largest distance from the edge that a decision asks for.
    static let largestMargin = 4.0

    /// Metres beyond the edge that an exit requires.
    static func margin(accuracy: Double, radius: Double) -> Double {
        min(1.5 * accuracy, max(radius, smallest))
    }

    /// Processes the next fix, which must be accurate enough for this fence.
    ///
    /// - Parameter radius: metres; how large the fence is.
    mutating func judge(_ sighting: Sighting, radius: Double) -> Decision? {
        if sighting.isParked { return judgeParked(sighting) }
        farBeyond = Run()
        let margin = Self.margin(accuracy: sighting.accuracy, radius: radius)
        within.extend(isInside != true && sighting.distance <= 0, at: sighting.time)
        beyond.extend(isInside != false && sighting.distance > margin, at: sighting.time)
        if within.fixes > 1, within.span >= Self.entrySpan {
            return decide(true, since: within.start, at: sighting.number)
        }
        if beyond.fixes >= Self.exitFixes, beyond.span >= Self.exitSpan {
            return decide(false, since: beyond.start, at: sighting.number)
        }
        guard sighting.isAfterGap else { return nil }
        if within.fixes > 0, sighting.distance + sighting.accuracy <= 0 {
            return decide(true, since: sighting.time, at: sighting.number)
        }
        if beyond.fixes > 0, sighting.distance > 2 * margin {
            return decide(false, since: sighting.time, at: sighting.number)
        }
        return nil
    }

    /// While parked, jitter must not cause exits: only persistent evidence far outside counts.
    private mutating func judgeParked(_ sighting: Sighting) -> Decision? {
        within = Run()
        beyond = Run()
        let isFar = isInside == true && sighting.distance > Self.largestMargin * sighting.accuracy
        farBeyond.extend(isFar, at: sighting.time)
        guard farBeyond.fixes > 1, farBeyond.span >= Self.parkedExitSpan else { return nil }
        return decide(false, since: farBeyond.start, at: sighting.number)
    }

    /// The vehicle passed through the fence; the path up to this fix must not be judged again.
    mutating func passed(at number: Int) {
        decidedAt = number
    }

    private mutating func decide(_ isInside: Bool, since: Timestamp, at number: Int) -> Decision {
        let wasInside = self.isInside ?? false
        self = GeofenceWatch(isInside: isInside)
        decidedAt = number
        return Decision(isInside: isInside, wasInside: wasInside, since: since)
    }
}
