internal import Base
internal import ControlProtocol
internal import Linux
internal import Tracking

/// One client of the control socket. Its calls are answered in order; while one is under way, nothing more is read from
/// it. Confined to the main thread.
final class ClientConnection {
    /// What the client is waiting for.
    enum Activity {
        case idle
        /// The end of a command. Without an encoder, nothing is sent then: the call was `oneway`.
        case awaiting(Token, Handlers.Encoder?)
        /// Pages of history, each read when the one before has been sent.
        case history(HistoryPages)
        /// Pages of geofences; the next one is requested when the previous one has been sent.
        case geofences(Handlers.Request, after: String?)
        case subscribed(Subscription)
    }

    /// What a subscriber has not been sent yet.
    struct Subscription {
        /// Events kept for a subscriber that reads slowly; then the oldest is lost, and counted.
        static let limit = 64

        /// nil for all.
        var kinds: Set<String>?
        /// May see what requests carry, and has asked for it.
        var showsBodies = false
        var events: [Wire.Event] = []
        var missed = 0

        /// What it wants to know of requests.
        var requestInterest: RequestInterest {
            guard kinds?.contains("http") ?? true else { return .none }
            return showsBodies ? .bodies : .outcomes
        }

        mutating func add(_ event: Wire.Event) {
            guard kinds?.contains(event.kind) ?? true else { return }
            var event = event
            if !showsBodies { event.http?.body = nil }
            if events.count == Self.limit {
                events.removeFirst()
                missed += 1
            }
            events.append(event)
        }

        /// Number of locations, geofence events and requests that were dropped before they reached this connection.
        mutating func miss(_ count: Int) {
            guard kinds?.isDisjoint(with: ["location", "geofence_event", "vehicle_event", "http"]) != true
            else { return }
            missed += count
        }

        /// The oldest event, with the number of those lost before it.
        mutating func next() -> Wire.Event? {
            guard !events.isEmpty else { return nil }
            var event = events.removeFirst()
            event.missed = missed > 0 ? missed : nil
            missed = 0
            return event
        }
    }

    let descriptor: FileDescriptor
    let peer: Peer
    var activity = Activity.idle
    /// The request of a client whose geofences are listed page by page.
    var listing: Handlers.Request?
    private var inbox: Inbox
    private var output = SendBuffer()
    /// Calls that have come may still be waiting: the turn ended before they were handled.
    var hasMoreCalls = false
    /// The number of the turn in which it was served last.
    var lastTurn = 0
    /// The client used up its share in its last turn: clients that want less come first.
    var isGreedy = false

    init(_ descriptor: consuming FileDescriptor, _ peer: Peer, now: BootInstant) {
        self.descriptor = descriptor
        self.peer = peer
        inbox = Inbox(now: now)
    }

    var isIdle: Bool { isAtRest && inbox.incompleteSince == nil && !hasOutput && !hasMoreCalls }

    /// A client that does not read its answer is not read from: so it costs one answer, and not one for each call.
    var wantsRead: Bool { isAtRest && !inbox.hasEnded && !hasOutput && !hasMoreCalls }

    var hasOutput: Bool { !output.isEmpty }

    /// The client has sent its last call, and all is answered.
    var isFinished: Bool { inbox.hasEnded && !hasOutput && !hasMoreCalls && isAtRest }

    private var isAtRest: Bool {
        if case .idle = activity { true } else { false }
    }

    var lastActive: BootInstant { inbox.lastActive }

    /// The client has sent something.
    var hasSpoken: Bool { inbox.hasSpoken }

    /// Since when a request has been incomplete; nil while nothing is read from it.
    var incomplete: BootInstant? { hasOutput ? nil : inbox.incompleteSince }

    /// Since when it has not read what it was sent.
    var stalledSince: BootInstant? { output.stalledSince }

    /// Bytes of requests that are not handled yet.
    var waitingBytes: Int { inbox.waitingBytes }

    /// Bytes of answers that are not sent yet.
    var outputBytes: Int { output.unsentBytes }

    /// Bytes of answers that are not completely sent.
    var heldBytes: Int { output.heldBytes }

    /// Reads what has come.
    func receive(now: BootInstant) throws(SystemError) {
        try inbox.receive(from: descriptor, now: now)
    }

    /// The next complete call.
    func nextCall(now: BootInstant) throws(ProtocolViolation) -> Call? {
        try inbox.nextCall(now: now)
    }

    func send(_ bytes: [UInt8]) {
        output.append(bytes)
    }

    /// Sends what the kernel has room for.
    func flush(now: BootInstant) throws(SystemError) {
        guard hasOutput else { return }
        try output.flush(to: descriptor, now: now)
        if !hasOutput { inbox.restart(now: now) }
    }
}

/// What its activity lets it do.
extension ClientConnection {
    /// A call may be handled now.
    var wantsCall: Bool {
        if case .idle = activity { true } else { false }
    }

    /// A `oneway` call is with another thread.
    var isAwaitingSilently: Bool {
        if case .awaiting(_, nil) = activity { true } else { false }
    }

    /// A subscriber has more to be sent. Of history, one page follows with each turn of the loop, so that a long export
    /// keeps nobody waiting.
    var hasMoreEvents: Bool {
        if case .subscribed(let subscription) = activity { !subscription.events.isEmpty } else { false }
    }

    /// There is output, or the next page of history or the answers to calls that have come are to be made when there is
    /// room for them.
    var wantsWrite: Bool {
        switch activity {
        case .history, .geofences: true
        case .idle, .awaiting, .subscribed: hasOutput || wantsCall && hasMoreCalls
        }
    }
}
