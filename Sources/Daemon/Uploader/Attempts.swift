internal import Base
internal import Linux
internal import Tracking
internal import Upload

/// The attempts of one destination: when the next is due, what holds it back, and who waits for its result.
struct Attempts {
    /// When and why; the random numbers that some of its changes take are here.
    var schedule: DrainSchedule
    /// Holds back what would go over a metered route.
    var metered: MeteredGate
    /// Whether a person asked for the attempt that is due.
    private(set) var isAskedFor = false
    private var random: RandomSource
    /// Clients that asked for an attempt.
    private var askers: [Token] = []

    init(_ rules: DrainRules, board: Board, random: RandomSource, now: BootInstant) {
        self.random = random
        metered = MeteredGate(board: board)
        schedule = DrainSchedule(rules, now: now, using: &self.random)
    }

    /// Something happened that may make an attempt due.
    mutating func trigger(_ trigger: DrainTrigger, now: BootInstant) {
        if case .command = trigger { isAskedFor = true }
        schedule.trigger(trigger, now: now, using: &random)
    }

    /// A client wants an attempt at once, and its result.
    mutating func ask(_ token: Token, now: BootInstant) {
        askers.append(token)
        trigger(.command, now: now)
    }

    /// The settings have changed: other rules, and one attempt with them at once.
    mutating func change(_ rules: DrainRules, now: BootInstant) {
        schedule.change(rules, now: now, using: &random)
        trigger(.change, now: now)
    }

    /// A request, with or without rows, is about to be sent.
    mutating func requested(now: BootInstant) { schedule.requested(now: now, using: &random) }

    // MARK: From beginning to end

    /// An attempt begins.
    ///
    /// - Returns: who waits for its result. Whoever asks while it runs gets another one.
    mutating func begin(now: BootInstant) -> [Token] {
        schedule.begin(now: now, using: &random)
        isAskedFor = false
        defer { askers = [] }
        return askers
    }

    /// The attempt that began has ended.
    ///
    /// - Returns: seconds until the next, when it is a retry.
    mutating func end(_ outcome: DrainOutcome, now: BootInstant) -> Double? {
        if outcome == .drained { metered.uploadsDone() }
        return schedule.end(outcome, now: now, using: &random)
    }
}
