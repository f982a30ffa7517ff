internal import Accounts
internal import Base
internal import Commands
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
    private let hub: LiveHub
    private let meters = Meters()
    private let mill = PasswordMill()
    let logger: Logger

    /// - Parameter socket: path of the local socket, for the verbs; nil: none.
    package init(_ options: ServerOptions, socket: String?, store: Store, logger: Logger) {
        self.options = options
        self.socket = socket
        self.store = store
        gatekeeper = Gatekeeper(store: store)
        bodies = BodyReader(budget: ByteBudget(options.bounds.bodies))
        hub = LiveHub(store: store, logger: logger)
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
        application.addServices(hub)
        let housekeeping = Housekeeping(store: store, days: options.retentionDays, logger: logger)
        application.addServices(housekeeping)
        // Before anybody is served, so that the first batches do not wait for it.
        await housekeeping.prepare()
        try await application.runService()
    }

    /// Ends its thread; afterwards it answers nothing.
    package func close() {
        mill.close()
    }

    func responder(isLocal: Bool) -> Responder {
        Responder(
            isLocal: isLocal, gatekeeper: gatekeeper, handlers: handlers,
            page: isLocal ? nil : options.page, meters: meters)
    }

    private var handlers: Handlers {
        let lifetime = options.tokenLifetime
        return Handlers(
            ingest: Ingest(
                store: store, bodies: bodies, retentionDays: options.retentionDays,
                commands: CommandText(key: options.signingKey), meters: meters),
            logs: Logs(store: store, bodies: bodies),
            exchange: TokenExchange(store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: lifetime),
            enrolment: Enrolment(store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: lifetime),
            reader: Reader(store: store), hub: hub,
            orders: Orders(store: store, bodies: bodies, publicKey: options.signingKey?.publicPEM),
            registry: Registry(store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: lifetime),
            login: Login(store: store, bodies: bodies, passwords: Passwords(store: store, mill: mill)),
            operation: Operation(store: store, bodies: bodies, options: options))
    }

    private func application(
        _ address: ServerOptions.Address, _ responder: Responder,
        _ running: @escaping @Sendable (Int?) -> Void
    ) -> Application<Responder> {
        let bounds = options.bounds
        // A backup takes as long as it takes; nobody asks through the socket but the operator.
        let isLocal = if case .socket = address { true } else { false }
        let clock = RequestClock(
            deadline: isLocal ? 86_400 : bounds.deadlineSeconds, stall: isLocal ? 86_400 : bounds.idleSeconds,
            patience: isLocal ? 86_400 : bounds.patienceSeconds)
        let crowd = Crowd(most: bounds.connections)
        let bind: BindAddress =
            switch address {
            case .network(let host, let port): .hostname(host, port: port)
            case .socket(let path): .unixDomainSocket(path: path)
            }
        return Application(
            responder: responder,
            server: .http1(
                configuration: HTTP1Channel.Configuration(
                    additionalChannelHandlers: [DeadlineHandler(clock: clock, crowd: crowd)],
                    idleTimeout: .seconds(Int64(bounds.idleSeconds)),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 8192, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100))),
            configuration: ApplicationConfiguration(
                address: bind, serverName: nil, backlog: bounds.backlog,
                availableConnectionsDelegate: .maximum(bounds.connections, logger: logger)),
            onServerRunning: { channel in running(channel.localAddress?.port) }, logger: logger)
    }
}
