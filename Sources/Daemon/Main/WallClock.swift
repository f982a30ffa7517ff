internal import Base
internal import Linux
internal import Synchronization
internal import Tracking

/// The best clock known: the system's when it is known to be right, else the receiver's latest settled time, advanced by
/// CLOCK_BOOTTIME, else the system's for want of a better one. One from before this version was made is not even that: a
/// box without a battery clock starts in 1970, and the newest time that is stored, or the release date, is nearer.
final class WallClock: Sendable {
    private struct Anchor {
        var time: Timestamp
        var now: BootInstant
    }

    /// A system clock this close to the receiver's has been set by something that knows. Seconds.
    private static let agreement = 60.0

    private let anchor = Mutex<Anchor?>(nil)
    /// The latest that a loop has handed down.
    private let latest: Mutex<Moment>
    private let floor: Mutex<Anchor>

    init(_ moment: Moment = .current()) {
        latest = Mutex(moment)
        floor = Mutex(Anchor(time: ReceiverTime.earliest, now: moment.boot))
    }

    /// A turn begins: until the next one, the system's clock is what it was then, and the time that has passed.
    func begin(_ moment: Moment) {
        latest.withLock { $0 = moment }
    }

    /// A settled fix has told the time.
    ///
    /// - Returns: true when it is the first to do so.
    @discardableResult
    func observe(_ time: Timestamp, now: BootInstant) -> Bool {
        anchor.withLock { anchor in
            defer { anchor = Anchor(time: time, now: now) }
            return anchor == nil
        }
    }

    /// The system clock, and whether it can be believed.
    func system(now: BootInstant) -> ReceiverTime.SystemClock {
        let moment = latest.withLock { $0 }
        let time = moment.system.advanced(bySeconds: now.seconds(since: moment.boot))
        // Whatever the kernel says: a chrony that follows the receiver also follows its week rollover.
        guard time >= ReceiverTime.releaseDate else {
            return ReceiverTime.SystemClock(time: time, isKnownGood: false)
        }
        let agrees = receiver(now: now).map { abs(time.seconds(since: $0)) < Self.agreement } ?? false
        return ReceiverTime.SystemClock(time: time, isKnownGood: agrees || moment.isSynchronised)
    }

    /// The time, when there is a clock that can be believed.
    func trusted(now: BootInstant) -> Timestamp? {
        let system = system(now: now)
        return system.isKnownGood ? system.time : receiver(now: now)
    }

    /// The best guess at the present time.
    func time(now: BootInstant) -> Timestamp {
        let system = system(now: now)
        if system.isKnownGood { return system.time }
        if let receiver = receiver(now: now) { return receiver }
        guard system.time < ReceiverTime.earliest else { return system.time }
        return earliest(now: now)
    }

    /// The present is no earlier than this.
    func earliest(now: BootInstant) -> Timestamp {
        floor.withLock { $0.time.advanced(bySeconds: now.seconds(since: $0.now)) }
    }

    /// Raises the earliest present: a time that has been reached before is not undercut.
    func raise(to time: Timestamp, now: BootInstant) {
        floor.withLock { floor in
            if time > floor.time { floor = Anchor(time: time, now: now) }
        }
    }

    private func receiver(now: BootInstant) -> Timestamp? {
        anchor.withLock { anchor in
            anchor.map { $0.time.advanced(bySeconds: now.seconds(since: $0.now)) }
        }
    }
}
