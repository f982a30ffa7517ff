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
        init(_ query: Substring?) throws(Problem) {
            switch query ?? "" {
            case "", "form=full": self = .full
            case "form=compact": self = .compact
            default: throw Problem(.badRequest, "The only parameter is form, which is full or compact.")
            }
        }
    }

    /// Listeners who are told the same.
    private struct Audience: Hashable {
        var form: Form
        var viewer: Viewer
    }

    private struct Listener {
        var audience: Audience
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
        /// From where on is looked; nil while nobody listens.
        var cursor: Changes.Cursor?
    }

    /// What was told of a device last, beside where it is and when it was heard of.
    private struct Mark: Hashable {
        var status: Timestamp?
        var shownAgain: Timestamp?
        var other: UUIDv7?
    }

    /// Listeners at once; each holds a connection.
    private static let most = 100
    /// Bytes of changes that wait for a slow listener; beyond, it has to ask anew. All listeners of a form who see the same share
    /// them, and where there are more than a few of such texts, they have these bytes together.
    private static let mostWaiting = 16 << 20
    /// How long a right is taken for granted.
    private static let trust = Duration.seconds(5)
    /// Between two signs of life; they are events, since a page is told of nothing else. It gives up after 40 seconds.
    private static let silence = Duration.seconds(15)
    /// Pages of a look that are read at once, each of as many devices as are asked for at once.
    private static let pagesAtOnce = 2
    /// Devices of which is remembered what was told of them. With more, some are told in full once more.
    private static let mostKnown = 200_000

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
    /// - Parameters:
    ///   - viewer: is told of the vehicles that it may see at the moment.
    ///   - confirm: called now and then, since a stream may outlive the right to it.
    func stream(
        _ form: Form, for viewer: Viewer, _ confirm: @escaping Right.Confirm
    ) async throws -> Response {
        // All that changes from now on is told. Whoever listens reads the rest once it has been greeted.
        let start = try await store.read { session throws(StoreError) in try Changes.begin(in: session) }
        guard state.withLock({ !$0.isEnding && $0.listeners.count < Self.most }) else {
            var random = SystemRandomNumberGenerator()
            throw Problem.busy(using: &random)
        }
        return Response(
            status: .ok,
            headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                let (number, changes, backlog) = self.listen(
                    Audience(form: form, viewer: viewer), from: start)
                defer { self.leave(number) }
                try await writer.write(
                    ByteBuffer(string: "event: hello\ndata: {\"time\":\"\(Responder.now.iso8601)\"}\n\n"))
                // The server waits for its answers before it ends.
                try await withGracefulShutdownHandler {
                    var checked = ContinuousClock.now
                    // Something comes at least every 15 s, if only a sign of life.
                    for await change in changes {
                        if .now - checked > Self.trust {
                            do {
                                try await confirm()
                            } catch is Problem {
                                break
                            } catch {
                                // A database that does not answer takes no right away.
                            }
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

    private func listen(
        _ audience: Audience, from start: Changes.Cursor
    ) -> (UInt64, AsyncStream<ByteBuffer>, Backlog) {
        let (stream, continuation) = AsyncStream<ByteBuffer>.makeStream()
        let backlog = Backlog()
        let number = state.withLock { state in
            state.next += 1
            if state.isEnding {
                continuation.finish()
            } else {
                state.cursor = state.cursor ?? start
                state.listeners[state.next] = Listener(
                    audience: audience, continuation: continuation, backlog: backlog)
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

    private static let reload = "event: reload\ndata: {}\n\n"

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
            if !Task.isCancelled { tellAll("event: alive\ndata: {}\n\n") }
        }
    }

    private func lookAround() async {
        var known: [Int64: Int] = [:]
        var revision: Int64?
        while !Task.isCancelled, let cursor = next() {
            do {
                let moved = try await look(from: cursor, &known)
                state.withLock { if $0.cursor != nil { $0.cursor = moved } }
                try await noteChanges(&revision)
            } catch {
                logger.failure(error, of: "live", then: "trying again in a second")
            }
            // Ends early with the server.
            try? await Task.sleep(for: .seconds(1))
        }
    }

    /// - Returns: from where on is looked; nil when nobody listens, and whoever comes next begins anew.
    private func next() -> Changes.Cursor? {
        state.withLock { state in
            if state.listeners.isEmpty { state.cursor = nil }
            return state.cursor
        }
    }

    /// Has all pages read vehicles anew after an admin has changed names, groups or rights, or deleted one.
    private func noteChanges(_ revision: inout Int64?) async throws {
        let new = try await store.read { session throws(StoreError) in try FleetRevision.read(from: session) }
        if let revision, revision != new { tellAll(Self.reload) }
        revision = new
    }

    private func look(
        from start: Changes.Cursor, _ known: inout [Int64: Int]
    ) async throws -> Changes.Cursor {
        let now = ContinuousClock.now
        let (cursor, changed) = try await store.read { session throws(StoreError) in
            var cursor = start
            let changed = try Changes.read(&cursor, now: now, from: session)
            return (cursor, changed)
        }
        guard let changed else {
            known = [:]
            tellAll(Self.reload)
            return cursor
        }
        try await withThrowingTaskGroup(of: Page.self) { group in
            var rest = changed[...]
            func begin() {
                let some = Array(rest.prefix(Reading.mostAtOnce))
                rest = rest.dropFirst(some.count)
                if !some.isEmpty { group.addTask { try await self.read(some) } }
            }
            // One is read while another is told.
            for _ in 0..<Self.pagesAtOnce { begin() }
            while let page = try await group.next() {
                begin()
                let news = page.devices.map { Self.news(of: $0, &known) }
                if !news.isEmpty { tell(news, page.scopes) }
            }
        }
        return cursor
    }

    /// Vehicles that have changed, and what each of those who listen may see at the same moment.
    private struct Page: Sendable {
        var devices: [DeviceState]
        var scopes: [Viewer: Viewer.Scope]
    }

    private func read(_ devices: [Int64]) async throws -> Page {
        let viewers = Set(state.withLock { $0.listeners.values.map(\.audience.viewer) })
        return try await store.read { session throws(StoreError) in
            var scopes: [Viewer: Viewer.Scope] = [:]
            for viewer in viewers { scopes[viewer] = try viewer.scope(in: session) }
            return Page(
                devices: try Reading.devices(for: .everything, devices, from: session), scopes: scopes)
        }
    }

    private static func news(of device: DeviceState, _ known: inout [Int64: Int]) -> LiveText.News {
        let mark = Mark(
            status: device.status?.received, shownAgain: device.tokenShownAgain,
            other: device.otherInstallation
        ).hashValue
        if known.count >= mostKnown, known[device.id] == nil { known = [:] }
        let old = known.updateValue(mark, forKey: device.id)
        return LiveText.News(device: device, isMoveAlone: old == mark && device.seen != nil)
    }

    /// A text that is made once for all who may see the same, in a form.
    private struct Edition: Hashable {
        var form: Form
        var scope: Viewer.Scope
    }

    /// - Parameter scopes: of those who listen; who has come since reads all by itself.
    private func tell(_ news: [LiveText.News], _ scopes: [Viewer: Viewer.Scope]) {
        let listeners = state.withLock { $0.listeners }
        var made: [Edition: ByteBuffer] = [:]
        for (_, listener) in listeners {
            guard let edition = Self.edition(for: listener, scopes), made[edition] == nil else { continue }
            let seen = news.filter { edition.scope.contains($0.device.group?.id) }
            made[edition] = ByteBuffer(bytes: LiveText.events(seen, in: edition.form))
        }
        for (number, listener) in listeners {
            guard let edition = Self.edition(for: listener, scopes), let bytes = made[edition],
                bytes.readableBytes > 0
            else { continue }
            send(bytes, to: listener, number, share: made.count)
        }
    }

    private static func edition(for listener: Listener, _ scopes: [Viewer: Viewer.Scope]) -> Edition? {
        scopes[listener.audience.viewer].map { Edition(form: listener.audience.form, scope: $0) }
    }

    private func tellAll(_ text: String) {
        let bytes = ByteBuffer(string: text)
        for (number, listener) in state.withLock({ $0.listeners }) {
            send(bytes, to: listener, number, share: 1)
        }
    }

    /// - Parameter share: texts that wait at the same time.
    private func send(_ bytes: ByteBuffer, to listener: Listener, _ number: UInt64, share: Int) {
        let waiting = listener.backlog.bytes.add(bytes.readableBytes, ordering: .relaxed).newValue
        // One of each form has all of it.
        guard waiting > 2 * Self.mostWaiting / max(2, share) else {
            listener.continuation.yield(bytes)
            return
        }
        // Its client connects again, and asks for all.
        leave(number)
        listener.continuation.finish()
    }
}
