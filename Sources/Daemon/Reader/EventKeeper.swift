internal import Base
internal import Linux
internal import Storage
internal import Tracking

/// When events happened: those from before the time was known get theirs once it is.
///
/// Confined to the reader's thread.
final class EventKeeper {
    /// Seconds between two looks at a clock that is not known yet, where no fix tells the time.
    private static let pause = 60.0
    /// Seconds until a failure is tried again.
    private static let patience = 10.0

    private let hub: Hub
    private let recorder: Recorder
    /// The present boot of the machine.
    let boot: BootID
    /// There may be events without a time: looked for at the start, and after each such event.
    private var mayWait = true
    private var next: BootInstant?

    init(hub: Hub, recorder: Recorder, random: RandomSource) {
        self.hub = hub
        self.recorder = recorder
        boot = Machine.bootID(random)
    }

    /// The present by both clocks; nil while no time can be trusted.
    func anchor(now: BootInstant) -> EventTime.Anchor? {
        hub.clock.trusted(now: now).map { EventTime.Anchor(boot: boot, now: now, time: $0) }
    }

    /// When to look again, if nothing happens before; nil while no event waits for its time.
    var deadline: BootInstant? { mayWait ? next : nil }

    /// An event without a time has been recorded, or the database is another one.
    func noteUntimed() { (mayWait, next) = (true, nil) }

    /// Stamps the events that wait for it, if time can be trusted.
    ///
    /// - Returns: how many have got their time.
    func stamp(now: BootInstant) -> Int {
        guard mayWait, next.map({ $0 <= now }) ?? true else { return 0 }
        guard hub.store.counts().untimedEvents > 0 else {
            mayWait = recorder.waiting > 0 || recorder.error != nil
            next = mayWait ? now.advanced(bySeconds: Self.patience) : nil
            return 0
        }
        guard let anchor = anchor(now: now) else {
            next = now.advanced(bySeconds: Self.pause)
            return 0
        }
        do {
            let count = try hub.store.stampEvents(by: anchor)
            next = nil
            return count
        } catch {
            recorder.note(error, now: now)
            next = now.advanced(bySeconds: Self.patience)
            return 0
        }
    }

    /// A fix has told the time.
    func noteTime() { next = nil }
}
