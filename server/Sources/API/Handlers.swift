internal import Accounts
internal import Base
internal import Commands
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// Does the work of each route. A new route needs its case in `Route`, its right in `Caller.may`, its row here, which the
/// compiler does not ask for, and its text in `Description`; `RouteTests` and `test_openapi.py` compare them.
struct Handlers: Sendable {
    let ingest: Ingest
    let logs: Logs
    let exchange: TokenExchange
    let enrolment: Enrolment
    let reader: Reader
    let hub: LiveHub
    let orders: Orders
    let registry: Registry
    let login: Login
    let operation: Operation
    let tiles: Tiles
    let sharing: Sharing
    let delivery: AlertDelivery
    let rules: Rules
    let fences: FleetFences
    let tallies: FleetTallies

    /// One request, whose right has been checked.
    struct Call {
        let route: Route
        let method: Route.Method
        let request: Request
        let identity: Identity
        /// The time by this machine's clock; `wall` is the lesser of it and the database's.
        let now: Timestamp
        let wall: Timestamp
        /// Throws when the right has ended meanwhile.
        let confirm: Right.Confirm

        var viewer: Viewer { identity.viewer }

        func query() throws(Problem) -> LocationQuery {
            try LocationQuery(request.uri.query.map { $0[...] })
        }
    }

    func perform(_ call: Call) async throws -> Response {
        if let response = try await performForDevices(call) { return response }
        if let response = try await performForReaders(call) { return response }
        let response = try await performForAdmins(call)
        // Vehicles that upload from now on go by it.
        if call.method != .get { await fences.keeper.load() }
        return response
    }

    /// - Returns: nil when the route is none of a device's, nor open to everybody.
    private func performForDevices(_ call: Call) async throws -> Response? {
        switch call.route {
        case .batches:
            guard case .device(let device) = call.identity.caller else { throw Problem.notFound() }
            return try await ingest.answer(call.request, from: device, call.identity, now: call.now)
        case .logs:
            guard case .device(let device) = call.identity.caller else { throw Problem.notFound() }
            return try await logs.add(call.request, from: device, call.identity, now: call.wall)
        case .token: return try await exchange.answer(call.request, now: call.wall)
        case .enroll: return try await enrolment.enroll(call.request, now: call.wall)
        case .login: return try await login.begin(call.request, now: call.wall)
        case .description: return Description.response
        case .live: return Response(status: .noContent)
        case .shared:
            guard let link = call.identity.link else { throw Problem.notFound() }
            return try await sharing.place(of: link)
        case .ready: return try await reader.ready()
        default: return nil
        }
    }

