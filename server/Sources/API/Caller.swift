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
}

/// Who may use an endpoint.
enum Audience {
    case anybody
    /// With an access token.
    case devices
    /// With a link.
    case guests
    /// Users, whether they see all vehicles or some.
    case readers
    case admins
    /// The local socket alone.
    case local

    func admits(_ caller: Caller) -> Bool {
        switch (self, caller) {
        case (.anybody, _), (.devices, .device), (.guests, .guest), (.readers, .user),
            (.admins, .user(.admin)),
            (.readers, .local), (.admins, .local), (.local, .local):
            true
        case (.devices, _), (.guests, _), (.readers, _), (.admins, _), (.local, _): false
        }
    }

    /// Whether it is of users, who may have a session.
    var isOfUsers: Bool {
        switch self {
        case .readers, .admins, .local: true
        case .anybody, .devices, .guests: false
        }
    }
}
