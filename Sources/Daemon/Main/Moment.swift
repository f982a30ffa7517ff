internal import Base
internal import Linux
internal import Tracking

/// What the clocks say when a turn begins. A loop reads it and hands it down.
struct Moment: Sendable {
    /// The time since boot, by which everything is due.
    let boot: BootInstant
    /// The system's clock.
    let system: Timestamp
    /// The kernel says that something keeps that clock right.
    let isSynchronised: Bool
    /// When the kernel said so.
    private let asked: BootInstant

    /// Seconds for which the kernel's word counts: asking at every turn of a fast replay would cost as much as parsing.
    private static let trust = 1.0

    init(boot: BootInstant, system: Timestamp, isSynchronised: Bool) {
        self.init(boot, system, isSynchronised, asked: boot)
    }

    private init(_ boot: BootInstant, _ system: Timestamp, _ isSynchronised: Bool, asked: BootInstant) {
        (self.boot, self.system, self.isSynchronised, self.asked) = (boot, system, isSynchronised, asked)
    }

    /// Now.
    ///
    /// - Parameter earlier: the one before it.
    static func current(after earlier: Moment? = nil) -> Moment {
        let boot = BootInstant.current()
        let system = Timestamp(milliseconds: Clock.realtimeMilliseconds())
        if let earlier, abs(boot.seconds(since: earlier.asked)) < trust {
            return Moment(boot, system, earlier.isSynchronised, asked: earlier.asked)
        }
        return Moment(boot, system, Clock.isSynchronised(), asked: boot)
    }
}
