internal import Base

/// Fixes in a row, each later than the one before it, by a step that agrees with CLOCK_BOOTTIME: together they show
/// that the receiver knows the time.
struct SettlingRun: Sendable {
    /// Fixes that are kept until the time has settled: of a receiver that reports thirty times a second, all of the 2 s
    /// that it takes.
    static let limit = 64
    /// Seconds by which a step may differ from that of CLOCK_BOOTTIME.
    static let stepTolerance = 1.5
    /// Seconds that a run must span.
    private static let span = 2.0
    /// gpsd_json(5): "Verify 3 consecutive 3D fixes before believing it is UTC."
    private static let fixes3D = 3
    /// Consecutive fixes of any kind before the time is believed, for receivers that know no altitude.
    private static let fixes = 5

    /// Fixes that are handed on if the time settles; the oldest are missing where there were more than
    /// `limit`.
    private(set) var kept: [ReceiverTime.Arrival] = []
    /// The newest fix, whether it is kept or not; nil: the run has not begun.
    private(set) var last: (time: Timestamp, now: BootInstant)?
    private var count = 0
    private var start = Timestamp(milliseconds: 0)
    /// Number of fixes at the end of the run that have mode 3.
    private var count3D = 0
    private var start3D = Timestamp(milliseconds: 0)

    /// Whether the time has settled.
    var isProof: Bool {
        guard let last else { return false }
        return count3D >= Self.fixes3D && last.time.seconds(since: start3D) >= Self.span
            || count >= Self.fixes && last.time.seconds(since: start) >= Self.span
    }

    /// Whether a fix would be the next of the run.
    func isContinued(by arrival: ReceiverTime.Arrival) -> Bool {
        guard let last else { return false }
        let step = arrival.fix.time.seconds(since: last.time)
        return step > 0 && abs(step - arrival.now.seconds(since: last.now)) <= Self.stepTolerance
    }

    /// Adds a fix; one that does not continue the run begins another.
    ///
    /// - Returns: number of fixes that are not kept any more.
    mutating func add(_ arrival: ReceiverTime.Arrival) -> Int {
        let fix = arrival.fix
        var lost = isContinued(by: arrival) ? 0 : end()
        if count == 0 { start = fix.time }
        count += 1
        if fix.mode < 3 {
            count3D = 0
        } else {
            if count3D == 0 { start3D = fix.time }
            count3D += 1
        }
        last = (fix.time, arrival.now)
        if kept.count >= Self.limit {
            kept.removeFirst()
            lost += 1
        }
        kept.append(arrival)
        return lost
    }

    /// The run has proved nothing, or is not needed any more.
    ///
    /// - Returns: number of fixes that were kept.
    mutating func end() -> Int {
        last == nil ? 0 : take().count
    }

    /// The time has settled: hands over what was kept, oldest first.
    mutating func take() -> [ReceiverTime.Arrival] {
        defer { self = SettlingRun() }
        return kept
    }

    /// The user deletes positions.
    ///
    /// - Parameter cutoff: those up to then; nil: all.
    mutating func forget(upTo cutoff: Timestamp?) {
        kept.removeAll { arrival in cutoff.map { arrival.fix.time <= $0 } ?? true }
    }
}
