/// A moment of UTC as the receiver tells it, in Unix milliseconds.
///
/// The whole project calls this `time`; `now` is always boot time (`BootInstant`), and the two are never mixed.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    public var milliseconds: Int64

    /// As they come from gpsd, the database and JSON.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Seconds from `earlier` to this moment; negative when this moment is the earlier one.
    public func seconds(since earlier: Timestamp) -> Double {
        Double(milliseconds &- earlier.milliseconds) / 1000
    }

    /// This moment moved by `seconds`. Values outside what Int64 milliseconds can hold stop at its ends.
    public func advanced(bySeconds seconds: Double) -> Timestamp {
        let target = Double(milliseconds) + (seconds * 1000).rounded()
        guard target.isFinite, target > -9e18 else { return Timestamp(milliseconds: .min) }
        return Timestamp(milliseconds: target < 9e18 ? Int64(target) : .max)
    }

    /// By the moment in UTC.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// A moment on CLOCK_BOOTTIME: goes on during suspend, ignores every step of the system clock, means nothing across boots.
public struct BootInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since boot.
    public var nanoseconds: Int64

    /// As CLOCK_BOOTTIME gives it.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Seconds from `earlier` to this moment.
    public func seconds(since earlier: BootInstant) -> Double {
        Double(nanoseconds &- earlier.nanoseconds) / 1e9
    }

    /// This moment moved by `seconds`; anything beyond 100 years is as good as never and stops there.
    public func advanced(bySeconds seconds: Double) -> BootInstant {
        let bounded = seconds.isFinite ? min(max(seconds, -3.2e9), 3.2e9) : 3.2e9
        return BootInstant(nanoseconds: nanoseconds &+ Int64(bounded * 1e9))
    }

    /// By the moment since boot.
    public static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
