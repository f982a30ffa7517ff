internal import Base
internal import EnvelopeReader
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// Changes as they come, for pages that show them (server-sent events). One look at the database in a second serves all
/// listeners of this server, whichever server took the uploads; without listeners it does not look.
final class LiveHub: Service {
    /// How a listener is told.
    enum Form: Equatable {
        /// Each device by itself, with all that is known of it.
        case full
        /// All that has moved in one event of numbers; in full only what has told its status, or is new.
        case compact

        /// - Parameter query: as it stands behind the `?`; nil when there is none.
        init(query: String?) throws(Problem) {
            switch query ?? "" {
            case "", "form=full": self = .full
            case "form=compact": self = .compact
            default: throw Problem(.badRequest, "The only parameter is form, which is full or compact.")
            }
        }
    }

    private struct Listener {
        var form: Form
        var continuation: AsyncStream<ByteBuffer>.Continuation
        /// Bytes that wait for it.
        var backlog: Backlog
    }

    private final class Backlog: Sendable {
        let bytes = Atomic(0)
    }

    private struct State {
        var listeners: [UInt64: Listener] = [:]
        var next: UInt64 = 0
        var isEnding = false
    }

    /// What was told of a device last.
    private struct Mark: Equatable {
        var seen: Timestamp?
        var location: UUIDv7?
        var status: Timestamp?
        var shownAgain: Timestamp?
        var other: UUIDv7?
    }

    /// Listeners at once; each holds a connection.
    private static let most = 100
    /// Bytes of changes that wait for a slow listener; beyond, it has to ask anew. All listeners of a form share them.
    private static let mostWaiting = 16 << 20
    /// Seconds by which servers' clocks, and their commits, may lag.
    private static let slack = 60.0
    /// How long a right is taken for granted.
    private static let trust = Duration.seconds(5)
    /// Between two signs of life; they are events, since a page is told of nothing else. It gives up after 40 seconds.
    private static let silence = Duration.seconds(15)
    /// Devices that are read at once, each with a status of up to 16 KiB.
    private static let page = 100

    private let store: Store
    private let logger: Logger
    private let state = Mutex(State())
    private let wake: AsyncStream<Void>
    private let alarm: AsyncStream<Void>.Continuation

    init(store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
        (wake, alarm) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// `GET /v1/live`
    ///
    /// - Parameter mayStay: asked now and then, since a stream may outlive the rights of who listens.
    func stream(_ form: Form, mayStay: @escaping @Sendable () async -> Bool) throws -> Response {
        guard state.withLock({ !$0.isEnding && $0.listeners.count < Self.most }) else {
            var random = SystemRandomNumberGenerator()
            throw Problem.busy(using: &random)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                let (number, changes, backlog) = self.listen(form)
                defer { self.leave(number) }
                try await writer.write(
                    ByteBuffer(string: "event: hello\ndata: {\"time\":\"\(Responder.now.iso8601)\"}\n\n"))
                // The server waits for its answers before it ends.
                try await withGracefulShutdownHandler {
                    var checked = ContinuousClock.now
                    // Something comes at least every 15 s, if only a sign of life.
                    for await change in changes {
                        if .now - checked > Self.trust {
                            guard await mayStay() else { break }
                            checked = .now
                        }
                        try await writer.write(change)
                        backlog.bytes.subtract(change.readableBytes, ordering: .relaxed)
                    }
                } onGracefulShutdown: {
                    self.end(number)
                }
                try await writer.finish(nil)
            })
    }

    private func listen(_ form: Form) -> (UInt64, AsyncStream<ByteBuffer>, Backlog) {
        let (stream, continuation) = AsyncStream<ByteBuffer>.makeStream()
        let backlog = Backlog()
        let number = state.withLock { state in
            state.next += 1
            if state.isEnding {
                continuation.finish()
            } else {
                state.listeners[state.next] = Listener(
                    form: form, continuation: continuation, backlog: backlog)
            }
            return state.next
        }
        alarm.yield()
        return (number, stream, backlog)
    }

    private func end(_ number: UInt64) {
        state.withLock { $0.listeners.removeValue(forKey: number) }?.continuation.finish()
    }

    private func leave(_ number: UInt64) {
        state.withLock { _ = $0.listeners.removeValue(forKey: number) }
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.wake {
                await self.watch()
                if Task.isCancelled { break }
            }
        }
        let listeners = state.withLock { state in
            state.isEnding = true
            defer { state.listeners = [:] }
            return state.listeners.values.map { $0 }
        }
        for listener in listeners { listener.continuation.finish() }
    }

    /// Looks once a second until nobody listens.
    private func watch() async {
        await withDiscardingTaskGroup { group in
            // However long the database takes: the server lives.
            group.addTask { await self.beat() }
            await self.lookAround()
            group.cancelAll()
        }
    }

    private func beat() async {
        while !Task.isCancelled {
            // Ends early with the watch.
            try? await Task.sleep(for: Self.silence)
            if !Task.isCancelled { tell { _ in Array("event: alive\ndata: {}\n\n".utf8) } }
        }
    }

    private func lookAround() async {
        var known: [Int64: Mark] = [:]
        var since = Responder.now
        while !Task.isCancelled, state.withLock({ !$0.listeners.isEmpty }) {
            let now = Responder.now
            do {
                try await look(since: since, &known)
                since = now
            } catch {
                logger.error("live: \(error); trying again in a second")
            }
            // Ends early with the server.
            try? await Task.sleep(for: .seconds(1))
        }
    }

    private func look(since: Timestamp, _ known: inout [Int64: Mark]) async throws {
        let start = since.advanced(bySeconds: -Self.slack)
        var last: Int64 = 0
        while true {
            let after = last
            let devices = try await store.read { session throws(StoreError) in
                try Reading.devices(heardSince: start, after: after, limit: Self.page, from: session)
            }
            let news = devices.compactMap { Self.news(of: $0, &known) }
            if !news.isEmpty { tell { LiveText.events(news, in: $0) } }
            guard devices.count == Self.page, let end = devices.last?.id else { return }
            last = end
        }
    }

    /// - Returns: nil when all of it has been told.
    private static func news(of device: DeviceState, _ known: inout [Int64: Mark]) -> LiveText.News? {
        let mark = Mark(
            seen: device.seen, location: device.latest?.id, status: device.status?.received,
            shownAgain: device.tokenShownAgain, other: device.otherInstallation)
        guard let old = known.updateValue(mark, forKey: device.id) else {
            return LiveText.News(device: device, isMoveAlone: false)
        }
        guard old != mark else { return nil }
        let isMoveAlone =
            old.status == mark.status && old.seen != nil && old.shownAgain == mark.shownAgain
            && old.other == mark.other
        return LiveText.News(device: device, isMoveAlone: isMoveAlone)
    }

    /// - Parameter text: the bytes for listeners of a form; made once for each form that somebody listens to.
    private func tell(_ text: (Form) -> [UInt8]) {
        let listeners = state.withLock { $0.listeners }
        var made: [Form: ByteBuffer] = [:]
        for (number, listener) in listeners {
            let bytes = made[listener.form] ?? ByteBuffer(bytes: text(listener.form))
            made[listener.form] = bytes
            let waiting = listener.backlog.bytes.add(bytes.readableBytes, ordering: .relaxed).newValue
            guard waiting > Self.mostWaiting else {
                listener.continuation.yield(bytes)
                continue
            }
            // Its client connects again, and asks for all.
            leave(number)
            listener.continuation.finish()
        }
    }
}
