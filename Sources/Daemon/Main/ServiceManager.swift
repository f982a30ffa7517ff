internal import Base
internal import Systemd

/// What the service manager is told: that the daemon is ready, alive and ending, and in short how it is doing.
struct ServiceManager {
    /// nil where nobody watches.
    private var watchdog: Watchdog?
    /// What it shows.
    private var text = ""

    init(now: BootInstant) {
        watchdog = Notifier.watchdogInterval().map { Watchdog(timeout: $0, now: now) }
    }

    /// When `feed` must be called next; nil: never.
    var due: BootInstant? { watchdog?.next }

    func ready() {
        Notifier.ready()
    }

    func stopping() {
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
