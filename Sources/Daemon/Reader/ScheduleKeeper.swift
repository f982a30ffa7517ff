internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Tracking

/// Follows `tracking.schedule`: says when tracking is to begin or to end, and whether gpsd must be read to find out the
/// time. Without a schedule it does nothing.
struct ScheduleKeeper {
    /// Seconds; a clock that was set, and a machine that slept, are noticed after so long.
    private static let patience = 60.0
    /// Seconds between two looks at a clock that is not known yet, and after a wish that could not be written.
    private static let pause = 10.0
    /// Seconds between two looks, however often something else wakes this thread.
    private static let rest = 1.0

    private var plan: Settings.Tracking?
    private var watch: ScheduleWatch?
    private var next: BootInstant?
    private var latest: BootInstant?
    /// Whether the time is unknown, and the receiver is to tell it.
    private(set) var needsTime = false

    /// Whether there is a schedule.
    var isActive: Bool { watch != nil }
    /// When to look again, if nothing happens before; nil without a schedule.
    var deadline: BootInstant? { watch == nil ? nil : next }

    /// Takes up new settings; those that it has go on as they are.
    mutating func configure(_ tracking: Settings.Tracking) {
        guard plan?.schedule != tracking.schedule || plan?.timeZone != tracking.timeZone else { return }
        plan = tracking
        do {
            watch = try tracking.plan().map { ScheduleWatch($0.schedule, in: $0.zone) }
        } catch {
            // It was right when it was checked: the file of the zone has gone since.
            Log.error(.configuration, "\(error.key) \(error.message): tracking does not follow the schedule")
            watch = nil
        }
        (next, latest, needsTime) = (nil, nil, false)
    }

    /// Looks at the clock, if that is due.
    ///
    /// - Parameters:
    ///   - time: asked for only then; nil while no clock is known to be right.
    ///   - present: the wish in force. It is to be persisted if this changes it.
    /// - Returns: what the schedule wishes, if that is to replace it.
    mutating func look(_ time: @autoclosure () -> Timestamp?, present: inout Wish?, now: BootInstant) -> Wish?
    {
        guard watch != nil else { return nil }
        if let latest, let next, now < next, now.seconds(since: latest) < Self.rest { return nil }
        latest = now
        let time = time()
        let verdict = watch?.look(time, present: &present)
        needsTime = verdict == .timeUnknown
        let limit = now.advanced(bySeconds: time == nil ? Self.pause : Self.patience)
        let edge = time.flatMap { time in
            watch?.deadline.map { now.advanced(bySeconds: max($0.seconds(since: time), 0)) }
        }
        next = min(edge ?? limit, limit)
        guard case .wish(let wish)? = verdict else { return nil }
        return wish
    }

    /// The wish could not be written: it is made anew after a while.
    mutating func retry(now: BootInstant) {
        watch = watch.map { ScheduleWatch($0.schedule, in: $0.zone) }
        (next, latest) = (now.advanced(bySeconds: Self.pause), now)
    }
}
