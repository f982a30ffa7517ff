internal import NIOCore

/// Connections that have been taken from the kernel and wait for a place.
///
/// First come, first served, as long as nobody waits long. When somebody does, whoever came last is served first: the others
/// cannot be helped any more, and if each had its turn, everybody's answer would come late ("adaptive LIFO", Ben Maurer, Fail
/// at Scale, ACM Queue 13/8, 2015). Those who came first are sent away when they are too many, or have waited too long. While there
/// is more work than can be done, that is as soon as it is clear that they would have to; and once some have been sent away
/// then, nobody waits long any more until the line is empty. Where others merely hold the places, they will give way.
struct WaitingLine {
    struct Bounds {
        /// Connections that may wait: a fleet that comes back after an outage. The program holds 24 bytes for each.
        var count = 10_000
        /// How long the first may have waited while it is still the next.
        var calm = Duration.milliseconds(250)
        /// How long a connection may wait; a second, if there is too much work for it to get a place by then.
        var patience = Duration.seconds(10)
        /// How long it may wait where others have been sent away before it.
        var impatience = Duration.milliseconds(500)
    }

    private struct Guest {
        let socket: Int32
        let since: ContinuousClock.Instant
    }

    private let bounds: Bounds
    private var guests = CircularBuffer<Guest>()
    /// Whether some had to be sent away, and the line has not been empty since.
    private var isOverrun = false
    private var pace = Pace()

    init(_ bounds: Bounds) {
        self.bounds = bounds
    }

    var count: Int { guests.count }

    mutating func join(_ socket: Int32, now: ContinuousClock.Instant) {
        if guests.isEmpty { pace = Pace(began: now) }
        guests.append(Guest(socket: socket, since: now))
    }

    /// The socket of the connection that gets the place that is free.
    mutating func next(now: ContinuousClock.Instant) -> Int32? {
        guard let first = guests.first else { return nil }
        pace.note(now)
        return (now - first.since <= bounds.calm ? guests.popFirst() : guests.popLast())?.socket
    }

    /// The socket of a connection that is to be sent away; to be asked until there is none.
    ///
    /// - Parameter isBusy: there is more work than can be done.
    mutating func surplus(now: ContinuousClock.Instant, isBusy: Bool) -> Int32? {
        guard let first = guests.first else {
            isOverrun = false
            return nil
        }
        var patience = isOverrun ? bounds.impatience : bounds.patience
        if isBusy, isHopeless(now) { patience = min(patience, .seconds(1)) }
        guard guests.count > bounds.count || now - first.since > patience else { return nil }
        if isBusy { isOverrun = true }
        return guests.popFirst()?.socket
    }

    private mutating func isHopeless(_ now: ContinuousClock.Instant) -> Bool {
        guard let places = pace.places(now) else { return false }
        return Double(guests.count) > places * (bounds.patience / .seconds(1))
    }

    /// How many places were given in a second, since somebody waits.
    private struct Pace {
        var began: ContinuousClock.Instant?
        var given = 0
        var last: Double?

        mutating func note(_ now: ContinuousClock.Instant) {
            roll(now)
            given += 1
        }

        /// - Returns: nil in the first second.
        mutating func places(_ now: ContinuousClock.Instant) -> Double? {
            roll(now)
            return last
        }

        private mutating func roll(_ now: ContinuousClock.Instant) {
            guard let began, now - began >= .seconds(1) else { return }
            last = Double(given) / ((now - began) / .seconds(1))
            (self.began, given) = (now, 0)
        }
    }

    /// Everybody, at the end.
    mutating func leave() -> Int32? {
        guests.popFirst()?.socket
    }
}
