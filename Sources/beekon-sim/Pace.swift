internal import Base
import Glibc
import Simulation

/// Paces a drive by the clock. Every epoch has an absolute deadline, so delays do not accumulate.
struct Pace {
    private let beganNanoseconds: Int64
    private let speedUp: Double
    /// Time of the first epoch.
    let firstEpoch: Timestamp

    /// With a `start` the first epoch is sent at once. Without one it is the next whole epoch of the system clock, so
    /// that times end in `.000` like those of real receivers.
    init(speedUp: Double, rate: Int, start: Timestamp?) {
        self.speedUp = speedUp
        let now = Self.read(CLOCK_REALTIME) / 1_000_000
        firstEpoch = start ?? Self.now(rate: rate)
        let wait = start == nil ? max(0, firstEpoch.milliseconds - now) : 0
        beganNanoseconds = Self.read(CLOCK_MONOTONIC) + wait * 1_000_000
    }

    /// The next whole epoch of the system clock.
    static func now(rate: Int) -> Timestamp {
        let step = Int64(1000 / rate)
        let now = read(CLOCK_REALTIME) / 1_000_000
        // At rates that do not divide a second evenly, start with a whole second.
        let grid = 1000 % Int64(rate) == 0 ? step : 1000
        return Timestamp(milliseconds: (now / grid + 1) * grid)
    }

    /// Sleeps until an epoch is due, given in milliseconds since the start of the drive.
    func wait(untilElapsed elapsed: Int) {
        // Capped: in an extremely slow drive a deadline in 30 years is as good as never.
        let deadline = beganNanoseconds + Int64(min(Double(elapsed) * 1_000_000 / speedUp, 1e18))
        var time = timespec(tv_sec: Int(deadline / 1_000_000_000), tv_nsec: Int(deadline % 1_000_000_000))
        // Keeping the pace is what this program is for. A signal that does not terminate it cuts the sleep short, and
        // the deadline stands.
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
