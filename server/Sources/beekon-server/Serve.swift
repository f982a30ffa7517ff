import API
import ArgumentParser
import CLinux
import Glibc
import Logging
import Page
import ServerStore

/// Serves until it is told to end.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run the server. This is the default verb.")

    @OptionGroup var database: DatabaseOption

    @OptionGroup var copy: ReadDatabaseOption

    @Option(
        help: ArgumentHelp(
            "Where to listen; port 0 takes any that is free. (Environment: BEEKON_SERVER_LISTEN)",
            valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "Keep locations for this long, by the time of the fix; by default forever. (Environment: BEEKON_SERVER_RETENTION)",
            valueName: "days"))
    var retention: Int?

    @Option(
        help: ArgumentHelp(
            "Connections at once, 600 by default; more wait for a place. (Environment: BEEKON_SERVER_CONNECTIONS)",
            valueName: "count"))
    var connections: Int?

    @Option(
        help: ArgumentHelp(
            "A private Ed25519 key (PEM, from 'beekon-server key new'): commands for vehicles are signed with it. (Environment: BEEKON_SERVER_SIGNING_KEY)",
            valueName: "file"))
    var signingKey: String?

    @OptionGroup var page: PageOption

    @OptionGroup var mail: MailOption

    func validate() throws {
        guard retention.map(Settings.retentionDays.contains) ?? true else {
            throw ValidationError("--retention is within 1…36500 days.")
        }
        guard connections.map(Settings.connectionCount.contains) ?? true else {
            throw ValidationError("--connections is within 1…100000.")
        }
        if let listen, Self.address(listen) == nil { throw ValidationError("--listen \(Self.addressRule).") }
    }

    /// nginx, which has TLS, is on the same machine.
    static let usualAddress = "127.0.0.1:8080"
    static let addressRule = "is host:port, such as 127.0.0.1:8080 or [::]:8080"

    /// - Returns: nil when it is not of the form host:port.
    static func address(_ text: String) -> ServerOptions.Address? {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        return host.isEmpty ? nil : .network(host: String(host), port: port)
    }

    /// The command line goes before the environment, and that before the configuration.
    private func options(_ settings: Settings) throws -> ServerOptions {
        let place = listen ?? Environment["BEEKON_SERVER_LISTEN"] ?? settings.listen ?? Self.usualAddress
        guard let address = Self.address(place) else {
            throw Failure("BEEKON_SERVER_LISTEN \(Self.addressRule)")
        }
        var options = ServerOptions(address: address)
        options.bounds.connections =
            try connections
            ?? Environment.number("BEEKON_SERVER_CONNECTIONS", in: Settings.connectionCount)
            ?? settings.connections ?? options.bounds.connections
        options.retentionDays =
            try retention ?? Environment.number("BEEKON_SERVER_RETENTION", in: Settings.retentionDays)
            ?? settings.retention
        options.batchDays =
            try Environment.number("BEEKON_SERVER_BATCH_DAYS", in: Settings.batchDays) ?? settings.batchDays
            ?? options.batchDays
        if let path = signingKey ?? Environment["BEEKON_SERVER_SIGNING_KEY"] ?? settings.signingKey {
            options.signingKey = try KeyFile.read(path)
        }
        try mail.apply(settings, to: &options)
        options.forwards = settings.forwards
        return options
    }

    /// Seconds after which the process ends while PostgreSQL holds a thread, and how long it must have held it by then.
    private static let patience = (end: Duration.seconds(8), hold: Duration.seconds(4))

    /// A COMMIT that waits for a standby which is away never returns. Nothing of it has been acknowledged.
    private static func limitEnd(of store: Store, _ log: Logger) {
        Task.detached {
            try await Task.sleep(for: patience.end)
            while !store.isHeld(for: patience.hold) { try await Task.sleep(for: .milliseconds(100)) }
            log.warning("ended while the database held a transaction: nothing of it was acknowledged")
            fflush(nil)
            _exit(EXIT_SUCCESS)
        }
    }

    func run() async throws {
        // The database holds where people were, and the socket opens it: for this account alone.
        umask(0o077)
        var logger = Logger(label: "beekon-server") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let log = logger
        let settings = try database.settings()
        var options = try options(settings)
        let file = database.place(settings)
        let place = Store.Place(file)
        if let socket = LocalClient.path(of: file) { try LocalClient.checkLength(of: socket) }
        if let trouble = options.mailTrouble { logger.warning("no mail for alerts: \(trouble)") }
        let store: Store
        do {
            store = try Store(
                place, copy: copy.place(settings), partitionDays: settings.partitionDays,
                note: { log.warning("database: \($0)") }, report: { log.error("database: \($0)") })
        } catch {
            throw Failure("cannot open \(place): \(error.message)")
        }
        do {
            options.map = try page.loadMap(settings)
        } catch {
            options.mapTrouble = error.reason
            logger.warning("no map file: \(error.reason)")
        }
        do {
            options.page = try page.load(settings, map: options.map)
        } catch let missing as FleetPage.Missing {
            logger.warning(
                "no page for browsers: \(missing.reason); install beekon-server's package and libjs-leaflet, or say --page none"
            )
        }
        let server = Server(options, socket: LocalClient.path(of: file), store: store, logger: logger)
        do {
            try await server.run(
                { port in
                    // Flushed at once: whoever started it waits for this line.
                    print("beekon-server: listening on port \(port ?? 0), \(place)")
                    fflush(nil)
                    // Most of what has been mapped only the start needs; what is used is mapped again.
                    clinux_release_unused_code()
                }, ending: { Self.limitEnd(of: store, log) })
        } catch {
            server.close()
            store.close()
            // Of all that can end it, an address that is taken is what an operator meets.
            if let refusal = error as? ListenError {
                throw Failure(
                    "cannot listen on \(options.address): \(String(cString: strerror(refusal.code)))")
            }
            throw Failure("ended: \(error)")
        }
        server.close()
        store.close()
    }
}

/// An error whose text is all that the user sees.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ text: String) {
        description = text
    }
}
