import Glibc
import Simulation

/// Holds a drive to the clock: every epoch has its own absolute deadline, so being late once does not add up.
struct Pace {
    private let beganNanoseconds: Int64
    private let speedUp: Double
    /// The time of the first epoch when it is to be now.
    let firstEpoch: Timestamp

    /// With a `start` the first epoch goes out at once; without one it is the next whole epoch of the system
    /// clock, so that times end in `.000` as those of receivers do.
    init(speedUp: Double, rate: Int, start: Timestamp?) {
        self.speedUp = speedUp
        let now = Self.read(CLOCK_REALTIME) / 1_000_000
        firstEpoch = start ?? Self.now(rate: rate)
        let wait = start == nil ? max(0, firstEpoch.unixMilliseconds - now) : 0
        beganNanoseconds = Self.read(CLOCK_MONOTONIC) + wait * 1_000_000
    }

    /// The next whole epoch of the system clock.
    static func now(rate: Int) -> Timestamp {
        let step = Int64(1000 / rate)
        let now = read(CLOCK_REALTIME) / 1_000_000
        // Rates that do not divide a second evenly begin with a whole one.
        let grid = 1000 % Int64(rate) == 0 ? step : 1000
        return Timestamp(unixMilliseconds: (now / grid + 1) * grid)
    }

    /// Sleeps until the moment of an epoch, given in milliseconds since the start of the drive.
    func wait(untilElapsed elapsed: Int) {
        // However slow the drive: a deadline in 30 years is as good as never.
        let deadline = beganNanoseconds + Int64(min(Double(elapsed) * 1_000_000 / speedUp, 1e18))
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        // The pace is what this program is for. A signal that does not end it cuts the sleep short, and the deadline stands.
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
