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
    static let outputLimit = 65_536
    /// Seconds that one connection may take in one turn. One that takes as long, or as much, comes last in the next.
    static let share = 0.005
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
    static let outputTotal = 16 << 20

    /// Whose members may connect.
    private static let group = "beekon"

    let handlers: Handlers
    private let listener: ListeningSocket
    var connections: [ClientConnection] = []
    private var firstIndex = 0
    private var turn = 0
    /// Geofences that are to be encoded. All of them in one reply take as long as a great many other calls.
    var pages: [(connection: ClientConnection, result: Result<Completion, CommandFailure>)] = []
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
    func addTo(_ rest: inout Rest, at index: Int) {
        firstIndex = index
        rest.add(listener.descriptor.raw)
        for connection in connections {
            // A client that wants no replies may be gone before its calls are carried out.
            let raw = connection.isAwaitingSilently ? -1 : connection.descriptor.raw
            rest.add(raw, read: connection.wantsRead, write: connection.wantsWrite)
        }
    }

    /// When the next incomplete request has had its time, or at once when there are pages to be encoded.
    var deadline: BootInstant? {
        guard !hasPages else { return BootInstant(nanoseconds: 0) }
        return connections.compactMap { $0.incomplete?.advanced(bySeconds: Self.requestTimeout) }.min()
    }

    /// Does what has come: first for all that want little, while the turn is short, then for one that wants
    /// much. So thirty exports at once keep nobody waiting for more than a page of one of them.
    func serve(_ rest: borrowing Rest, now: BootInstant) {
        turn += 1
        var modest: [(ClientConnection, isReadable: Bool)] = []
        var greedy: [(ClientConnection, isReadable: Bool)] = []
        for (offset, connection) in connections.enumerated() {
            let index = firstIndex + 1 + offset
            let isReadable = rest.isReadable(index)
            guard isReadable || rest.isWritable(index) || isLate(connection, now) else { continue }
            if connection.isGreedy {
                greedy.append((connection, isReadable))
            } else {
                modest.append((connection, isReadable))
            }
        }
        let stopwatch = Stopwatch()
        for (connection, isReadable) in modest.sorted(by: { $0.0.lastTurn < $1.0.lastTurn }) {
            guard stopwatch.elapsed < Self.turnLimit else { break }
            serve(connection, isReadable: isReadable, now: now)
        }
        if let (connection, isReadable) = greedy.min(by: { $0.0.lastTurn < $1.0.lastTurn }) {
            serve(connection, isReadable: isReadable, now: now)
        }
        encodePages(now: now)
        if rest.isReadable(firstIndex) { acceptSome(now: now) }
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
    func bound(_ limit: Int, now: BootInstant, _ held: (ClientConnection) -> Int) {
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

    func isOpen(_ connection: ClientConnection) -> Bool { connections.contains { $0 === connection } }

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

    func close(_ connection: ClientConnection) {
        if case .awaiting(let token, _) = connection.activity { handlers.dispatcher.forget(token) }
        connections.removeAll { $0 === connection }
    }

    var hasSubscribers: Bool {
        connections.contains { if case .subscribed = $0.activity { true } else { false } }
    }

    /// Geofences wait to be encoded.
    var hasPages: Bool { !pages.isEmpty }

    func noteListeners() {
        let board = handlers.hub.board
        board.hasListeners.store(hasSubscribers, ordering: .relaxed)
        let interests = connections.lazy.map { connection -> RequestInterest in
            guard case .subscribed(let subscription) = connection.activity else { return .none }
            return subscription.requestInterest
        }
        board.requestListeners.store(interests.max() ?? .none, ordering: .relaxed)
    }
}
