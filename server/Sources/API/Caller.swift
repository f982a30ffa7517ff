internal import Accounts
internal import ServerStore

/// Who asks, and how that is known.
struct Identity: Equatable {
    var caller: Caller
    /// Name of the user; empty for anybody else.
    var name = ""
    /// What a browser showed; nil when it was a token.
    var session: Secret?
    /// Hash of a device's token that has not been shown before; nil for any other.
    var newToken: [UInt8]?
    /// Hash of a device's token.
    var token: [UInt8]?
    /// The first of the `Revocations` that this token was not judged by; nil for anybody else's.
    var nextRevocation: Int64?
    /// The link that was shown; nil for anybody else.
    var link: LinkEntry?
    /// Which vehicles it sees.
    var viewer = Viewer.nobody

    /// A person, or a program of theirs.
    var isOfUser: Bool {
        if case .user = caller { true } else { false }
    }
}

/// Who asks.
enum Caller: Equatable {
    /// Without a token.
    case nobody
    /// With the access token of a device.
    case device(Int64)
    /// With a link that shows one vehicle.
    case guest
    /// With the token of a user.
    case user(UserEntry.Role)
    /// Through the local socket, which only root and the server's own account can open.
    case local

    /// Whether it may. One table, so that it can be read, and tested cell by cell.
    func may(_ method: Route.Method, _ route: Route) -> Bool {
        switch (route, method) {
        case (.live, _), (.ready, _), (.description, _): true
        // Who shows a refresh token, a claim code or a password needs nothing else.
        case (.token, _), (.enroll, _), (.login, _): true
        case (.batches, _), (.logs, _): isDevice
        case (.shared, _): self == .guest
        case (.devices, .get), (.device, .get), (.locations, _), (.events, _), (.trips, _), (.fleetTrips, _),
            (.fleetEvents, _), (.alerts, _), (.commands, .get),
            (.stream, _), (.session, _), (.clock, .get), (.installations, .get), (.logout, _), (.key, _),
            (.metrics, _), (.tile, _), (.ownPassword, _), (.fences, .get), (.fence, .get), (.fenceDevices, _),
            (.deviceFences, _):
            isReader
        case (.devices, _), (.device, _), (.users, _), (.user, _), (.password, _), (.claims, _), (.claim, _),
            (.commands, _), (.command, _), (.tokens, _), (.log, _), (.doctor, _), (.clock, _),
            (.installations, _), (.groups, _), (.group, _), (.userGroups, _), (.links, _), (.link, _),
            (.data, _), (.rules, _), (.rule, _), (.ruleTest, _), (.fences, _), (.fence, _):
            isAdmin
        // It writes a file where it is told to.
        case (.backup, _): self == .local
        }
    }

    /// Whether a page of another site could do harm with the cookie of somebody who is logged in.
    static func needsCompanion(_ method: Route.Method, _ route: Route) -> Bool {
        switch route {
        case .token, .enroll, .login, .batches, .logs, .shared: false
        default: method != .get
        }
    }

    private var isDevice: Bool {
        switch self {
        case .device: true
        case .nobody, .guest, .user, .local: false
        }
    }

    private var isReader: Bool {
        switch self {
        case .user, .local: true
        case .nobody, .device, .guest: false
        }
    }

    private var isAdmin: Bool {
        switch self {
        case .user(let role): role == .admin
        case .local: true
        case .nobody, .device, .guest: false
        }
    }
}
