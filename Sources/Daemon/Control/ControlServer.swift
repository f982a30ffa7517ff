internal import Base
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
    /// Seconds that one connection may take in one turn. One that takes as long, or as much, comes last in the next.
    private static let share = 0.005
    /// Seconds that all those that want little may take in one turn.
    private static let turnLimit = 0.02
    /// Seconds for which one that has just come, or was just heard from, does not make way while another can.
    private static let grace = 1.0
    /// Connections that may make way in one turn: in a flood of new ones, the older are read before they have to.
    private static let evictionsPerTurn = 16
    /// Bytes of all requests under way together: some fleets' worth of fences.
    private static let inputLimit = 16 << 20
    /// Bytes of all answers that are built but not sent: a page of history for each connection. Answers that nobody
    /// reads must not fill the memory.
    private static let outputTotal = 16 << 20

    /// Whose members may connect.
    private static let group = "beekon"

    let handlers: Handlers
    private let listener: ListeningSocket
    private var connections: [ClientConnection] = []
    private var firstIndex = 0
    private var turn = 0
    /// Geofences that are to be encoded. All of them in one reply take as long as a great many other calls.
    private var pages: [(connection: ClientConnection, result: Result<Completion, Failure>)] = []
    /// When a client that held too much was last logged.
    private var loggedBound: BootInstant?

    init(in place: consuming SocketPlace, handlers: Handlers) throws(SystemError) {
        listener = try ListeningSocket(in: place, group: groupID(named: Self.group))
        if let refusal = listener.refusal {
            Log.warning(.control, "members of group \(Self.group) cannot use the control socket: \(refusal)")
        }
        self.handlers = handlers
    }

    /// Removes the socket if it is still ours.
    func removeSocket() {
        listener.remove()
    }

    /// Adds the listener and every client to what the loop waits for; `serve` expects them at `index` and after.
    func addTo(_ poll: inout PollSet, at index: Int) {
        firstIndex = index
        poll.add(listener.descriptor.raw)
        for connection in connections {
            // A client that wants no replies may be gone before its calls are carried out.
            let raw = connection.isAwaitingSilently ? -1 : connection.descriptor.raw
            poll.add(raw, read: connection.wantsRead, write: connection.wantsWrite)
        }
    }

    /// When the next incomplete request has had its time, or at once when there are pages to be encoded.
    var deadline: BootInstant? {
        guard !hasPages else { return BootInstant(nanoseconds: 0) }
        return connections.compactMap { $0.incomplete?.advanced(bySeconds: Self.requestTimeout) }.min()
    }

    /// Does what the poll has found: first for all that want little, while the turn is short, then for one that wants
    /// much. So thirty exports at once keep nobody waiting for more than a page of one of them.
    func serve(_ poll: borrowing PollSet, now: BootInstant) {
        turn += 1
        var modest: [(ClientConnection, isReadable: Bool)] = []
        var greedy: [(ClientConnection, isReadable: Bool)] = []
        for (offset, connection) in connections.enumerated() {
            let index = firstIndex + 1 + offset
            let isReadable = poll.isReadable(index)
            guard isReadable || poll.isWritable(index) || isLate(connection, now) else { continue }
            if connection.isGreedy {
                greedy.append((connection, isReadable))
            } else {
                modest.append((connection, isReadable))
            }
        }
        let began = BootInstant.current()
        for (connection, isReadable) in modest.sorted(by: { $0.0.lastTurn < $1.0.lastTurn }) {
            guard BootInstant.current().seconds(since: began) < Self.turnLimit else { break }
            serve(connection, isReadable: isReadable, now: now)
        }
        if let (connection, isReadable) = greedy.min(by: { $0.0.lastTurn < $1.0.lastTurn }) {
            serve(connection, isReadable: isReadable, now: now)
        }
        encodePages(now: now)
        if poll.isReadable(firstIndex) { acceptSome(now: now) }
        noteListeners()
    }

    private func serve(_ connection: ClientConnection, isReadable: Bool, now: BootInstant) {
        // It may have been closed in this same turn for what it held.
        guard isOpen(connection) else { return }
        connection.lastTurn = turn
        do {
            if isLate(connection, now) { throw SystemError("request not completed in time", code: 110) }
            if isReadable {
                if connection.wantsRead {
                    try connection.receive(now: now)
                } else if connection.hasOutput || !connection.hasMoreCalls {
                    throw SystemError("client has gone", code: 32)
                }
                bound(Self.inputLimit, now: now, \.waitingBytes)
            }
            if isOpen(connection) { try proceed(connection, now: now) }
        } catch {
            close(connection)
        }
        bound(Self.outputTotal, now: now, \.heldBytes)
    }

    /// Closes the clients that hold the most, those that do not read first, until all of them together are within the limit.
    private func bound(_ limit: Int, now: BootInstant, _ held: (ClientConnection) -> Int) {
        while connections.reduce(0, { $0 + held($1) }) > limit,
            let most = connections.map(held).max(), most > 0
        {
            // Among those, the ones that read are closed last.
            let victim = connections.filter { held($0) >= most / 2 }.min {
                let (left, right) = ($0.stalledSince ?? now, $1.stalledSince ?? now)
                return left == right ? held($0) > held($1) : left < right
            }
            guard let victim else { return }
            close(victim)
            // A client that does this on purpose reconnects at once.
            if let logged = loggedBound, now.seconds(since: logged) < 60 { continue }
            loggedBound = now
            Log.warning(
                .control,
                "\(victim.peer.description) was disconnected: it held most of \(limit >> 20) MB, "
                    + "which all clients together may have in requests, and again in answers that they do not read"
            )
        }
    }

    private func isOpen(_ connection: ClientConnection) -> Bool { connections.contains { $0 === connection } }

    private func isLate(_ connection: ClientConnection, _ now: BootInstant) -> Bool {
        connection.incomplete.map { now.seconds(since: $0) >= Self.requestTimeout } ?? false
    }

    private func acceptSome(now: BootInstant) {
        var evictions = 0
        while evictions < Self.evictionsPerTurn, let descriptor = listener.descriptor.accept() {
            guard let peer = try? Peer(of: descriptor) else { continue }
            let limit = peer.uid == 0 ? Self.limitForRoot : Self.limit
            if connections.count >= limit {
                evictions += 1
                guard makeRoom(now: now) else { continue }
            }
            connections.append(ClientConnection(descriptor, peer, now: now))
        }
    }

    /// Closes the connection that has been idle longest, else the one with the oldest incomplete request, else the one that
    /// has read nothing of what it was sent for longest, and for at least ten seconds. One that was just heard from, or has
    /// just come and not spoken, counts as idle only when no request is incomplete: a flood would push it out before it is
    /// read.
    private func makeRoom(now: BootInstant) -> Bool {
        func oldest(_ since: (ClientConnection) -> BootInstant?) -> ClientConnection? {
            let found = connections.compactMap { connection in since(connection).map { ($0, connection) } }
            return found.min { $0.0 < $1.0 }?.1
        }
        func idle(_ connection: ClientConnection) -> BootInstant? {
            connection.isIdle ? connection.lastActive : nil
        }
        let victim =
            oldest { idle($0).flatMap { now.seconds(since: $0) >= Self.grace ? $0 : nil } }
            // Ordered by its beginning: one that sends a byte now and then would never be the oldest by its last byte.
            ?? oldest(\.incomplete)
            ?? oldest { $0.hasSpoken ? idle($0) : nil } ?? oldest(idle)
            ?? oldest { $0.stalledSince.flatMap { now.seconds(since: $0) >= Self.requestTimeout ? $0 : nil } }
        guard let victim else { return false }
        close(victim)
        return true
    }

    private func close(_ connection: ClientConnection) {
        if case .awaiting(let token, _) = connection.activity { handlers.dispatcher.forget(token) }
        connections.removeAll { $0 === connection }
    }

    // MARK: Calls

    /// Handles calls and sends answers until the client must send or read, or has had its share of the turn.
    private func proceed(_ connection: ClientConnection, now: BootInstant) throws {
        let began = BootInstant.current()
        var bytes = 0
        func isEnough() -> Bool {
            bytes + connection.outputBytes >= Self.outputLimit
                || BootInstant.current().seconds(since: began) >= Self.share
        }
        try connection.flush(now: now)
        connection.hasMoreCalls = connection.hasOutput && connection.hasMoreCalls
        var continues = true
        while continues, !connection.hasOutput {
            while connection.wantsCall, !connection.hasMoreCalls, let call = try connection.nextCall(now: now)
            {
                try handle(call, of: connection, now: now)
                connection.hasMoreCalls = isEnough()
            }
            let wasBusy = !connection.wantsCall
            try fill(connection, now: now)
            bytes += connection.outputBytes
            // A stream that has just ended makes way for the call behind it.
            continues =
                connection.hasMoreEvents || wasBusy && connection.wantsCall && !connection.hasMoreCalls
            try connection.flush(now: now)
        }
        connection.isGreedy = isEnough()
        if connection.isFinished { close(connection) }
    }

    private func handle(_ call: Call, of connection: ClientConnection, now: BootInstant) throws {
        let answer: Handlers.Answer
        do {
            let found = try handlers.handle(call, peer: connection.peer, now: now) {
                [weak self, weak connection] result, now in
                if let self, let connection { complete(connection, result, now: now) }
            }
            if case .history = found, !call.oneway { connection.history = try handlers.openHistory() }
            answer = found
        } catch let error as ControlError {
            answer = .reply(Reply.encode(error))
        } catch let failure as Failure {
            answer = .reply(Reply.encode(ControlError(failure)))
        }
        begin(answer, of: connection, oneway: call.oneway)
    }

    private func begin(_ answer: Handlers.Answer, of connection: ClientConnection, oneway: Bool) {
        switch answer {
        case .reply(let bytes): if !oneway { connection.send(bytes) }
        case .later(let token, let encode): connection.activity = .awaiting(token, encode)
        case .history(let pages):
            if !oneway { connection.activity = .history(pages) }
        case .geofences(let request):
            if !oneway { connection.activity = .geofences(request, after: nil) }
        case .subscription(let subscription):
            if !oneway { connection.activity = .subscribed(subscription) }
        }
    }

    /// Prepares more output of a stream.
    private func fill(_ connection: ClientConnection, now: BootInstant) throws {
        switch connection.activity {
        case .idle, .awaiting: return
        case .history(var pages):
            guard !connection.hasOutput else { return }
            let (bytes, isLast) = handlers.page(connection.history, &pages)
            connection.send(bytes)
            connection.activity = isLast ? .idle : .history(pages)
            if isLast { connection.history = nil }
        case .geofences(let request, let id):
            guard !connection.hasOutput else { return }
            do {
                let answer = try handlers.geofences(after: id, request, now: now)
                connection.listing = request
                begin(answer, of: connection, oneway: false)
            } catch let failure as Failure {
                connection.activity = .idle
                connection.send(Reply.encode(ControlError(failure)))
            }
        case .subscribed(var subscription):
            var bytes: [UInt8] = []
            while !connection.hasOutput, bytes.count < Self.outputLimit, let event = subscription.next() {
                bytes += try Reply.encode(Wire.Subscribe.self, .init(event: event), continues: true)
            }
            connection.send(bytes)
            connection.activity = .subscribed(subscription)
        }
    }

    /// The command that it has been waiting for is completed.
    private func complete(
        _ connection: ClientConnection, _ result: Result<Completion, Failure>, now: BootInstant
    ) {
        if case .success(.geofences) = result {
            pages.append((connection, result))
        } else {
            answer(connection, result, now: now)
        }
    }

    /// Encodes pages of geofences for a share of the turn, and of those that take longer, one.
    private func encodePages(now: BootInstant) {
        let began = BootInstant.current()
        while !pages.isEmpty {
            let (connection, result) = pages.removeFirst()
            let isWanted = isOpen(connection) && !connection.isAwaitingSilently
            answer(connection, result, now: now)
            if isWanted, BootInstant.current().seconds(since: began) >= Self.share { return }
        }
    }

    /// After a page of geofences comes the next, once this one has been sent.
    private func answer(
        _ connection: ClientConnection, _ result: Result<Completion, Failure>, now: BootInstant
    ) {
        guard isOpen(connection), case .awaiting(_, let encode) = connection.activity else { return }
        connection.activity = .idle
        if let request = connection.listing, case .success(.geofences(let page, isLast: false)) = result {
            connection.activity = .geofences(request, after: page.last?.fence.id)
        }
        connection.listing = nil
        do {
            switch (result, encode) {
            case (_, nil): break
            case (.success(let completion), let encode?): connection.send(try encode(completion))
            case (.failure(let failure), .some): connection.send(Reply.encode(ControlError(failure)))
            }
        } catch {
            Log.error(.control, "an answer could not be written: \(error)")
            return close(connection)
        }
        push(connection, now: now)
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

    /// Notes how many events were dropped: each subscriber concerned learns of it with its next event.
    func miss(_ count: Int) {
        guard count > 0 else { return }
        for connection in connections {
            guard case .subscribed(var subscription) = connection.activity else { continue }
            subscription.miss(count)
            connection.activity = .subscribed(subscription)
        }
    }

    private func push(_ connection: ClientConnection, now: BootInstant) {
        guard isOpen(connection) else { return }
        do {
            try proceed(connection, now: now)
        } catch {
            close(connection)
        }
        bound(Self.outputTotal, now: now, \.heldBytes)
    }

    var hasSubscribers: Bool {
        connections.contains { if case .subscribed = $0.activity { true } else { false } }
    }

    /// Geofences wait to be encoded.
    var hasPages: Bool { !pages.isEmpty }

    private func noteListeners() {
        let board = handlers.hub.board
        board.hasListeners.store(hasSubscribers, ordering: .relaxed)
        let interests = connections.lazy.map { connection -> RequestInterest in
            guard case .subscribed(let subscription) = connection.activity else { return .none }
            return subscription.requestInterest
        }
        board.requestListeners.store(interests.max() ?? .none, ordering: .relaxed)
    }
}

extension ClientConnection {
    /// A call may be handled now.
    fileprivate var wantsCall: Bool {
        if case .idle = activity { true } else { false }
    }

    /// A `oneway` call is with another thread.
    fileprivate var isAwaitingSilently: Bool {
        if case .awaiting(_, nil) = activity { true } else { false }
    }

    /// A subscriber has more to be sent. Of history, one page follows with each turn of the loop, so that a long export
    /// keeps nobody waiting.
    fileprivate var hasMoreEvents: Bool {
        if case .subscribed(let subscription) = activity { !subscription.events.isEmpty } else { false }
    }

    /// There is output, or the next page of history or the answers to calls that have come are to be made when there is
    /// room for them.
    fileprivate var wantsWrite: Bool {
        switch activity {
        case .history, .geofences: true
        case .idle, .awaiting, .subscribed: hasOutput || wantsCall && hasMoreCalls
        }
    }
}
