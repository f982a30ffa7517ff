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

    /// Whole seconds since 1970-01-01T00:00:00Z, never later than the moment itself.
    public var wholeSeconds: Int64 {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? quotient - 1 : quotient
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

    /// Whether `left` is earlier.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
