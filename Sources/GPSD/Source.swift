package import Base
package import Linux
package import Tracking

/// The state of the connection to gpsd and of its receiver. The raw values are those of the control interface.
package enum SourceHealth: String, Sendable {
    /// Nothing needs fixes, so there is no connection.
    case released
    case disconnected
    case noDevice = "no_device"
    case noFix = "no_fix"
    /// There are fixes, but their time has yet to settle.
    case unsettled
    /// No fix of a new instant has arrived for 10 s, or the receiver's clock is stuck.
    case stale
    case ok
}

/// A persistent connection to gpsd: connects, watches, detects silence, and reconnects with back-off.
///
/// It never blocks (except in the resolver, when the host is a name) and has no thread: the loop that owns it calls
/// `run` whenever the descriptor is ready or the deadline has passed.
package struct Source: ~Copyable {
    /// What is reported to the loop.
    package enum Event: Equatable, Sendable {
        case connected
        /// The next attempt follows after `retryIn` seconds.
        case disconnected(reason: String, retryIn: Double)
        /// Fixes now come from another receiver.
        case deviceChanged(String)
        /// An epoch without a fix.
        case noFix
        case fix(Fix)
    }

    /// What the status reports about gpsd and its receiver.
    package struct Facts: Equatable, Sendable {
        /// The receiver in use; nil before its first fix.
        package var device: String?
        /// 0…3, from its latest report.
        package var mode = 0
        /// nil before the first sky report.
        package var satellitesUsed: Int?
        /// nil before the first sky report.
        package var satellitesVisible: Int?
        /// Number of fixes from the receivers in use.
        package var fixes = 0
        /// Number of connections lost since the start.
        package var reconnects = 0

        package init() {}
    }

    /// Seconds allowed for the resolver, which tries three servers twice for 5 s each as a rule.
    static let lookupTimeout = 30.0
    /// Seconds allowed for connecting.
    static let connectTimeout = 5.0
    /// Seconds of silence after which gpsd is asked for a sign of life: when idle, it sends nothing on its own.
    static let silence = 30.0
    /// Seconds allowed for its answer.
    static let answerTimeout = 10.0
    /// Seconds without a fix after which another receiver may take over, and the source counts as stale.
    static let staleness = 10.0
    /// gpsd itself supports at most four.
    static let deviceLimit = 16

    enum State {
        case released
        case waiting(until: BootInstant)
        case lookingUp(HostLookup, since: BootInstant)
        /// The others are tried when this address fails.
        case connecting(since: BootInstant, others: ArraySlice<Dialler.Dial>)
        case watching(lastHeard: BootInstant, askedAt: BootInstant?)
    }

    /// For the status.
    package internal(set) var facts = Facts()

    let host: String
    let port: UInt16
    let pinned: String
    var state = State.released
    var socket: Socket?
    var parser: ReportParser
    var epochs = Epochs()
    var backOff = BackOff(first: 1, ceiling: 30)
    var random: RandomSource
    let dialler: Dialler
    /// The resolver's latest, which may still be asked while another connection is due.
    var lookup: HostLookup?
    /// Paths of the receivers that gpsd has; nil until it has listed them.
    var devices: [String]?
    var lastFix: BootInstant?
    /// The loop has already been woken because the last fix is stale; once is enough.
    private var isStale = false

    /// - Parameters:
    ///   - host: a name or an address.
    ///   - device: gpsd's path of the only receiver to use; empty for whichever has a fix.
    /// - Returns: nil when memory for libgps is exhausted.
    package init?(
        host: String, port: UInt16, device: String, random: RandomSource = RandomSource(),
        dialler: Dialler = .network
    ) {
        guard let parser = ReportParser() else { return nil }
        self.init(parser, host: host, port: port, device: device, random, dialler)
    }

    private init(
        _ parser: consuming ReportParser, host: String, port: UInt16, device: String, _ random: RandomSource,
        _ dialler: Dialler
    ) {
        self.parser = parser
        self.host = host
        self.port = port
        pinned = device
        self.random = random
        self.dialler = dialler
    }

    /// −1 while there is no socket.
    package internal(set) var descriptor: Int32 = -1

    /// Whether to wait for writability, which signals that the connection is established.
    package var wantsWrite: Bool {
        if case .connecting = state { true } else { false }
    }

    /// When `run` next has something to do, if nothing arrives before.
    package var deadline: BootInstant? {
        switch state {
        case .released: return nil
        case .waiting(let until): return until
        case .lookingUp(_, let since): return since.advanced(bySeconds: Self.lookupTimeout)
        case .connecting(let since, _): return since.advanced(bySeconds: Self.connectTimeout)
        case .watching(let lastHeard, let askedAt):
            let quiet =
                askedAt?.advanced(bySeconds: Self.answerTimeout)
                ?? lastHeard.advanced(bySeconds: Self.silence)
            let stale = isStale ? nil : lastFix?.advanced(bySeconds: Self.staleness)
            return [quiet, epochs.deadline, stale].compactMap(\.self).min()
        }
    }

    /// The overall state.
    ///
    /// - Parameters:
    ///   - isSettled: whether the receiver's time has settled.
    ///   - repeatsSince: since when its fixes have told nothing but instants that are known; nil: they tell new ones.
    package func health(
        now: BootInstant, isSettled: Bool, repeatsSince: BootInstant? = nil
    ) -> SourceHealth {
        switch state {
        case .released: return .released
        case .waiting, .lookingUp, .connecting: return .disconnected
        case .watching: break
        }
        // Something that accepts connections need not be a gpsd that answers.
        guard let devices else { return .disconnected }
        if pinned.isEmpty ? devices.isEmpty : !devices.contains(pinned) { return .noDevice }
        guard facts.mode >= 2 else { return .noFix }
        guard let lastFix, now.seconds(since: lastFix) < Self.staleness else { return .stale }
        if let repeatsSince, now.seconds(since: repeatsSince) >= Self.staleness { return .stale }
        return isSettled ? .ok : .unsettled
    }

    /// Connects, because fixes are needed from now on.
    package mutating func acquire(now: BootInstant) {
        if case .released = state { state = .waiting(until: now) }
    }

    /// Disconnects, because nothing needs fixes any more: gpsd may let the receiver sleep.
    ///
    /// - Returns: the fixes of epochs that were still open.
    package mutating func release(now: BootInstant) -> [Event] {
        let events = flush(now: now)
        disconnect()
        state = .released
        return events
    }

    /// Whether there is no connection, and none is wanted.
    package var isReleased: Bool {
        if case .released = state { true } else { false }
    }

    /// Closes the open epochs, because whatever arrives later belongs to another session.
    ///
    /// - Returns: their fixes.
    package mutating func flush(now: BootInstant) -> [Event] {
        var events: [Event] = []
        close(epochs.flush(), now: now, &events)
        return events
    }

    /// Discounts a pause of the loop: time in which nobody listened is not silence of the receiver.
    package mutating func discountPause(seconds: Double) {
        lastFix = lastFix?.advanced(bySeconds: seconds)
    }

    /// Does whatever is due.
    package mutating func run(now: BootInstant) -> [Event] {
        var events: [Event] = []
        defer { isStale = lastFix.map { now.seconds(since: $0) >= Self.staleness } ?? false }
        do {
            switch state {
            case .released: break
            case .waiting(let until): if now >= until { try connect(now: now) }
            case .lookingUp(let lookup, let since): try finishLookup(lookup, since: since, now: now)
            case .connecting(let since, let others):
                try finishConnecting(since: since, others: others, now: now, &events)
            case .watching(let lastHeard, let askedAt):
                try readReports(lastHeard: lastHeard, askedAt: askedAt, now: now, &events)
            }
        } catch {
            close(epochs.flush(), now: now, &events)
            events.append(dropConnection(reason: error.description, now: now))
        }
        return events
    }
}
