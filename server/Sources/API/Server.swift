internal import Base
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
package import ServerStore

/// The server: one place to listen on the network, and one on this machine alone.
package struct Server: Sendable {
    private let options: ServerOptions
    private let socket: String?
    private let store: Store
    private let gatekeeper: Gatekeeper
    private let bodies: BodyReader
    let logger: Logger

    /// - Parameter socket: path of the local socket, for the verbs; nil: none.
    package init(_ options: ServerOptions, socket: String?, store: Store, logger: Logger) {
        self.options = options
        self.socket = socket
        self.store = store
        gatekeeper = Gatekeeper(store: store)
        bodies = BodyReader(budget: ByteBudget(options.bodies))
        self.logger = logger
    }

    /// Serves until SIGTERM or SIGINT; then what is under way is still answered.
    ///
    /// - Parameter running: called with the port once connections are accepted; nil on a socket.
    package func run(_ running: @escaping @Sendable (Int?) -> Void) async throws {
        var application = application(options.address, responder(isLocal: false), running)
        if let socket {
            let responder = responder(isLocal: true)
            application.addServices(self.application(.socket(socket), responder, { _ in }))
        }
        if let days = options.retentionDays {
            application.addServices(Pruning(store: store, days: days, logger: logger))
        }
        try await application.runService()
    }

    func responder(isLocal: Bool) -> Responder {
        Responder(
            isLocal: isLocal, gatekeeper: gatekeeper,
            ingest: Ingest(store: store, bodies: bodies, retentionDays: options.retentionDays),
            exchange: TokenExchange(
                store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: options.tokenLifetime),
            reader: Reader(store: store),
            registry: Registry(
                store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: options.tokenLifetime),
            logger: logger)
    }

    private func application(
        _ address: ServerOptions.Address, _ responder: Responder,
        _ running: @escaping @Sendable (Int?) -> Void
    ) -> Application<Responder> {
        let clock = RequestClock(deadline: options.deadlineSeconds, stall: options.idleSeconds)
        let bind: BindAddress =
            switch address {
            case .network(let host, let port): .hostname(host, port: port)
            case .socket(let path): .unixDomainSocket(path: path)
            }
        return Application(
            responder: responder,
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [DeadlineHandler(clock: clock)],
                    idleTimeout: .seconds(Int64(options.idleSeconds)),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 8192, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100))),
            configuration: ApplicationConfiguration(
                address: bind, serverName: nil, backlog: options.backlog,
                availableConnectionsDelegate: .maximum(options.connections, logger: logger)),
            onServerRunning: { channel in running(channel.localAddress?.port) }, logger: logger)
    }
}