    /// - Returns: nil when the route changes something of others, or is an admin's.
    private func performForReaders(_ call: Call) async throws -> Response? {
        switch (call.route, call.method) {
        case (.devices, .get): return try await reader.devices(for: call.viewer)
        case (.device(let id), .get): return try await reader.device(id, for: call.viewer)
        case (.locations(let id), _):
            return try await reader.locations(of: id, for: call.viewer, try call.query())
        case (.events(let id), _): return try await reader.events(of: id, for: call.viewer, try call.query())
        case (.trips(let id), _): return try await reader.trips(of: id, for: call.viewer, try call.query())
        case (.fleetTrips, _):
            return try await reader.trips(
                for: call.viewer, try TripQuery(call.request.uri.query.map { $0[...] }))
        case (.fleetEvents, _):
            return try await reader.events(
                for: call.viewer, try FleetQuery(call.request.uri.query.map { $0[...] }, hasRule: false))
        case (.alerts, _):
            return try await reader.alerts(
                for: call.viewer, try FleetQuery(call.request.uri.query.map { $0[...] }, hasRule: true))
        case (.commands(let id), .get): return try await orders.all(of: id, for: call.viewer, now: call.wall)
        case (.stream, _):
            let (gatekeeper, headers) = (enrolment.gatekeeper, call.request.headers)
            let isLocal = call.identity.caller == .local
            return try await hub.stream(LiveHub.Form(query: call.request.uri.query), for: call.viewer) {
                if isLocal { return true }
                do {
                    let identity = try await gatekeeper.identity(headers, now: Responder.now)
                    return identity.caller.may(.get, .stream)
                } catch {
                    // A database that does not answer takes no right away.
                    return !(error is Problem)
                }
            }
        case (.session, _): return Login.description(of: call.identity)
        case (.logout, _): return try await login.end(call.request, call.identity)
        case (.ownPassword, _):
            return try await login.changePassword(call.request, call.identity, now: call.wall)
        case (.tile(let zoom, let column, let row), _):
            return try await tiles.answer(call.request, zoom: zoom, column: column, row: row)
        case (.key, _): return try orders.key()
        case (.fences, .get): return try await fences.all(for: call.viewer)
        case (.fence(let number), .get): return try await fences.one(number, for: call.viewer)
        case (.deviceFences(let id), _): return try await fences.fences(of: id, for: call.viewer)
        case (.fenceDevices(let number), _): return try await fences.devices(of: number, for: call.viewer)
        case (.installations(let id), .get): return try await registry.installations(of: id, for: call.viewer)
        case (.clock, .get): return try await ingest.clock.answer(call.now)
        case (.metrics, _):
            return try await Metrics(
                store: reader.store, meters: ingest.meters, clock: ingest.clock, delivery: delivery,
                forwarder: ingest.forwarder, tallies: tallies
            ).answer(for: call.viewer, call.request.uri.query, call.now)
        default: return nil
        }
    }

    private func performForAdmins(_ call: Call) async throws -> Response {
        let isRead = call.method == .get
        switch call.route {
        case .devices: return try await registry.addDevice(call.request, now: call.wall)
        case .device(let id):
            return try await call.method == .patch
                ? registry.changeDevice(id, call.request) : registry.revokeDevice(id, now: call.now)
        case .data(let id): return try await registry.deleteDevice(id, now: call.wall)
        case .links(let id):
            return try await isRead
                ? sharing.links(of: id, for: call.viewer, now: call.wall)
                : sharing.add(to: id, call.request, by: call.identity.name, now: call.wall)
        case .link(let device, let id): return try await sharing.remove(id, of: device)
        case .groups:
            return try await isRead ? registry.groups() : registry.addGroup(call.request, now: call.now)
        case .rules:
            return try await isRead
                ? rules.all() : rules.add(call.request, by: call.identity.name, now: call.wall)
        case .rule(let id):
            return try await call.method == .put ? rules.change(id, call.request) : rules.remove(id)
        case .ruleTest(let id): return try await rules.test(id, by: delivery)
        case .group(let name): return try await registry.removeGroup(name)
        case .fences: return try await fences.add(call.request, by: call.identity.name, now: call.wall)
        case .fence(let number):
            return try await call.method == .put
                ? fences.replace(number, call.request, by: call.identity.name, now: call.wall)
                : fences.remove(number)
        case .userGroups(let name): return try await registry.setGroups(of: name, call.request)
        case .tokens(let id): return try await registry.renewTokens(of: id, call.request, now: call.wall)
        case .installations(let id): return try await registry.confirmInstallation(of: id, call.request)
        case .log(let id): return try await logs.newest(of: id, for: call.viewer)
        case .commands(let id):
            return try await orders.add(for: id, call.request, by: call.identity.name, now: call.wall)
        case .command(let id, let number): return try await orders.withdraw(number, of: id, now: call.wall)
        case .claims:
            return try await isRead ? enrolment.all() : enrolment.add(call.request, now: call.wall)
        case .claim(let id): return try await enrolment.remove(id)
        case .users:
            return try await isRead ? registry.users() : registry.addUser(call.request, now: call.now)
        case .user(let name): return try await registry.removeUser(name)
        case .password(let name):
            return try await login.setPassword(of: name, call.request, now: call.wall, call.confirm)
        case .clock: return try await ingest.clock.confirm()
        case .doctor: return try await operation.facts(now: call.now)
        case .backup: return try await operation.backup(call.request)
        default: throw Problem.notFound()
        }
    }
}
