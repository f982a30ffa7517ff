internal import Accounts
internal import Alerts
internal import Base
internal import Commands
package import Logging
package import ServerStore
internal import ServiceLifecycle
internal import UnixSignals

/// The server: one place to listen on the network, and one on this machine alone.
package struct Server: Sendable {
    private let options: ServerOptions
    private let socket: String?
    private let store: Store
    private let gatekeeper: Gatekeeper
    private let bodies: BodyReader
    private let lists: Lists
    private let hub: LiveHub
    private let clock: ClockKeeper
    private let meters = Meters()
    private let removals: Removals
    private let delivery: AlertDelivery
    private let watch: AlertWatch
    private let forwarder: Forwarder
    private let fences: FenceKeeper
    private let readiness: Readiness
    private let tallies: FleetTallies
    private let mill = PasswordMill()
    let logger: Logger

    /// - Parameter socket: path of the local socket, for the verbs; nil: none.
    package init(_ options: ServerOptions, socket: String?, store: Store, logger: Logger) {
        self.options = options
        self.socket = socket
        self.store = store
        bodies = BodyReader(budget: ByteBudget(options.bounds.bodies))
        lists = Lists(store: store, budget: ByteBudget(options.bounds.reads))
        hub = LiveHub(store: store, logger: logger)
        clock = ClockKeeper(store: store, logger: logger)
        gatekeeper = Gatekeeper(store: store, clock: clock)
        removals = Removals(store: store, clock: clock, logger: logger)
        delivery = AlertDelivery(store: store, clock: clock, options: options, logger: logger)
        forwarder = Forwarder(store: store, clock: clock, options: options, logger: logger)
        watch = AlertWatch(store: store, clock: clock, logger: logger)
        fences = FenceKeeper(store: store, logger: logger)
        readiness = Readiness(store: store)
        tallies = FleetTallies(store: store, logger: logger)
        self.logger = logger
    }

    /// Serves until SIGTERM or SIGINT; then what is under way is still answered.
    ///
    /// - Parameters:
    ///   - running: called with the port once connections are accepted; nil on a socket.
    ///   - ending: called when it is told to end.
    package func run(
        _ running: @escaping @Sendable (Int?) -> Void, ending: @escaping @Sendable () -> Void = {}
    ) async throws {
        let door = try FrontDoor(
            options, at: options.address, responder: responder(isLocal: false), counts: meters.door,
            logger: logger, running: running)
        var services: [any Service] = [hub, clock, door]
        if let socket {
            services.append(
                try FrontDoor(
                    options, at: .socket(socket), responder: responder(isLocal: true),
                    counts: Doorman.Counts(), logger: logger))
        }
        let housekeeping = Housekeeping(
            store: store, days: options.retentionDays, batchDays: options.batchDays,
            forwards: forwarder.names, clock: clock, logger: logger)
        services += [housekeeping, removals, watch, delivery, fences, tallies]
        services += [
            ChangeKeeper(store: store, logger: logger), HostWatch(store: store), Ending(begun: ending),
        ]
        if !forwarder.names.isEmpty { services.append(forwarder) }
        // Before anybody is served, so that the first batches do not wait for it.
        await clock.look()
        await housekeeping.prepare()
        await watch.prepare()
        await fences.load()
        try await ServiceGroup(
            services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
        ).run()
    }

    /// Ends its thread; afterwards it answers nothing.
    package func close() {
        mill.close()
    }

    func responder(isLocal: Bool) -> Responder {
        Responder(
            isLocal: isLocal, gatekeeper: gatekeeper, handlers: handlers,
            page: isLocal ? nil : options.page, meters: meters, clock: clock)
    }

    private var handlers: Handlers {
        let lifetime = options.tokenLifetime
        return Handlers(
            ingest: Ingest(
                store: store, bodies: bodies, retentionDays: options.retentionDays,
                batchDays: options.batchDays,
                commands: CommandText(key: options.signingKey), meters: meters, clock: clock,
                watch: watch, delivery: delivery, forwarder: forwarder, fences: fences, logger: logger),
            logs: Logs(store: store, bodies: bodies, lists: lists),
            exchange: TokenExchange(
                store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: lifetime, meters: meters,
                logger: logger),
            enrolment: Enrolment(
                store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: lifetime,
                publicKey: options.signingKey?.publicPEM),
            reader: Reader(store: store, lists: lists, readiness: readiness), hub: hub,
            orders: Orders(
                store: store, bodies: bodies, publicKey: options.signingKey?.publicPEM, lists: lists,
                clock: clock),
            registry: Registry(
                store: store, bodies: bodies, gatekeeper: gatekeeper, lifetime: lifetime, removals: removals),
            login: Login(store: store, bodies: bodies, passwords: Passwords(store: store, mill: mill)),
            operation: Operation(
                store: store, bodies: bodies, options: options, clock: clock, forwarder: forwarder),
            tiles: Tiles(map: options.map), sharing: Sharing(store: store, bodies: bodies),
            rules: Rules(
                store: store, bodies: bodies, watch: watch, delivery: delivery,
                hasMailServer: options.mail != nil),
            fences: FleetFences(store: store, bodies: bodies, lists: lists, keeper: fences),
            metrics: Metrics(
                store: store, meters: meters, clock: clock, delivery: delivery, forwarder: forwarder,
                tallies: tallies),
            clock: clock)
    }
}
