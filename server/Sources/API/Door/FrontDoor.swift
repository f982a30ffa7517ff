internal import Glibc
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// One address, and all connections to it. Hummingbird speaks HTTP on those that have a place; which have one, and what becomes
/// of the others, is decided before.
struct FrontDoor: Service {
    private let listener: Listener
    private let doorman: Doorman
    private let crowd: Crowd
    private let room: Room
    private let http: HTTP1Channel
    private let running: @Sendable (Int?) -> Void
    private let logger: Logger

    /// Listens; connections are accepted when it runs.
    ///
    /// - Parameter running: called when it does, with the port; nil on a socket.
    /// - Throws: `ListenError`, and what resolving the name of a host throws.
    init(
        _ options: ServerOptions, at address: ServerOptions.Address, responder: Responder,
        counts: Doorman.Counts, logger: Logger, running: @escaping @Sendable (Int?) -> Void = { _ in }
    ) throws {
        let bounds = options.bounds
        // A backup takes as long as it takes; nobody asks through the socket but the operator.
        let isLocal = if case .socket = address { true } else { false }
        let clock = RequestClock(
            deadline: isLocal ? 86_400 : bounds.deadlineSeconds,
            piece: isLocal ? 86_400 : bounds.pieceSeconds,
            stall: isLocal ? 86_400 : bounds.idleSeconds, patience: isLocal ? 86_400 : bounds.patienceSeconds)
        let crowd = Crowd(most: bounds.connections)
        let room = try Room(
            places: bounds.connections, work: min(bounds.work, max(1, bounds.connections / 2)))
        let date = DateHeader()
        http = HTTP1Channel(
            responder: { request, writer, _ in
                var response: Response
                do {
                    response = try await responder.respond(to: request)
                } catch let error as HTTPParserError {
                    throw error
                } catch {
                    logger.debug("a request failed: \(error)")
                    response = Response(status: .internalServerError)
                }
                response.headers[.date] = date.text
                response.body = response.body.inPieces
                do {
                    try await writer.write(response: response.head, body: response.body)
                } catch is HTTPParserError {
                    // It would be answered once more.
                    throw ChannelError.ioOnClosedChannel
                }
            },
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [DeadlineHandler(clock: clock, crowd: crowd, room: room)],
                idleTimeout: .seconds(Int64(bounds.idleSeconds)),
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 8192, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100)))
        self.crowd = crowd
        self.room = room
        self.logger = logger
        self.running = running
        listener = try Listener(address, backlog: Int32(bounds.backlog))
        var waiting = WaitingLine.Bounds()
        waiting.count = Descriptors.afford(waiting.count, beside: bounds.connections)
        doorman = Doorman(listener, into: room, waiting: waiting, counts: counts)
    }

    func run() async {
        running(listener.port)
        let (sockets, places) = AsyncStream.makeStream(of: Int32.self)
        let thread = WorkerThread { [doorman] in
            doorman.run { places.yield($0) }
            places.finish()
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            await withDiscardingTaskGroup { group in
                for await socket in sockets {
                    group.addTask {
                        await serve(socket)
                        room.leave()
                    }
                }
            }
        } onCancelOrGracefulShutdown: { [doorman, crowd] in
            doorman.close()
            crowd.disperse()
        }
        thread.join()
    }

    /// Bytes of answers that wait for nothing: those of uploads.
    private static let unnoticed = 4 << 10

    private func serve(_ socket: Int32) async {
        let connection: HTTP1Channel.Value
        do {
            defer { room.arrive() }
            connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .withConnectedSocket(socket) { channel in
                    // What has been written and not taken keeps the next piece waiting, to its last byte.
                    let marks = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: Self.unnoticed)
                    return channel.setOption(.allowRemoteHalfClosure, value: true).flatMap {
                        channel.setOption(.writeBufferWaterMark, value: marks)
                    }.flatMap {
                        http.setup(channel: channel, logger: logger)
                    }
                }
        } catch {
            return logger.debug("a connection failed: \(error)")
        }
        await http.handle(value: connection, logger: logger)
    }
}

/// The Date of answers, made once a second.
private final class DateHeader: Sendable {
    private let made = Mutex((second: time_t(-1), text: ""))

    var text: String {
        let now = time(nil)
        return made.withLock { made in
            if made.second != now { made = (now, Self.text(now)) }
            return made.text
        }
    }

    /// RFC 9110, 5.6.7. The program sets no locale, so names are English.
    private static func text(_ second: time_t) -> String {
        var (second, parts) = (second, tm())
        gmtime_r(&second, &parts)
        var bytes = [CChar](repeating: 0, count: 64)
        let length = strftime(&bytes, bytes.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: bytes[..<length].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// Descriptors of files and sockets that this process may have.
private enum Descriptors {
    /// For the database, its journal, the log, and connections that were sent away and linger.
    private static let others = 1024

    /// Takes as many as the system gives.
    ///
    /// - Returns: how many of those that are wanted there are.
    static func afford(_ wanted: Int, beside connections: Int) -> Int {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(kind, &limit) == 0 else { return 0 }
        let all = rlim_t(wanted + connections + others)
        if limit.rlim_cur < all {
            limit.rlim_cur = min(all, limit.rlim_max)
            setrlimit(kind, &limit)
        }
        return max(0, min(wanted, Int(clamping: limit.rlim_cur) - connections - others))
    }
}
