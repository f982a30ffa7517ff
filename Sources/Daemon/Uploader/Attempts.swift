internal import Base
internal import Linux
internal import Tracking
internal import Upload

/// The attempts of one destination: when the next is due, what holds it back, and who waits for its result.
struct Attempts {
    /// Holds back what would go over a metered route.
    var metered: MeteredGate
    /// A person asked for the one that is due.
    private(set) var isAskedFor = false
    private var occasions: Occasions
    private var random: RandomSource
    /// Clients that asked for an attempt.
    private var askers: [Token] = []

    init(_ rules: DrainRules, board: Board, random: RandomSource, now: BootInstant) {
        self.random = random
        metered = MeteredGate(board: board)
        occasions = Occasions(rules, now: now, using: &self.random)
    }

    /// When the next one is due; nil: not before somebody asks.
    var due: BootInstant? { occasions.due }
    /// A command asked for the next one.
    var isForced: Bool { occasions.isForced }
    /// How many have followed a transient failure.
    var retries: Int { occasions.retries }

    /// Something happened that may make one due.
    mutating func trigger(_ trigger: DrainTrigger, now: BootInstant) {
        if case .command = trigger { isAskedFor = true }
        occasions.trigger(trigger, now: now, using: &random)
    }

    /// A client wants one at once, and its result.
    mutating func ask(_ token: Token, now: BootInstant) {
        askers.append(token)
        trigger(.command, now: now)
    }

    /// Other settings: other rules, and one attempt with them at once.
    mutating func change(_ rules: DrainRules, now: BootInstant) {
        occasions.change(rules, now: now, using: &random)
        trigger(.change, now: now)
    }

    /// When what is due at `time` by itself may go; nil: never.
    func admits(_ time: BootInstant) -> BootInstant? { occasions.admits(time) }

    // MARK: Heartbeats

    /// When a heartbeat is the reason for one; nil: never.
    var heartbeatDue: BootInstant? { occasions.heartbeatDue }
    var heartbeat: Heartbeat { occasions.heartbeat }

    /// Whether a heartbeat is due. From then on it is owed to the server.
    mutating func beginHeartbeat(now: BootInstant) -> Bool { occasions.beginHeartbeat(now: now) }

    /// A request, with or without rows, is about to be sent.
    mutating func requested(now: BootInstant) { occasions.requested(now: now, using: &random) }

    /// The server has accepted a request.
    mutating func accepted() { occasions.accepted() }

    /// The server has refused an envelope without rows for good.
    mutating func refusedEnvelope(now: BootInstant) { occasions.refusedEnvelope(now: now) }

    /// Another server may take what this one has refused.
    mutating func serverChanged() { occasions.serverChanged() }

    // MARK: From beginning to end

    /// One begins.
    ///
    /// - Returns: who waits for its result. Whoever asks while it runs gets another one.
    mutating func begin(now: BootInstant) -> [Token] {
        occasions.begin(now: now, using: &random)
        isAskedFor = false
        defer { askers = [] }
        return askers
    }

    /// The one that began has ended.
    ///
    /// - Returns: seconds until the next, when it is a retry.
    mutating func end(_ outcome: DrainOutcome, now: BootInstant) -> Double? {
        if outcome == .drained { metered.uploadsDone() }
        return occasions.end(outcome, now: now, using: &random)
    }
}
