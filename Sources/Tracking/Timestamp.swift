/// A moment in UTC as reported by the receiver, in Unix milliseconds.
///
/// The whole project calls this `time`; `now` is always boot time (`BootInstant`), and the two are never mixed.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z; negative before.
    public var milliseconds: Int64

    /// - Parameter milliseconds: since the Unix epoch, as in gpsd's reports, the database and JSON.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Seconds from `earlier` to this moment; negative if `earlier` is in fact later.
    public func seconds(since earlier: Timestamp) -> Double {
        Double(milliseconds &- earlier.milliseconds) / 1000
    }

    /// This moment shifted by `seconds`, saturating at the limits of Int64 milliseconds.
    public func advanced(bySeconds seconds: Double) -> Timestamp {
        let target = Double(milliseconds) + (seconds * 1000).rounded()
        guard target.isFinite, target > -9e18 else { return Timestamp(milliseconds: .min) }
        return Timestamp(milliseconds: target < 9e18 ? Int64(target) : .max)
    }

    /// Chronological order.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// A moment on CLOCK_BOOTTIME, which continues during suspend, ignores steps of the system clock, and means nothing
/// after a reboot.
public struct BootInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since boot.
    public var nanoseconds: Int64

    /// - Parameter nanoseconds: as CLOCK_BOOTTIME reports them.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Seconds from `earlier` to this moment.
    public func seconds(since earlier: BootInstant) -> Double {
        Double(nanoseconds &- earlier.nanoseconds) / 1e9
    }

    /// This moment shifted by `seconds`, clamped to ±100 years: as good as never.
    public func advanced(bySeconds seconds: Double) -> BootInstant {
        let bounded = seconds.isFinite ? min(max(seconds, -3.2e9), 3.2e9) : 3.2e9
        return BootInstant(nanoseconds: nanoseconds &+ Int64(bounded * 1e9))
    }

    /// Chronological order.
    public static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
