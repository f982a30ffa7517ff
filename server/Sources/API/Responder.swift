internal import Base
internal import FoundationEssentials
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import ServerStore

/// From a request to its answer: path, caller, right, and then the work.
struct Responder: HTTPResponder {
    typealias Context = CallContext

    /// Who asks through the local socket needs no token.
    let isLocal: Bool
    let gatekeeper: Gatekeeper
    let ingest: Ingest
    let exchange: TokenExchange
    let reader: Reader
    let registry: Registry
    let logger: Logger

    /// This server's clock.
    static var now: Timestamp {
        Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    func respond(to request: Request, context: CallContext) async throws -> Response {
        do {
            return try await answer(request)
        } catch let problem as Problem {
            return problem.response
        } catch let error as StoreError {
            var random = SystemRandomNumberGenerator()
            return Problem(error, using: &random).response
        }
    }

    private func answer(_ request: Request) async throws -> Response {
        let now = Self.now
        let path = Fields.decoded(request.uri.path.replacing("+", with: "%2B")[...])
        guard let route = path.flatMap({ Route(path: $0) }) else { throw Problem.notFound() }
        guard let method = Route.Method(rawValue: request.method.rawValue), route.methods.contains(method)
        else {
            var problem = Problem(
                .methodNotAllowed, "This path does not have the method \(request.method.rawValue.prefix(20))."
            )
            problem.allow = route.methods.map(\.rawValue).joined(separator: ", ")
            throw problem
        }
        let caller = isLocal ? .local : try await gatekeeper.caller(request.headers, now: now)
        guard caller.may(method, route) else {
            if caller == .nobody {
                throw Problem(.unauthorized, "This needs a token: 'Authorization: Bearer …'.")
            }
            throw Problem(.forbidden, "The token is good, but not for this.")
        }
        return try await perform(method, route, request, caller, now)
    }

    private func perform(
        _ method: Route.Method, _ route: Route, _ request: Request, _ caller: Caller, _ now: Timestamp
    ) async throws -> Response {
        switch route {
        case .batches:
            guard case .device(let device) = caller else { throw Problem.notFound() }
            return try await ingest.answer(request, from: device, now: now)
        case .token: return try await exchange.answer(request, now: now)
        case .devices:
            return try await method == .get ? reader.devices() : registry.addDevice(request, now: now)
        case .device(let id):
            return try await method == .get ? reader.device(id) : registry.revokeDevice(id, now: now)
        case .locations(let id):
            return try await reader.locations(of: id, try LocationQuery(request.uri.query.map { $0[...] }))
        case .users: return try await method == .get ? registry.users() : registry.addUser(request, now: now)
        case .user(let name): return try await registry.removeUser(name)
        case .live: return Response(status: .noContent)
        case .ready: return try await reader.ready()
        }
    }
}
