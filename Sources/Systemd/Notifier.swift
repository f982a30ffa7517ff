internal import CSystemd
internal import Glibc

/// Reports the state of the service to the service manager; does nothing without one.
package enum Notifier {
    /// Reports that the service is up. Sent once, without waiting for a fix.
    package static func ready() {
        notify("READY=1")
    }

    /// The start takes longer but makes progress: systemd waits at least this many seconds from now, whatever its limit.
    package static func extendTimeout(seconds: Double) {
        notify("EXTEND_TIMEOUT_USEC=\(Int64(seconds * 1e6))")
    }

    /// Sets the line that `systemctl status` shows.
    package static func status(_ text: String) {
        notify("STATUS=" + text)
    }

    /// Reports that the service is shutting down.
    package static func stopping() {
        notify("STOPPING=1")
    }

    /// Reports that every thread makes progress.
    package static func feedWatchdog() {
        notify("WATCHDOG=1")
    }

    /// Watchdog timeout in seconds; nil when the watchdog is disabled.
    package static func watchdogInterval() -> Double? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0, microseconds > 0 else { return nil }
        return Double(microseconds) / 1e6
    }

    private static func notify(_ state: String) {
        // If the manager is gone there is nobody to notify.
        _ = sd_notify(0, state)
    }
}
