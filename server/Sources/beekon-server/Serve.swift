import API
import ArgumentParser
import Glibc
import Logging
import Page
import ServerStore

/// Serves until it is told to end.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serve. This is what happens without a verb.")

    @OptionGroup var database: DatabaseOption

    @Option(
        help: ArgumentHelp(
            "Where to listen; port 0 takes any that is free. (Environment: BEEKON_SERVER_LISTEN)",
            valueName: "host:port"))
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "Keep locations for so long, by the time of the fix; by default for ever.", valueName: "days"))
    var retention: Int?

    @Option(help: ArgumentHelp("Connections at once; more wait.", valueName: "count"))
    var connections = 600

    @Option(
        help: ArgumentHelp(
            "A private Ed25519 key (PEM, from 'beekon-server key new'): commands for vehicles are signed with it. (Environment: BEEKON_SERVER_SIGNING_KEY)",
            valueName: "file"))
    var signingKey: String?

    @OptionGroup var page: PageOption

    func validate() throws {
        guard retention.map({ (1...36_500).contains($0) }) ?? true else {
            throw ValidationError("--retention is within 1…36500 days.")
        }
        guard (1...100_000).contains(connections) else {
            throw ValidationError("--connections is within 1…100000.")
        }
        _ = try address()
    }

    private func address() throws -> ServerOptions.Address {
        let text = listen ?? Environment["BEEKON_SERVER_LISTEN"] ?? "127.0.0.1:8080"
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw ValidationError("--listen is host:port, such as 127.0.0.1:8080 or [::]:8080.") }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw ValidationError("--listen names a host before the colon.") }
        return .network(host: String(host), port: port)
    }

    func run() async throws {
        // The database holds where people were, and the socket opens it: for this account alone.
        umask(0o077)
        var logger = Logger(label: "beekon-server") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        let log = logger
        let store: Store
        do {
            store = try Store(Store.Place(database.place)) { log.error("database: \($0)") }
        } catch {
            throw Failure("cannot open \(Store.Place(database.place)): \(error.message)")
        }
        var options = ServerOptions(address: try address())
        options.bounds.connections = connections
        options.retentionDays = try retention ?? Environment.number("BEEKON_SERVER_RETENTION", in: 1...36_500)
        if let path = signingKey ?? Environment["BEEKON_SERVER_SIGNING_KEY"] {
            options.signingKey = try KeyFile.read(path)
        }
        do {
            options.page = try page.load()
        } catch let missing as FleetPage.Missing {
            logger.warning(
                "no page for browsers: \(missing.reason); install beekon-server's package and libjs-leaflet, or say --page none"
            )
        }
        let server = Server(
            options, socket: LocalClient.path(of: database.place), store: store, logger: logger)
        do {
            try await server.run { port in
                // Flushed at once: whoever started it waits for this line.
                print("beekon-server: listening on port \(port ?? 0), \(Store.Place(database.place))")
                fflush(nil)
            }
        } catch {
            server.close()
            store.close()
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
