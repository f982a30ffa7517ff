internal import Base
internal import Configuration
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking

/// Which times may make rows count as old, and what must be remembered for that.
extension Reader {
    /// What is written with a row about ages.
    struct Ages {
        var prunes = false
        var onlyBefore: Timestamp?
    }

    /// Only a time confirmed by another clock, or proved for an hour, may make other rows count as old, and only as
    /// far as it has actually passed: one run with a receiver in the wrong future, and a clock that follows it, must
    /// not make every correct fix look ancient.
    func ages(at fix: Fix, now: BootInstant) -> Ages {
        // A recording's time says nothing about the present.
        if settings.gpsd.replay { return Ages() }
        let (verdict, lead): (AgeTrust.Verdict, AgeTrust.Lead?) = hub.ages.withLock { ages in
            // The stored state could not be read yet.
            guard ages != nil else { return (.doubted(onlyBefore: nil), nil) }
            let verdict = ages?.observe(fix.time, now: now, retention: settings.store.retentionDays * 86_400)
            return (verdict ?? .doubted(onlyBefore: nil), ages?.newLead)
        }
        if let lead { report(lead, to: fix.time, now: now) }
        // Every line of times is followed, lest rows that were stored on a doubtful one pass for old on the next.
        guard isBelieved(fix, now: now) else { return Ages() }
        switch verdict {
        case .believed: return Ages(prunes: true)
        case .doubted(let limit): return Ages(prunes: limit != nil, onlyBefore: limit)
        }
    }

    private func isBelieved(_ fix: Fix, now: BootInstant) -> Bool {
        if let since = receiverTime.settledSince, now.seconds(since: since) >= 3600 { return true }
        let system = hub.clock.system(now: now)
        return system.isKnownGood && abs(system.time.seconds(since: fix.time)) < 86_400
    }

    /// What is to be written with the next location.
    func takeDueAges() -> AgeTrust.Memory? {
        hub.ages.withLock { ages in
            guard let due = ages?.due else { return nil }
            ages?.keep(due)
            return due
        }
    }

    /// The database is a new one: everything known must be written again.
    func writeAgesAgain() {
        hub.ages.withLock { $0?.forgetKept() }
    }

    /// Logs the beginning of a doubt, at most once an hour.
    private func report(_ lead: AgeTrust.Lead, to time: Timestamp, now: BootInstant) {
        let days = Self.text(lead.days)
        guard lead.isOneStep else {
            return Log.info(
                .agesDoubted,
                "times are \(days) days ahead of what this machine has run in its last 24 hours of running, as they are "
                    + "where it is off at night: rows are deleted for their age by the earliest of them")
        }
        if let loggedJump, now.seconds(since: loggedJump) < 3600 { return }
        loggedJump = now
        let limit = settings.store.maxRows
        Log.warning(
            .agesDoubted,
            "times jumped by \(days) days, to \(time.iso8601), in the last day that this machine ran; nothing is "
                + "deleted for its age by the new ones until they have held for 24 hours of running (store.max_rows = "
                + "\(limit) holds all the same). Ordinary after a rest; otherwise check the receiver's date, and what sets "
                + "the clock")
    }

    private static func text(_ days: Double) -> String {
        days >= 10 ? "\(Int(clamping: Int64(min(days, 1e9))))" : "\((days * 10).rounded() / 10)"
    }
}
