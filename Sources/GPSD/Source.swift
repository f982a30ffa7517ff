internal import Linux
public import Tracking

/// What the daemon hears from gpsd. The names are the control interface's.
public enum SourceHealth: String, Sendable {
    /// Nothing needs fixes, so there is no connection.
    case released
    case disconnected
    case noDevice = "no_device"
    case noFix = "no_fix"
    /// There are fixes, but their time has yet to prove itself.
    case unsettled
    /// There was a fix, but no new one has come for 10 s, or the receiver's time stands still.
    case stale
    case ok
}

/// A connection to gpsd that is kept up: connects, watches, notices silence, and starts again with back-off.
///
/// It never blocks (but for the resolver, when the host is a name) and has no thread: the loop that owns it calls `run`
/// whenever the descriptor is ready or the deadline has passed.
public struct Source: ~Copyable {
    /// What the loop is told.
    public enum Event: Equatable, Sendable {
        case connected
        /// The next attempt follows after this many seconds.
        case disconnected(reason: String, retryIn: Double)
        /// Fixes come from another receiver now.
        case deviceChanged(String)
        /// An epoch without a fix.
        case noFix
        case fix(Fix)
    }

    /// What status tells of gpsd and its receiver.
    public struct Facts: Equatable, Sendable {
        /// The receiver in use; nil before the first fix of one.
        public var device: String?
        /// 0…3, of its latest report.
        public var mode = 0
        /// nil before the first sky view.
        public var satellitesUsed: Int?
        /// nil before the first sky view.
        public var satellitesVisible: Int?
        /// Fixes of the receiver in use.
        public var fixes = 0
        /// Connections lost since the start.
        public var reconnects = 0

        /// Nothing is known yet.
        public init() {}
    }

    /// Seconds within which a connection must be made.
    static let connectTimeout = 5.0
    /// Seconds of silence after which gpsd is asked whether it is still there: an idle one says nothing of its own.
    static let silence = 30.0
    /// Seconds that it has for the answer.
    static let answerTimeout = 10.0
    /// Seconds without a fix after which another receiver may take over, and the source counts as stale.
    static let staleness = 10.0
    /// gpsd itself holds at most four.
    static let deviceLimit = 16

    enum State {
        case released
        case waiting(until: BootInstant)
        case connecting(since: BootInstant)
        case watching(lastHeard: BootInstant, askedAt: BootInstant?)
    }

    /// For status.
    public internal(set) var facts = Facts()

    let host: String
    let port: UInt16
    let pinned: String
    var state = State.released
    var socket: Socket?
    var parser: Parser
    var epochs = Epochs()
    var backOff = BackOff(first: 1, ceiling: 30)
    var random: SystemRandomNumberGenerator
    var addressIndex = 0
    /// The receivers that gpsd has, by their paths; nil until it has told.
    var devices: [String]?
    var lastFix: BootInstant?
    /// The loop has been woken for the staleness of the last fix; once is enough.
    private var isStale = false

    /// - Parameters:
    ///   - host: a name or an address.
    ///   - device: gpsd's path of the only receiver to be used; empty for whichever has a fix.
    /// - Returns: nil when there is no memory for libgps.
    public init?(host: String, port: UInt16, device: String) {
        guard let parser = Parser() else { return nil }
        self.parser = parser
        self.host = host
        self.port = port
        pinned = device
        random = SystemRandomNumberGenerator()
    }

    /// −1 while there is none.
    public internal(set) var descriptor: Int32 = -1

    /// The loop must wait for writability, which tells that the connection stands.
    public var wantsWrite: Bool {
        if case .connecting = state { true } else { false }
    }

    /// When `run` has something to do, if nothing comes before.
    public var deadline: BootInstant? {
        switch state {
        case .released: return nil
        case .waiting(let until): return until
        case .connecting(let since): return since.advanced(bySeconds: Self.connectTimeout)
        case .watching(let lastHeard, let askedAt):
            let quiet =
                askedAt?.advanced(bySeconds: Self.answerTimeout)
                ?? lastHeard.advanced(bySeconds: Self.silence)
            let stale = isStale ? nil : lastFix?.advanced(bySeconds: Self.staleness)
            return [quiet, epochs.deadline, stale].compactMap(\.self).min()
        }
    }

    /// What is heard, in a word.
    ///
    /// - Parameter isSettled: the receiver's time has proved itself.
    public func health(now: BootInstant, isSettled: Bool) -> SourceHealth {
        switch state {
        case .released: return .released
        case .waiting, .connecting: return .disconnected
        case .watching: break
        }
        // What accepts connections need not be a gpsd that answers.
        guard let devices else { return .disconnected }
        if pinned.isEmpty ? devices.isEmpty : !devices.contains(pinned) { return .noDevice }
        guard facts.mode >= 2 else { return .noFix }
        guard let lastFix, now.seconds(since: lastFix) < Self.staleness else { return .stale }
        return isSettled ? .ok : .unsettled
    }

    /// Fixes are needed from now on.
    public mutating func acquire(now: BootInstant) {
        if case .released = state { state = .waiting(until: now) }
    }

    /// Nothing needs fixes any more: gpsd may let the receiver sleep.
    ///
    /// - Returns: the fixes of epochs that were still open.
    public mutating func release(now: BootInstant) -> [Event] {
        let events = flush(now: now)
        disconnect()
        state = .released
        return events
    }

    /// There is no connection, and none is wanted.
    public var isReleased: Bool {
        if case .released = state { true } else { false }
    }

    /// The fixes of epochs that are still open: whatever comes later belongs to another time.
    public mutating func flush(now: BootInstant) -> [Event] {
        var events: [Event] = []
        close(epochs.flush(), now: now, &events)
        return events
    }

    /// For so many seconds nobody listened, because the loop was held up: they are no silence of the receiver's.
    public mutating func excuse(seconds: Double) {
        lastFix = lastFix?.advanced(bySeconds: seconds)
    }

    /// Does what is due.
    public mutating func run(now: BootInstant) -> [Event] {
        var events: [Event] = []
        defer { isStale = lastFix.map { now.seconds(since: $0) >= Self.staleness } ?? false }
        do {
            switch state {
            case .released: break
            case .waiting(let until): if now >= until { try connect(now: now) }
            case .connecting(let since): try finishConnecting(since: since, now: now, &events)
            case .watching(let lastHeard, let askedAt):
                try listen(lastHeard: lastHeard, askedAt: askedAt, now: now, &events)
            }
        } catch {
            close(epochs.flush(), now: now, &events)
            events.append(lose(reason: error.description, now: now))
        }
        return events
    }
}
