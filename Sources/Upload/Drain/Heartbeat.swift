package import Base

/// Decides when a destination is told that the vehicle lives though nothing is pending: with an envelope without rows. Pure:
/// time and randomness are arguments.
///
/// It is counted from the latest request of any kind, up to 10 % early, so that a vehicle whose rows go out sends none. One that
/// was due and has not arrived is owed: the next attempt of `DrainSchedule`, after back-off or on the schedule, carries it.
package struct Heartbeat: Equatable, Sendable {
    /// Seconds: how long envelopes without rows are left out after the server has refused one for good.
    package static let pauseLength = 86_400.0

    /// Seconds; 0 is off.
    private var interval: Double
    /// When the next one is due; nil while off.
    private var next: BootInstant?
    /// One was due, and nothing has arrived since.
    package private(set) var isOwed = false
    /// No heartbeat before this, because the server has refused one for good; nil: it has not.
    private var pausedUntil: BootInstant?

    /// The first is due at a random moment, so that a fleet that is powered up together does not stay in step.
    ///
    /// - Parameter interval: seconds; 0 is off.
    package init(interval: Double, now: BootInstant, using random: inout some RandomNumberGenerator) {
        self.interval = 0
        change(interval: interval, now: now, using: &random)
    }

    /// Another interval; the first of it is due at a random moment, too.
    package mutating func change(
        interval new: Double, now: BootInstant, using random: inout some RandomNumberGenerator
    ) {
        guard new != interval else { return }
        interval = new
        isOwed = false
        next =
            new > 0 ? now.advanced(bySeconds: Round.first(of: new, using: &random)) : nil
    }

    /// Another server may take what this one has refused.
    package mutating func serverChanged() {
        pausedUntil = nil
    }

    /// When the next one is due, whatever `DrainSchedule` says; nil: never.
    package var due: BootInstant? {
        guard let next else { return nil }
        // Owed: long ago, and yet a time that others can be compared with.
        let due = isOwed ? BootInstant(nanoseconds: 0) : next
        return max(due, pausedUntil ?? due)
    }

    /// The time before which no envelope without rows is to be sent, whatever it would carry; nil: one may be.
    package func pause(now: BootInstant) -> BootInstant? {
        pausedUntil.flatMap { now < $0 ? $0 : nil }
    }

    /// An attempt that is made now carries one.
    package func isDue(now: BootInstant) -> Bool {
        due.map { $0 <= now } ?? false
    }

    /// Whether one is to be sent. From then on it is owed.
    package mutating func begin(now: BootInstant) -> Bool {
        guard isDue(now: now) else { return false }
        isOwed = true
        return true
    }

    /// A request with whatever content is about to be sent.
    package mutating func attempted(now: BootInstant, using random: inout some RandomNumberGenerator) {
        guard interval > 0 else { return }
        next = now.advanced(bySeconds: Round.next(of: interval, using: &random))
    }

    /// The server has accepted something: it knows that the vehicle lives.
    package mutating func accepted() {
        isOwed = false
    }

    /// The server has refused an envelope without rows for good.
    package mutating func refused(now: BootInstant) {
        isOwed = false
        pausedUntil = now.advanced(bySeconds: Self.pauseLength)
    }
}

extension Judgement {
    /// Whether the answer refuses an envelope without rows: it will not be taken, however often it is sent.
    package var refusesEnvelope: Bool {
        verdict != .accepted && broker == nil && [400, 413, 422].contains(status)
    }
}
