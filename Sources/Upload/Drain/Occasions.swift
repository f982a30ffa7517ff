package import Base

/// The occasions for an attempt at one destination: its schedule, and the heartbeats that go as the schedule admits them.
/// Pure: time and randomness are arguments.
package struct Occasions: Sendable {
    private var schedule: DrainSchedule
    /// When the server is told that the vehicle lives though nothing is pending.
    package private(set) var heartbeat: Heartbeat

    /// Both begin at a random moment.
    package init(_ rules: DrainRules, now: BootInstant, using random: inout some RandomNumberGenerator) {
        schedule = DrainSchedule(rules, now: now, using: &random)
        heartbeat = Heartbeat(interval: rules.heartbeat, now: now, using: &random)
    }

    /// When the next drain is due; nil while only the user can start one.
    package var due: BootInstant? { schedule.due }
    /// A command asked for the next one.
    package var isForced: Bool { schedule.isForced }
    /// How many attempts have followed a transient failure.
    package var retries: Int { schedule.retries }
    /// When a heartbeat is the reason for one; nil: never.
    package var heartbeatDue: BootInstant? { heartbeat.due.flatMap { admits($0) } }

    /// When what is due at `time` by itself may go; nil: never.
    package func admits(_ time: BootInstant) -> BootInstant? { schedule.admits(time) }

    /// Something happened that may make one due.
    package mutating func trigger(
        _ trigger: DrainTrigger, now: BootInstant, using random: inout some RandomNumberGenerator
    ) {
        schedule.trigger(trigger, now: now, using: &random)
    }

    /// Other rules, from now on.
    package mutating func change(
        _ rules: DrainRules, now: BootInstant, using random: inout some RandomNumberGenerator
    ) {
        schedule.change(rules, now: now, using: &random)
        heartbeat.change(interval: rules.heartbeat, now: now, using: &random)
    }

    /// A drain begins.
    package mutating func begin(now: BootInstant, using random: inout some RandomNumberGenerator) {
        schedule.begin(now: now, using: &random)
    }

    /// It has ended.
    ///
    /// - Returns: seconds until the next attempt, when it is a retry.
    package mutating func end(
        _ outcome: DrainOutcome, now: BootInstant, using random: inout some RandomNumberGenerator
    ) -> Double? {
        schedule.end(outcome, now: now, using: &random)
    }

    // MARK: Heartbeats

    /// Whether a heartbeat is due. From then on it is owed to the server.
    package mutating func beginHeartbeat(now: BootInstant) -> Bool { heartbeat.begin(now: now) }

    /// A request, with or without rows, is about to be sent.
    package mutating func requested(now: BootInstant, using random: inout some RandomNumberGenerator) {
        heartbeat.attempted(now: now, using: &random)
    }

    /// The server has accepted a request.
    package mutating func accepted() { heartbeat.accepted() }

    /// The server has refused an envelope without rows for good.
    package mutating func refusedEnvelope(now: BootInstant) { heartbeat.refused(now: now) }

    /// Another server may take what this one has refused.
    package mutating func serverChanged() {
        schedule.serverChanged()
        heartbeat.serverChanged()
    }
}
