internal import Base
internal import Systemd

/// What the service manager is told: that the daemon is ready, alive and ending, and in short how it is doing.
struct ServiceManager {
    /// nil where nobody watches.
    private var watchdog: Watchdog?
    /// The text that the service manager shows.
    private var text = ""
    /// When it is asked for more time, while the daemon is not ready; nil once it is.
    private var pleaAt: BootInstant?

    /// Seconds between two pleas; an ordinary start is over before the first.
    private static let pleaInterval = 5.0
    /// Seconds to ask for.
    private static let extra = 60.0

    init(now: BootInstant) {
        pleaAt = now.advanced(bySeconds: Self.pleaInterval)
        watchdog = Notifier.watchdogInterval().map { Watchdog(timeout: $0, now: now) }
    }

    /// When `feed` must be called next; nil: never.
    var due: BootInstant? { [watchdog?.next, pleaAt].compactMap(\.self).min() }

    /// The threads have yet to show how they begin. One that waits for the disk is slow, not dead, and gets time.
    ///
    /// - Parameter busy: how many seconds each thread has been at the same piece of work.
    mutating func begin(now: BootInstant, busy: [(name: String, seconds: Double)]) {
        guard let pleaAt, now >= pleaAt else { return }
        self.pleaAt = now.advanced(bySeconds: Self.pleaInterval)
        guard busy.allSatisfy({ $0.seconds <= Watchdog.stuckAfter }) else { return }
        Notifier.extendTimeout(seconds: Self.extra)
    }

    mutating func ready() {
        pleaAt = nil
        Notifier.ready()
    }

    mutating func stopping() {
        pleaAt = nil
        Notifier.stopping()
    }

    mutating func show(_ new: String) {
        if new != text { Notifier.status(new) }
        text = new
    }

    /// Feeds its watchdog when that is due, unless a thread is stuck.
    ///
    /// - Parameter busy: how many seconds each thread has been at the same piece of work.
    mutating func feed(now: BootInstant, busy: [(name: String, seconds: Double)]) {
        switch watchdog?.look(now: now, busy: busy) {
        case nil, .wait: break
        case .feed: Notifier.feedWatchdog()
        case .starve(let stuck):
            guard !stuck.isEmpty else { return }
            Log.error(.threadStuck, "stuck for two minutes: " + stuck.joined(separator: ", "))
        }
    }
}
