internal import CSystemd
internal import Glibc

/// Tells the service manager how the service is. Does nothing when there is none.
public enum Notifier {
    /// The service works: sent once, without waiting for a fix.
    public static func ready() {
        notify("READY=1")
    }

    /// The start takes longer, but gets on: systemd waits at least this many seconds from now, whatever its limit.
    public static func extendTimeout(seconds: Double) {
        notify("EXTEND_TIMEOUT_USEC=\(Int64(seconds * 1e6))")
    }

    /// There is a manager to be told.
    public static var isManaged: Bool { getenv("NOTIFY_SOCKET") != nil }

    /// One line for `systemctl status`.
    public static func status(_ text: String) {
        notify("STATUS=" + text)
    }

    /// Tells systemd that the end has begun.
    public static func stopping() {
        notify("STOPPING=1")
    }

    /// Tells systemd that every thread makes progress.
    public static func feedWatchdog() {
        notify("WATCHDOG=1")
    }

    /// Seconds within which the watchdog must be fed; nil when there is none.
    public static func watchdogInterval() -> Double? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0, microseconds > 0 else { return nil }
        return Double(microseconds) / 1e6
    }

    private static func notify(_ state: String) {
        // A manager that has gone cannot be told anything.
        _ = sd_notify(0, state)
    }
}
