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
    private static let connectTimeout = 5.0
    /// Seconds of silence after which gpsd is asked whether it is still there: an idle one says nothing of its own.
    private static let silence = 30.0
    /// Seconds that it has for the answer.
    private static let answerTimeout = 10.0
    /// Seconds without a fix after which another receiver may take over, and the source counts as stale.
    private static let staleness = 10.0

    private enum State {
        case released
        case waiting(until: BootInstant)
        case connecting(since: BootInstant)
        case watching(lastHeard: BootInstant, askedAt: BootInstant?)
    }

    /// For status.
    public private(set) var facts = Facts()

    private let host: String
    private let port: UInt16
    private let pinned: String
    private var state = State.released
    private var socket: Socket?
    private var parser: Parser
    private var epochs = Epochs()
    private var backOff = BackOff(first: 1, ceiling: 30)
    private var random: SystemRandomNumberGenerator
    private var addressIndex = 0
    /// nil until gpsd has told.
    private var hasDevices: Bool?
    private var hasHeardTPV = false
    private var lastFix: BootInstant?
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
    public private(set) var descriptor: Int32 = -1

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
        guard hasDevices != false || hasHeardTPV else { return .noDevice }
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
        let events = close(epochs.flush(), now: now)
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
        close(epochs.flush(), now: now)
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
            events += close(epochs.flush(), now: now)
            events.append(lose(reason: error.description, now: now))
        }
        return events
    }

    // MARK: Connecting

    /// Starts to connect to the next address that can be tried. A name may have several: they are tried at once, one
    /// after the other, and only after the last comes a pause.
    private mutating func connect(now: BootInstant, after failure: SystemError? = nil) throws(SystemError) {
        var failure = failure
        while let address = try Address.resolve(host: host, port: port, index: addressIndex) {
            addressIndex += 1
            do {
                let opened = try Socket(address)
                descriptor = opened.raw
                socket = consume opened
                state = .connecting(since: now)
                return
            } catch {
                failure = error
            }
        }
        addressIndex = 0
        throw failure ?? SystemError("connect to \(host):\(port)", code: 111)
    }

    private mutating func finishConnecting(
        since: BootInstant, now: BootInstant, _ events: inout [Event]
    ) throws(SystemError) {
        var poll = PollSet()
        poll.add(descriptor, read: false, write: true)
        poll.wait(seconds: 0)
        guard poll.isWritable(0) else {
            guard now.seconds(since: since) >= Self.connectTimeout else { return }
            disconnect()
            return try connect(now: now, after: SystemError("connect to \(host):\(port)", code: 110))
        }
        do {
            try socket?.finishConnecting()
        } catch {
            disconnect()
            return try connect(now: now, after: SystemError("connect to \(host):\(port)", code: error.code))
        }
        addressIndex = 0
        try socket?.send("?WATCH={\"enable\":true,\"json\":true};\n")
        state = .watching(lastHeard: now, askedAt: nil)
        events.append(.connected)
    }

    private mutating func lose(reason: String, now: BootInstant) -> Event {
        if case .watching = state { facts.reconnects += 1 }
        disconnect()
        let delay = backOff.next(using: &random)
        state = .waiting(until: now.advanced(bySeconds: delay))
        return .disconnected(reason: reason, retryIn: delay)
    }

    private mutating func disconnect() {
        socket = nil
        descriptor = -1
        hasDevices = nil
        hasHeardTPV = false
        lastFix = nil
        facts.device = nil
        facts.mode = 0
        facts.satellitesUsed = nil
        facts.satellitesVisible = nil
        epochs = Epochs()
    }

    // MARK: Listening

    private mutating func listen(
        lastHeard: BootInstant, askedAt: BootInstant?, now: BootInstant, _ events: inout [Event]
    ) throws(SystemError) {
        var reports: [Report] = []
        let count: Int
        do {
            count = try socket?.read(with: &parser, into: &reports) ?? 0
        } catch {
            events += take(reports, now: now)
            throw error
        }
        events += take(reports, now: now)
        events += close(epochs.expire(now: now), now: now)
        if count > 0 {
            state = .watching(lastHeard: now, askedAt: nil)
        } else if let askedAt {
            if now.seconds(since: askedAt) >= Self.answerTimeout {
                throw SystemError(
                    "gpsd has said nothing for \(Int(Self.silence + Self.answerTimeout)) s", code: 110)
            }
        } else if now.seconds(since: lastHeard) >= Self.silence {
            try socket?.send("?VERSION;\n")
            state = .watching(lastHeard: lastHeard, askedAt: now)
        }
    }

    private mutating func take(_ reports: [Report], now: BootInstant) -> [Event] {
        var events: [Event] = []
        for report in reports {
            switch report {
            case .version: backOff.reset()
            case .devices(let any): hasDevices = any
            case .device(let path, let isActive):
                hasDevices = isActive
                if !isActive, path == facts.device { facts.mode = 0 }
                if !isActive { hasHeardTPV = false }
            case .sky(let used, let visible):
                facts.satellitesUsed = used
                facts.satellitesVisible = visible
            case .tpv(let tpv):
                guard pinned.isEmpty || tpv.device == pinned else { continue }
                hasHeardTPV = true
                if facts.device == nil || facts.device == tpv.device, tpv.mode < 2 { facts.mode = tpv.mode }
                events += close(epochs.add(tpv, now: now), now: now)
            case .other: break
            }
        }
        return events
    }

    /// Turns closed epochs into events, and decides whose fixes count: the receiver in use keeps its place until it has
    /// given none for 10 s.
    private mutating func close(_ closed: [TPV], now: BootInstant) -> [Event] {
        var events: [Event] = []
        for epoch in closed {
            guard let fix = epoch.fix else {
                if facts.device == nil || facts.device == epoch.device { events.append(.noFix) }
                continue
            }
            if let current = facts.device, current != fix.device {
                if let lastFix, now.seconds(since: lastFix) < Self.staleness { continue }
                events.append(.deviceChanged(fix.device))
            }
            facts.device = fix.device
            facts.mode = fix.mode
            facts.fixes += 1
            lastFix = now
            events.append(.fix(fix))
        }
        return events
    }
}
