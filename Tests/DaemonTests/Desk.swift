import Base
import ControlProtocol
import DaemonConfiguration
import Glibc
import Linux
import Support
import Synchronization

@testable import Daemon

/// A control server whose loop and clock the test turns by hand.
final class Desk {
    let workshop: Workshop
    let dispatcher: Dispatcher
    let server: ControlServer
    var now = instant(1000)
    let path: String

    /// Connections at most: two more for root, which is what tests in a container often run as.
    static let limit = ownUID() == 0 ? 34 : 32

    var hub: Hub { workshop.hub }
    var hasListeners: Bool { hub.board.hasListeners.load(ordering: .relaxed) }

    init() throws {
        workshop = try Workshop()
        path = workshop.directory.file("socket")
        var options = Daemon.Options { _ in nil }
        options.configuration = workshop.directory.file("beekond.toml")
        try workshop.directory.write("beekond.toml", [])
        let configurator = try Configurator(options, try StateDirectory(workshop.state))
        dispatcher = Dispatcher(hub: workshop.hub, configurator: configurator)
        let status = StatusReport(
            hub: workshop.hub, configurator: configurator, directory: try StateDirectory(workshop.state),
            installID: "i",
            startedAt: now)
        let handlers = Handlers(
            hub: workshop.hub, configurator: configurator, dispatcher: dispatcher, status: status)
        server = try ControlServer(in: SocketPlace(at: path), handlers: handlers)
    }

    /// One turn of the main loop.
    func turn() {
        var poll = Rest()
        server.addTo(&poll, at: 0)
        poll.wait(seconds: 0.002)
        server.serve(poll, now: now)
    }

    /// Lets time pass, and the server notice it.
    func pass(_ seconds: Double) {
        now = now.advanced(bySeconds: seconds)
        turn()
    }

    /// A client that has been accepted.
    func visitor() throws -> Visitor {
        let visitor = try Visitor(path)
        turn()
        return visitor
    }

    /// A client with half a request under way.
    func dawdler() throws -> Visitor {
        let visitor = try visitor()
        visitor.send("{\"method\":")
        turn()
        return visitor
    }

    func subscriber() throws -> Visitor {
        let visitor = try visitor()
        visitor.send(try Call.encode(Wire.Subscribe.self, .init(), more: true))
        _ = wait { nextReply(visitor) != nil }
        return visitor
    }

    /// One turn, and what it brought.
    func nextReply(_ visitor: Visitor) -> Reply? {
        if let reply = visitor.reply() { return reply }
        turn()
        return visitor.reply()
    }

    func reply(to visitor: Visitor) -> Reply? {
        var reply: Reply?
        _ = wait {
            reply = nextReply(visitor)
            return reply != nil
        }
        return reply
    }

    /// Another thread has carried out a command.
    func complete(_ token: Token, _ result: Result<Completion, CommandFailure>) {
        _ = dispatcher.complete(token, result, now: now)
    }

    /// Whether the client is still connected.
    func keeps(_ visitor: Visitor) -> Bool {
        turn()
        visitor.look()
        return !visitor.isClosed
    }
}

/// A client that never waits.
final class Visitor {
    private let raw: Int32
    private var decoder = FrameDecoder(limit: Limits.reply)
    private(set) var isClosed = false

    init(_ path: String) throws {
        raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let raw = raw
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isConnected == 0 else { throw SetUpFailed(operation: "connect", code: errno) }
    }

    deinit {
        close(raw)
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) {
        _ = Glibc.send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// The next reply, if it has come.
    func reply() -> Reply? {
        if let frame = try? decoder.next() { return try? Reply(decoding: frame) }
        look()
        return (try? decoder.next()).flatMap { try? Reply(decoding: $0) }
    }

    /// The other end is open, as far as can be told without reading anything.
    var isConnected: Bool {
        var poll = pollfd(fd: raw, events: 0, revents: 0)
        return Glibc.poll(&poll, 1, 0) == 0
    }

    /// Notices what has come, and the end.
    func look() {
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        let count = recv(raw, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        if count > 0 { decoder.append(bytes.prefix(count)) }
        if count == 0 || count < 0 && errno != EAGAIN { isClosed = true }
    }
}
