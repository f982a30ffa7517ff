internal import CLinux
internal import Glibc

/// The system's clocks. Read once per wake-up, in the loops only, and passed on.
package enum Clock {
    /// CLOCK_BOOTTIME in nanoseconds: continues during suspend, unaffected by steps of the system clock.
    package static func boot() -> Int64 {
        read(CLOCK_BOOTTIME)
    }

    /// CLOCK_MONOTONIC in nanoseconds, by which the kernel stamps what happens to devices: stands still during suspend.
    package static func monotonic() -> Int64 {
        read(CLOCK_MONOTONIC)
    }

    /// CLOCK_REALTIME in Unix milliseconds. May be off by decades on a machine without a battery-backed clock.
    package static func realtimeMilliseconds() -> Int64 {
        read(CLOCK_REALTIME) / 1_000_000
    }

    /// Whether the kernel considers the system clock synchronised.
    package static func isSynchronised() -> Bool {
        var state = timex()
        let result = adjtimex(&state)
        return result >= 0 && result != TIME_ERROR && state.status & STA_UNSYNC == 0
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        // Cannot fail: these clocks exist on every Linux that Swift supports.
        _ = clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
