internal import Base
internal import CServerClock
internal import Envelope
internal import Glibc
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// Keeps the time by which what is stored grows old, and says when the clocks do not agree with it.
final class ClockKeeper: Service {
    private struct State {
        var watcher = ClockRow.Watcher(id: .random(in: 1...Int64.max))
        /// CLOCK_BOOTTIME of the last look, in milliseconds.
        var lastLook: Int64?
        /// nil before the first look.
        var time: GuardedTime?
        /// Milliseconds by which the database's clock is behind this machine's.
        var lag: Int64 = 0
        /// Most devices say that the clock is behind.
        var isContradicted = false
        /// What devices have named since the last look.
        var votes: [Int64: Timestamp] = [:]
        /// The leap has been logged.
        var isTold = false
    }

    private static let round = Duration.seconds(60)
    /// Votes that wait for the next look, and so many are noted in one transaction.
    private static let mostVotes = 20_000
    private static let votesAtOnce = 500
    /// Seconds by which clocks of several servers may differ.
    private static let slack = 60.0

    private let store: Store
    private let logger: Logger
    private let state = Mutex(State())

    init(store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                // Ends early with the server.
                try? await Task.sleep(for: Self.round)
                if !Task.isCancelled { await look() }
            }
        }
    }

    /// One look at the clocks; what fails is logged, and the time stands still. What has waited for its time takes its turn.
    func look() async {
        do {
            try await advance(isConfirmed: false)
            let wall = wall(Responder.now)
            try await store.write(isRepeatable: true) { session throws(StoreError) in
                try Turns.take(at: wall, in: session)
            }
        } catch {
            logger.failure(error, of: "clock")
        }
    }

    private func advance(isConfirmed: Bool) async throws {
        try await noteVotes()
        let (known, boot) = (state.withLock { $0 }, Self.boottime)
        let now = Responder.now
        let isSynchronised = Self.isSynchronised
        let elapsed = known.lastLook.map { boot - $0 }
        let result = try await store.write { session throws(StoreError) in
            var watcher = known.watcher
            let (time, votes) = try ClockRow.advance(
                &watcher, now: now, elapsed: elapsed, isSynchronised: isSynchronised,
                isConfirmed: isConfirmed, in: session)
            let wall = try ClockRow.wall(now, from: session)
            return (time: time, votes: votes, watcher: watcher, wall: wall)
        }
        let isAhead = result.time.isAhead(result.wall)
        let wasTold = state.withLock { state in
            defer { state.isTold = isAhead }
            state.watcher = result.watcher
            state.lastLook = boot
            state.time = result.time
            state.lag = now.milliseconds - result.wall.milliseconds
            state.isContradicted = result.votes.contradict
            return state.isTold
        }
        guard isAhead != wasTold else { return }
        if isAhead {
            logger.warning(
                "clock: it shows \(result.wall.iso8601), and \(result.time.time.iso8601) is confirmed; until the new time is confirmed, nothing is deleted for its age by it. If it is right: beekon-server clock confirm"
            )
        } else {
            logger.warning("clock: \(result.time.time.iso8601) is confirmed")
        }
    }

    private func noteVotes() async throws {
        var votes = state.withLock { state in
            defer { state.votes = [:] }
            return state.votes.map { (device: $0.key, sentAt: $0.value) }
        }[...]
        while !votes.isEmpty {
            let next = Array(votes.prefix(Self.votesAtOnce))
            try await store.write { session throws(StoreError) in try ClockRow.note(next, in: session) }
            votes = votes.dropFirst(next.count)
        }
    }

    // MARK: What the work asks for

    /// A device names the time; what it names last counts.
    func hear(_ sentAt: Timestamp, from device: Int64) {
        state.withLock { state in
            guard state.votes.count < Self.mostVotes || state.votes[device] != nil else { return }
            state.votes[device] = sentAt
        }
    }

    /// The lesser of this machine's clock and the database's.
    func wall(_ now: Timestamp) -> Timestamp {
        state.withLock { Timestamp(milliseconds: now.milliseconds - $0.lag) }
    }

    /// The time by which what is stored grows old; nil while the database has not told it.
    func age(_ now: Timestamp) -> Timestamp? {
        state.withLock { state in
            state.time.map { min($0.time, Timestamp(milliseconds: now.milliseconds - state.lag)) }
        }
    }

    /// The latest moment that this can be: this machine's clock, or the confirmed time where that clock is behind it.
    func latest(_ now: Timestamp) -> Timestamp {
        state.withLock { max(now, $0.time?.time ?? now) }
    }

    /// The least counter of a signed list.
    var counter: Int64 { state.withLock { $0.time?.time.milliseconds ?? 0 } }

    /// Whether times that are ahead of the clock may be right.
    func mayBeBehind(_ now: Timestamp) -> Bool {
        let wall = wall(now)
        return state.withLock { state in
            guard let time = state.time else { return true }
            return wall < GuardedTime.release || wall.advanced(bySeconds: Self.slack) < time.time
                || state.isContradicted
        }
    }

    /// For metrics: the clock, what is confirmed, and whether the one is ahead of the other.
    func facts(_ now: Timestamp) async throws -> (wall: Timestamp, confirmed: Timestamp, isAhead: Bool) {
        let (wall, time) = try await store.read { session throws(StoreError) in
            (try ClockRow.wall(now, from: session), try ClockRow.read(from: session))
        }
        return (wall, time.time, time.isAhead(wall))
    }

    /// `GET /v1/clock`
    func answer(_ now: Timestamp) async throws -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: try await text(now) + "\n")))
    }

    /// `POST /v1/clock`: the clock is right.
    func confirm() async throws -> Response {
        try await advance(isConfirmed: true)
        return try await answer(Responder.now)
    }

    /// The facts as an object.
    func text(_ now: Timestamp) async throws -> String {
        let facts = try await facts(now)
        return
            #"{"time":"\#(facts.wall.iso8601)","confirmed":"\#(facts.confirmed.iso8601)","is_ahead":\#(facts.isAhead)}"#
    }

    // MARK: Clocks

    /// Milliseconds of CLOCK_BOOTTIME.
    private static var boottime: Int64 {
        var time = timespec()
        // Cannot fail: Linux has it.
        _ = clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Whether the kernel considers the system clock synchronised.
    private static var isSynchronised: Bool { cserverclock_is_synchronised() == 1 }
}
