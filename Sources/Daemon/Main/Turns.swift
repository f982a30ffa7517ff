internal import Base
internal import Linux

/// What a thread of the daemon does each time it wakes. It waits for no peer, no person and no other thread, and of the clocks it
/// reads none but the stopwatch: where it breaks off, and what is measured. What is written or sent goes by `now`.
protocol Turns: AnyObject {
    /// What it has to say is collected in the outbox.
    ///
    /// - Returns: what the thread rests for; nil: it has ended.
    func turn(now: BootInstant, stopwatch: Stopwatch) -> Rest?

    /// Shows on the board how things stand.
    func publish(now: BootInstant)

    var outbox: Outbox { get }
}

extension Turns {
    /// Turn by turn until it has ended: the only place where the thread waits. Nobody is answered before the board shows what the
    /// answer is about.
    ///
    /// - Parameters:
    ///   - clock: told what the clocks say.
    ///   - work: shows the watchdog how long a turn takes.
    func run(_ clock: WallClock, watchedBy work: Work) {
        var moment = Moment.current()
        while true {
            clock.begin(moment)
            let now = moment.boot
            work.begin(now)
            let rest = turn(now: now, stopwatch: Stopwatch())
            publish(now: now)
            outbox.send()
            work.rest()
            guard var rest else { return }
            rest.wait(now: .current())
            moment = .current(after: moment)
        }
    }
}
