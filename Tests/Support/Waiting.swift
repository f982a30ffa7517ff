internal import Glibc

/// Calls `step` until it returns true; `step` itself must wait for something (poll, accept, a lock).
///
/// - Returns: false when that has taken longer than `seconds`: the deadline of a test that hangs, never a delay.
package func wait(upTo seconds: Double = 60, until step: () throws -> Bool) rethrows -> Bool {
    let end = monotonicSeconds() + seconds
    while monotonicSeconds() < end {
        if try step() { return true }
    }
    return false
}

/// Seconds on a clock that nobody sets.
package func monotonicSeconds() -> Double {
    var time = timespec()
    _ = clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// CPU time of this thread: how long something takes a machine that has nothing else to do.
package func threadTime() -> Duration {
    var time = timespec()
    _ = clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
