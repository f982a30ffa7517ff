internal import Accounts
internal import Base
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import Page
internal import ServerStore

/// From a request to its answer: path, caller, right, and then the work.
struct Responder: Sendable {
    /// Whether requests come through the local socket, where no token is needed.
    let isLocal: Bool
    let gatekeeper: Gatekeeper
    let handlers: Handlers
    let page: FleetPage?
    let meters: Meters
    let clock: ClockKeeper

    /// The time by this server's clock.
    static var now: Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    func respond(to request: Request) async throws -> Response {
        if let response = page?.response(to: request) {
            meters.note(response.status, route: "page")
            return response
        }
        let route = Route(path: request.uri.path)
        var response = try await answer(request, route)
        // Where somebody was is kept by nobody on the way.
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        // Whatever names and texts are in it, no browser takes it for a page.
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        meters.note(response.status, route: route?.template ?? "none")
        return response
    }

    private func answer(_ request: Request, _ route: Route?) async throws -> Response {
        do {
            let call = try await call(request, route)
            var response = try await perform(call)
            // A stream of changes looks by itself.
            if call.identity.isOfUser, call.route != .stream, response.body.contentLength == nil {
                response.body = response.body.confirmed(call.confirm)
            }
            return response
        } catch let problem as Problem {
            return problem.response
        } catch let error as StoreError {
            var random = SystemRandomNumberGenerator()
            return Problem(error, using: &random).response
        }
    }

    private func perform(_ call: Handlers.Call) async throws -> Response {
        guard case .device(let device) = call.identity.caller else { return try await handlers.perform(call) }
        do {
            return try await handlers.perform(call)
        } catch let problem as Problem {
            if problem.status == .unauthorized {
                // What is remembered of its tokens is no longer so.
                gatekeeper.forget(device)
            } else if call.route == .batches, problem.status != .serviceUnavailable {
                // What is refused has shown the token all the same.
                try await gatekeeper.noteUse(by: call.identity, now: call.wall)
            }
            throw problem
        }
    }

    private func call(_ request: Request, _ route: Route?) async throws -> Handlers.Call {
        let now = Self.now
        // Tokens go by a clock that the database does not contradict.
        let wall = clock.wall(now)
        guard let route else { throw Problem.notFound() }
        guard let method = Route.Method(rawValue: request.method.rawValue), route.methods.contains(method)
        else {
            var problem = Problem(
                .methodNotAllowed, "This path does not have the method \(request.method.rawValue.prefix(20))."
            )
            problem.allow = route.methods.map(\.rawValue).joined(separator: ", ")
            throw problem
        }
        let identity =
            isLocal
            ? Identity(caller: .local, name: "local", viewer: .everything)
            : try await gatekeeper.identity(request.headers, now: wall)
        let confirm: Right.Confirm = { [self] in
            guard identity.isOfUser else { return }
            let same = try await gatekeeper.identity(request.headers, now: clock.wall(Self.now))
            try Self.judge(same, method, route)
        }
        var request = request
        if identity.isOfUser, method != .get {
            request.body = RequestBody(asyncSequence: ConfirmedBody(base: request.body, confirm: confirm))
        }
        if route != .batches { try await gatekeeper.noteUse(by: identity, now: wall) }
        try Self.judge(identity, method, route)
        if let session = identity.session, Caller.needsCompanion(method, route) {
            let shown = Login.companion.flatMap { request.headers[$0] } ?? ""
            guard session.hasCompanion(shown) else {
                throw Problem(
                    .forbidden, "A change in a session needs its X-CSRF-Token, which /v1/session returns.")
            }
        }
        return Handlers.Call(
            route: route, method: method, request: request, identity: identity, now: now, wall: wall,
            confirm: confirm)
    }

    private static func judge(
        _ identity: Identity, _ method: Route.Method, _ route: Route
    ) throws(Problem) {
        guard !identity.caller.may(method, route) else { return }
        if identity.caller == .nobody {
            throw Problem(.unauthorized, "This needs a token ('Authorization: Bearer …') or a session.")
        }
        throw Problem(.forbidden, "You may not do this: it needs other rights.")
    }
}
