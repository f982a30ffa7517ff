internal import Accounts
internal import Base
internal import Hummingbird
internal import ServerStore

/// Who does the work of the endpoints.
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
    let rules: Rules
    let fences: FleetFences
    let metrics: Metrics
    let clock: ClockKeeper
}

/// One request, whose right has been checked.
struct Call {
    let request: Request
    let identity: Identity
    /// The time by this machine's clock; `wall` is the lesser of it and the database's.
    let now: Timestamp
    let wall: Timestamp
    /// Throws when the right has ended meanwhile.
    let confirm: Right.Confirm

    /// As it stands behind the `?`; nil when there is none.
    var query: Substring? { request.uri.query.map { $0[...] } }

    /// Which vehicles who asks may see.
    var viewer: Viewer { identity.viewer }

    /// The device that asks.
    var device: Int64 {
        get throws(Problem) {
            guard case .device(let device) = identity.caller else { throw Problem.notFound() }
            return device
        }
    }

    /// The link with which is asked.
    var link: LinkEntry {
        get throws(Problem) {
            guard let link = identity.link else { throw Problem.notFound() }
            return link
        }
    }
}
