/// Decides, for one geofence, whether the vehicle is inside. Pure: it is handed distances and fix times.
///
/// Positions wander by more than their accuracy says, so one fix decides only after a gap, with wider margins; and a
/// parked vehicle, whose speed is steadier than its position, decides next to nothing.
struct GeofenceWatch: Equatable, Sendable {
    /// What one fix tells about the fence.
    struct Sighting {
        /// Its fix time.
        var time: Timestamp
        /// Counts the fixes.
        var number: Int
        /// Metres from the fence's centre.
        var distance: Double
        /// Metres.
        var accuracy: Double
        /// The fix before it, of those that may decide about this fence, is 10 s or more older, or there was none.
        var isAfterGap: Bool
        /// Motion is stationary by reported speed.
        var isParked: Bool
    }

    /// A change of the state, with the time of the first fix that decided it.
    struct Decision: Equatable {
        var isInside: Bool
        /// False, too, when it was undecided.
        var wasInside: Bool
        var since: Timestamp
    }

    /// Seconds that two fixes must be apart to tell an entry.
    static let entrySpan = 1.0
    /// Seconds that all fixes must lie beyond the margin to tell an exit.
    static let exitSpan = 10.0
    /// Fixes that tell an exit at least.
    static let exitFixes = 3
    /// Seconds beyond the wide margin after which a parked vehicle has left all the same.
    static let parkedExitSpan = 60.0
    /// Metres; a limit of accuracies and margins for small fences.
    static let smallest = 100.0

    /// nil while undecided.
    private(set) var isInside: Bool?
    /// The number of a fix: the way before it has been judged already.
    private(set) var decidedAt: Int?
    private var within = Run()
    private var beyond = Run()
    private var farBeyond = Run()

    /// Fixes in a row that tell the same.
    private struct Run: Equatable {
        var fixes = 0
        var start = Timestamp(milliseconds: 0)
        var latest = Timestamp(milliseconds: 0)

        /// Time that runs backwards starts the run afresh.
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

    /// Outside, and nothing suggests otherwise: a fix that is not near changes nothing.
    var isAtRest: Bool { isInside == false && within.fixes == 0 }

    /// What an exit needs beyond the radius, in metres.
    static func margin(accuracy: Double, radius: Double) -> Double {
        min(1.5 * accuracy, max(radius, smallest))
    }

    /// Takes the next fix. Its accuracy has been found good enough for this fence.
    mutating func judge(_ sighting: Sighting, radius: Double) -> Decision? {
        if sighting.isParked { return judgeParked(sighting, radius: radius) }
        farBeyond = Run()
        let margin = Self.margin(accuracy: sighting.accuracy, radius: radius)
        within.extend(isInside != true && sighting.distance <= radius, at: sighting.time)
        beyond.extend(isInside != false && sighting.distance > radius + margin, at: sighting.time)
        if within.fixes > 1, within.span >= Self.entrySpan {
            return decide(true, since: within.start, at: sighting.number)
        }
        if beyond.fixes >= Self.exitFixes, beyond.span >= Self.exitSpan {
            return decide(false, since: beyond.start, at: sighting.number)
        }
        guard sighting.isAfterGap else { return nil }
        if within.fixes > 0, sighting.distance + sighting.accuracy <= radius {
            return decide(true, since: sighting.time, at: sighting.number)
        }
        if beyond.fixes > 0, sighting.distance > radius + 2 * margin {
            return decide(false, since: sighting.time, at: sighting.number)
        }
        return nil
    }

    /// A parked vehicle's position wanders, and takes nothing along: only what lasts, far outside, counts.
    private mutating func judgeParked(_ sighting: Sighting, radius: Double) -> Decision? {
        within = Run()
        beyond = Run()
        let isFar = isInside == true && sighting.distance > radius + 4 * sighting.accuracy
        farBeyond.extend(isFar, at: sighting.time)
        guard farBeyond.fixes > 1, farBeyond.span >= Self.parkedExitSpan else { return nil }
        return decide(false, since: farBeyond.start, at: sighting.number)
    }

    /// The fence was passed through, and the way up to this fix is spoken for.
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
