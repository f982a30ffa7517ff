internal import ControlProtocol
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking

/// Serves the control socket. Confined to the main thread; never waits for a client, the disk's writer, or another thread.
final class ControlServer {
    /// Connections at most.
    private static let limit = 32
    /// Two more for root, so that somebody can always look.
    private static let limitForRoot = 34
    /// Seconds within which a request must be complete.
    private static let requestTimeout = 10.0
    /// Output that is gathered before it is sent, in bytes.
    private static let outputLimit = 65_536

    let handlers: Handlers
    private let listener: FileDescriptor
    private var connections: [Connection] = []
    private var firstIndex = 0

    init(path: String, handlers: Handlers) throws(SystemError) {
        listener = try FileDescriptor.listen(at: path, group: groupID(named: "beekon"))
        self.handlers = handlers
    }

    /// Adds the listener and every client to what the loop waits for; `serve` expects them at `index` and after.
    func addTo(_ poll: inout PollSet, at index: Int) {
        firstIndex = index
        poll.add(listener.raw)
        for connection in connections {
            poll.add(connection.descriptor.raw, read: connection.wantsRead, write: connection.wantsWrite)
        }
    }

    /// When the next incomplete request has had its time.
    var deadline: BootInstant? {
        connections.compactMap { $0.incomplete?.advanced(bySeconds: Self.requestTimeout) }.min()
    }

    /// Does what the poll has found.
    func serve(_ poll: borrowing PollSet, now: BootInstant) {
        for (offset, connection) in connections.enumerated() {
            let index = firstIndex + 1 + offset
            guard poll.isReadable(index) || poll.isWritable(index) || isLate(connection, now) else {
                continue
            }
            do {
                if isLate(connection, now) { throw SystemError("request not completed in time", code: 110) }
                if poll.isReadable(index) {
                    guard connection.wantsRead else { throw SystemError("client has gone", code: 32) }
                    try connection.receive(now: now)
                }
                try proceed(connection, now: now)
            } catch {
                close(connection)
            }
        }
        if poll.isReadable(firstIndex) { acceptAll(now: now) }
        noteListeners()
    }

    private func isLate(_ connection: Connection, _ now: BootInstant) -> Bool {
        connection.incomplete.map { now.seconds(since: $0) >= Self.requestTimeout } ?? false
    }

    private func acceptAll(now: BootInstant) {
        while let descriptor = listener.accept() {
            guard let peer = try? Peer(of: descriptor) else { continue }
            let limit = peer.uid == 0 ? Self.limitForRoot : Self.limit
            if connections.count >= limit, !makeRoom() { continue }
            connections.append(Connection(descriptor, peer, now: now))
        }
    }

    /// Closes the connection that has been idle longest, else the oldest incomplete request.
    private func makeRoom() -> Bool {
        let idle = connections.filter(\.isIdle).min { $0.lastActive < $1.lastActive }
        // By when it began: who dribbles a byte now and then would never be the oldest by its last.
        let begun = connections.compactMap { connection in connection.incomplete.map { ($0, connection) } }
        guard let victim = idle ?? begun.min(by: { $0.0 < $1.0 })?.1 else { return false }
        close(victim)
        return true
    }

    private func close(_ connection: Connection) {
        if case .awaiting(let token, _) = connection.activity { handlers.abandon(token) }
        connections.removeAll { $0 === connection }
    }

    // MARK: Calls

    /// Handles calls and sends answers until the client must send or read.
    private func proceed(_ connection: Connection, now: BootInstant) throws {
        try connection.flush()
        var goesOn = true
        while goesOn, !connection.hasOutput {
            while connection.wantsCall, let call = try connection.nextCall(now: now) {
                try handle(call, of: connection)
            }
            let wasBusy = !connection.wantsCall
            try fill(connection)
            // A stream that has just ended makes way for the call behind it.
            goesOn = connection.canGoOn || wasBusy && connection.wantsCall
            try connection.flush()
        }
        if connection.isFinished { close(connection) }
    }

    private func handle(_ call: Call, of connection: Connection) throws {
        let answer: Handlers.Answer
        do {
            answer = try handlers.handle(call, peer: connection.peer)
        } catch let error as ControlError {
            answer = .reply(Reply.encode(error))
        }
        switch answer {
        case .reply(let bytes): if !call.oneway { connection.send(bytes) }
        case .later(let token): connection.activity = .awaiting(token, oneway: call.oneway)
        case .history(let pages):
            if !call.oneway {
                connection.history = try handlers.openHistory()
                connection.activity = .history(pages)
            }
        case .subscription(let subscription):
            if !call.oneway { connection.activity = .subscribed(subscription) }
        }
    }

    /// Prepares more output of a stream.
    private func fill(_ connection: Connection) throws {
        switch connection.activity {
        case .idle, .awaiting: return
        case .history(var pages):
            guard !connection.hasOutput else { return }
            let (bytes, isLast) = handlers.page(connection.history, &pages)
            connection.send(bytes)
            connection.activity = isLast ? .idle : .history(pages)
            if isLast { connection.history = nil }
        case .subscribed(var subscription):
            var bytes: [UInt8] = []
            while !connection.hasOutput, bytes.count < Self.outputLimit, let event = subscription.next() {
                bytes += try Reply.encode(Wire.Subscribe.self, .init(event: event), continues: true)
            }
            connection.send(bytes)
            connection.activity = .subscribed(subscription)
        }
    }

    /// The answer of another thread has come.
    func complete(_ token: Token, with bytes: [UInt8], now: BootInstant) {
        for connection in connections {
            guard case .awaiting(token, let oneway) = connection.activity else { continue }
            connection.activity = .idle
            if !oneway { connection.send(bytes) }
            push(connection, now: now)
        }
    }

    /// Hands an event to every subscriber.
    func publish(_ event: Wire.Event, now: BootInstant) {
        for connection in connections {
            guard case .subscribed(var subscription) = connection.activity else { continue }
            subscription.add(event)
            connection.activity = .subscribed(subscription)
            push(connection, now: now)
        }
        noteListeners()
    }

    private func push(_ connection: Connection, now: BootInstant) {
        do {
            try proceed(connection, now: now)
        } catch {
            close(connection)
        }
    }

    var hasSubscribers: Bool {
        connections.contains { if case .subscribed = $0.activity { true } else { false } }
    }

    private func noteListeners() {
        handlers.hub.board.hasListeners.store(hasSubscribers, ordering: .relaxed)
    }
}

extension Connection {
    /// A call may be handled now.
    fileprivate var wantsCall: Bool {
        if case .idle = activity { true } else { false }
    }

    /// A subscriber has more to be sent. Of history, one page follows with each turn of the loop, so that a long export
    /// keeps nobody waiting.
    fileprivate var canGoOn: Bool {
        if case .subscribed(let subscription) = activity { !subscription.events.isEmpty } else { false }
    }

    /// There is output, or the next page of history is to be made when there is room for it.
    fileprivate var wantsWrite: Bool {
        if case .history = activity { true } else { hasOutput }
    }
}
