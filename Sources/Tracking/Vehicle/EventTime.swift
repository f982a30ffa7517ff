package import Base

/// When an event happened, also when nobody knew the time: every cold start. Persisted. Pure.
package enum EventTime: Equatable, Sendable {
    /// Final. Estimated: it happened in another boot, before its time was known, or while nobody looked.
    case known(Timestamp, isEstimated: Bool)
    /// Not known yet. Such an event is not frozen into a batch: its bytes must not change any more.
    case pending(BootID, BootInstant)

    /// A moment by both clocks, once time can be trusted.
    package struct Anchor: Equatable, Sendable {
        package var boot: BootID
        package var now: BootInstant
        package var time: Timestamp

        package init(boot: BootID, now: BootInstant, time: Timestamp) {
            self.boot = boot
            self.now = now
            self.time = time
        }
    }

    /// The time of an event at `instant` of this boot.
    ///
    /// - Parameter anchor: nil while no time can be trusted; one of another boot is none.
    package init(at instant: BootInstant, boot: BootID, anchor: Anchor?) {
        self = .pending(boot, instant)
        if let anchor, anchor.boot == boot { settle(by: anchor, lastTrusted: nil) }
    }

    /// Whether the event may be frozen.
    package var isKnown: Bool {
        switch self {
        case .known: true
        case .pending: false
        }
    }

    /// Records that time can be trusted now.
    ///
    /// - Parameter lastTrusted: the last time that was trusted in an earlier boot, of the newest row or a small file:
    ///   an event of a boot that ended before its time settled was then at the earliest. nil if there is none.
    package mutating func settle(by anchor: Anchor, lastTrusted: Timestamp?) {
        guard case .pending(let boot, let instant) = self else { return }
        if boot == anchor.boot {
            self = .known(
                anchor.time.advanced(bySeconds: instant.seconds(since: anchor.now)), isEstimated: false)
        } else {
            self = .known(min(lastTrusted ?? anchor.time, anchor.time), isEstimated: true)
        }
    }
}
