internal import CLinux
internal import Glibc

/// The clocks. Read once per wake-up, in the loops only, and passed on.
public enum Clock {
    /// CLOCK_BOOTTIME in nanoseconds: goes on during suspend, ignores steps of the system clock.
    public static func boot() -> Int64 {
        read(CLOCK_BOOTTIME)
    }

    /// CLOCK_REALTIME in Unix milliseconds. May be wrong by decades on a box without a battery clock.
    public static func realtimeMilliseconds() -> Int64 {
        read(CLOCK_REALTIME) / 1_000_000
    }

    /// The kernel's own word that something disciplines the system clock.
    public static func isSynchronised() -> Bool {
        var state = timex()
        let result = adjtimex(&state)
        return result >= 0 && result != TIME_ERROR && state.status & STA_UNSYNC == 0
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Cannot fail for these clocks: both exist on every Linux that Swift runs on.
        _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
