/// A moment on CLOCK_BOOTTIME, which continues during suspend, ignores steps of the system clock, and means nothing
/// after a reboot.
package struct BootInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since boot.
    package var nanoseconds: Int64

    /// - Parameter nanoseconds: as CLOCK_BOOTTIME reports them.
    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Seconds from `earlier` to this moment.
    package func seconds(since earlier: BootInstant) -> Double {
        Double(nanoseconds &- earlier.nanoseconds) / 1e9
    }

    /// This moment shifted by `seconds`, clamped to ±100 years: as good as never.
    package func advanced(bySeconds seconds: Double) -> BootInstant {
        let bounded = seconds.isFinite ? min(max(seconds, -3.2e9), 3.2e9) : 3.2e9
        return BootInstant(nanoseconds: nanoseconds &+ Int64(bounded * 1e9))
    }

    package static func < (left: BootInstant, right: BootInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
