internal import Base

/// How long something has taken by now: where a turn breaks off, and what is measured. What is written or sent goes by the moment
/// that the loop has handed down.
struct Stopwatch {
    private let clock: () -> BootInstant
    private let began: BootInstant

    /// A stopwatch that runs from now on.
    init(clock: @escaping () -> BootInstant = BootInstant.current) {
        self.clock = clock
        began = clock()
    }

    /// Seconds.
    var elapsed: Double { clock().seconds(since: began) }
}
