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
    let endpoints = Endpoints.tree

    /// The time by this server's clock.
    static var now: Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    func respond(to request: Request) async throws -> Response {
        if let response = page?.response(to: request) {
            meters.note(response.status, route: "page")
            return response
        }
        let match = endpoints.match(request.method.rawValue, request.uri.path)
        var response = try await answer(request, match)
        // Where somebody was is kept by nobody on the way.
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-store" }
        // Whatever names and texts are in it, no browser takes it for a page.
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.contentSecurityPolicy] = "default-src 'none'; frame-ancestors 'none'"
        meters.note(response.status, route: match.template ?? "none")
        return response
    }

    private func answer(_ request: Request, _ match: EndpointTree.Match) async throws -> Response {
        do {
            let (endpoint, action) = try Self.endpoint(of: request, match)
            let call = try await call(request, endpoint)
            var response = try await perform(call, endpoint, action)
            if call.identity.isOfUser, !endpoint.traits.contains(.confirmsRight),
                response.body.contentLength == nil
            {
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

    private static func endpoint(
        of request: Request, _ match: EndpointTree.Match
    ) throws(Problem) -> (Endpoint, Endpoint.Action) {
        switch match {
        case .nothing: throw Problem.notFound()
        case .otherMethods(let resource):
            var problem = Problem(
                .methodNotAllowed, "This path does not have the method \(request.method.rawValue.prefix(20))."
            )
            problem.allow = resource.allow
            throw problem
        case .endpoint(let endpoint, let action): return (endpoint, action)
        }
    }

    private func perform(
        _ call: Call, _ endpoint: Endpoint, _ action: Endpoint.Action
    ) async throws -> Response {
        do {
            let response = try await action(handlers, call)
            // Vehicles that upload from now on go by it.
            if endpoint.changesFleet { await handlers.fences.keeper.load() }
            return response
        } catch let problem as Problem {
            guard case .device(let device) = call.identity.caller else { throw problem }
            if problem.status == .unauthorized {
                // What is remembered of its tokens is no longer so.
                gatekeeper.forget(device)
            } else if endpoint.traits.contains(.notesUse), problem.status != .serviceUnavailable {
                // What is refused has shown the token all the same.
                try await gatekeeper.noteUse(by: call.identity, now: call.wall)
            }
            throw problem
        }
    }

    private func call(_ request: Request, _ endpoint: Endpoint) async throws -> Call {
        let now = Self.now
        // Tokens go by a clock that the database does not contradict.
        let wall = clock.wall(now)
        let identity =
            isLocal
            ? Identity(caller: .local, name: "local", viewer: .everything)
            : try await gatekeeper.identity(request.headers, now: wall)
        let confirm: Right.Confirm = { [self] in
            guard identity.isOfUser else { return }
            let same = try await gatekeeper.identity(request.headers, now: clock.wall(Self.now))
            try Self.judge(same, endpoint)
        }
        var request = request
        if identity.isOfUser, endpoint.method != .get {
            request.body = RequestBody(asyncSequence: ConfirmedBody(base: request.body, confirm: confirm))
        }
        if !endpoint.traits.contains(.notesUse) { try await gatekeeper.noteUse(by: identity, now: wall) }
        try Self.judge(identity, endpoint)
        if let session = identity.session, endpoint.needsCompanion {
            let shown = Login.companion.flatMap { request.headers[$0] } ?? ""
            guard session.hasCompanion(shown) else {
                throw Problem(
                    .forbidden, "A change in a session needs its X-CSRF-Token, which /v1/session returns.")
            }
        }
        return Call(request: request, identity: identity, now: now, wall: wall, confirm: confirm)
    }

    private static func judge(_ identity: Identity, _ endpoint: Endpoint) throws(Problem) {
        guard !endpoint.audience.admits(identity.caller) else { return }
        if identity.caller == .nobody {
            throw Problem(.unauthorized, "This needs a token ('Authorization: Bearer …') or a session.")
        }
        throw Problem(.forbidden, "You may not do this: it needs other rights.")
    }
}
