internal import Base
internal import Linux

/// What a thread of the daemon does each time it wakes. It waits for no peer, no person and no other thread, and of the clocks it
/// reads none but the stopwatch: where it breaks off, and what is measured. What is written or sent goes by `now`.
protocol Turns: AnyObject {
    /// Does what is due. Answers, events and triggers for other threads are kept until `answer`.
    ///
    /// - Parameter rest: what the thread has waited for, which tells the descriptors that were ready; at first, nothing.
    /// - Returns: what the thread rests for; nil: it has ended.
    func turn(now: BootInstant, stopwatch: Stopwatch, after rest: Rest) -> Rest?

    /// Puts the thread's snapshot on the board, for all others.
    func publish(now: BootInstant)

    /// Sends what the turn has left in the outbox: answers, events, triggers.
    func answer()
}

extension Turns {
    /// Turn by turn until it has ended: the only place where the thread waits. Nobody is answered before the board shows what the
    /// answer is about.
    ///
    /// - Parameters:
    ///   - clock: told what the clocks say.
    ///   - work: shows the watchdog how long a turn takes.
    func run(_ clock: WallClock, watchedBy work: Work? = nil) {
        var moment = Moment.current()
        var rest = Rest()
        while true {
            clock.begin(moment)
            work?.begin(moment.boot)
            let next = turn(now: moment.boot, stopwatch: Stopwatch(), after: rest)
            publish(now: moment.boot)
            answer()
            work?.rest()
            guard let next else { return }
            rest = next
            rest.wait(now: .current())
            moment = .current(after: moment)
        }
    }
}
