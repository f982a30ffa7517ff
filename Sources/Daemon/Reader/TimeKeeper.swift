internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking

/// What the time of fixes is used for beyond the fixes: it sets the daemon's clock, and decides which rows count as old.
/// Reports times that are wrong.
///
/// Confined to the reader's thread.
final class TimeKeeper {
    /// By which other rows may be deleted when a row is stored.
    struct Ages: Equatable {
        var prunes = false
        var onlyBefore: Timestamp?
    }

    private let hub: Hub
    private let outbox: Outbox
    private var refusalLimit = HourlyLimit()
    private var rolloverLimit = HourlyLimit()
    private var repetitionLimit = HourlyLimit()
    private var jumpLimit = HourlyLimit()

    init(hub: Hub, outbox: Outbox) {
        self.hub = hub
        self.outbox = outbox
    }

    /// Sets the clock by a settled fix.
    func setClock(by fix: Fix, now: BootInstant) {
        guard hub.clock.observe(fix.time, now: now) else { return }
        // A token may have expired by the clock that there is now, and commands wait for it.
        outbox.deliver(toUploaders: .timeKnown)
    }

    // MARK: Ages

    /// Takes up which times were trusted before the daemon ended.
    func resumeAges() throws(StorageError) {
        let memory = try hub.store.ageMemory()
        hub.ages.withLock { $0 = $0 ?? AgeTrust(memory) }
    }

    /// Only a time confirmed by another clock, or proved for an hour, may make other rows count as old, and only as
    /// far as it has actually passed: one run with a receiver in the wrong future, and a clock that follows it, must
    /// not make every correct fix look ancient.
    ///
    /// - Parameters:
    ///   - settledSince: since when the receiver's time has been settled.
    ///   - limits: what rows are deleted by.
    func ages(
        at time: Timestamp, settledSince: BootInstant?, limits: Settings.Store, now: BootInstant
    ) -> Ages {
        let (verdict, lead): (AgeTrust.Verdict, AgeTrust.Lead?) = hub.ages.withLock { ages in
            // The stored state could not be read yet.
            guard ages != nil else { return (.doubted(onlyBefore: nil), nil) }
            let verdict = ages?.observe(time, now: now, retention: limits.retentionDays * 86_400)
            return (verdict ?? .doubted(onlyBefore: nil), ages?.newLead)
        }
        if let lead { report(lead, to: time, limit: limits.maxRows, now: now) }
        // Every line of times is followed, so that rows stored on a doubtful one do not pass for old on the next.
        guard isBelieved(time, settledSince, now: now) else { return Ages() }
        switch verdict {
        case .believed: return Ages(prunes: true)
        case .doubted(let limit): return Ages(prunes: limit != nil, onlyBefore: limit)
        }
    }

    /// What is to be written about the observed times with the next location. Counts as written.
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

    private func isBelieved(_ time: Timestamp, _ settledSince: BootInstant?, now: BootInstant) -> Bool {
        if let settledSince, now.seconds(since: settledSince) >= 3600 { return true }
        let system = hub.clock.system(now: now)
        return system.isKnownGood && abs(system.time.seconds(since: time)) < 86_400
    }

    // MARK: What is logged

    /// Logs the beginning of a doubt; a jump at most once an hour.
    private func report(_ lead: AgeTrust.Lead, to time: Timestamp, limit: Int, now: BootInstant) {
        let days = Self.text(lead.days)
        guard lead.isOneStep else {
            return Log.info(
                .agesDoubted,
                "times are \(days) days ahead of what this machine has run in its last 24 hours of running, as they are "
                    + "where it is off at night: rows are deleted for their age by the earliest of them")
        }
        guard jumpLimit.admits(now) else { return }
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

    /// Warns that a fix had the wrong time.
    func report(_ fault: FixPipeline.TimeFault, of fix: Fix, now: BootInstant) {
        switch fault {
        case .refused(let count):
            guard refusalLimit.admits(now) else { return }
            Log.warning(
                .receiverTime,
                "the receiver says \(fix.time.iso8601), and the clock of this machine, which is known to be right, "
                    + "\(hub.clock.time(now: now).iso8601): such fixes are refused (\(count) so far). "
                    + "One of them is wrong: fix the receiver, or what sets the clock. For a recording, set gpsd.replay"
            )
        case .rolledOver(let count):
            guard rolloverLimit.admits(now) else { return }
            Log.warning(
                .receiverTime,
                "the receiver says \(fix.time.iso8601), which is 1024 weeks or more ago: its week counter has rolled over; "
                    + "corrected (\(count) so far). Update its firmware")
        case .repeated(let count):
            guard repetitionLimit.admits(now) else { return }
            Log.info(
                .receiverTime,
                "the receiver says \(fix.time.iso8601), and a later time was used before: such fixes are not, unless they are "
                    + "further back than a minute (\(count) so far)")
        }
    }
}
