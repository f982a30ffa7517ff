internal import Accounts

/// Who asks.
enum Caller: Equatable {
    /// Without a token.
    case nobody
    /// With the access token of a device.
    case device(Int64)
    /// With the token of a user.
    case user(UserEntry.Role)
    /// Through the local socket, which only root and the server's own account can open.
    case local

    /// Whether it may. One table, so that it can be read, and tested cell by cell.
    func may(_ method: Route.Method, _ route: Route) -> Bool {
        switch (route, method) {
        case (.live, _), (.ready, _): true
        // Who shows a refresh token needs nothing else.
        case (.token, _): true
        case (.batches, _): isDevice
        case (.devices, .get), (.device, .get), (.locations, .get): isReader
        case (.devices, _), (.device, _), (.locations, _), (.users, _), (.user, _): isAdmin
        }
    }

    private var isDevice: Bool {
        switch self {
        case .device: true
        case .nobody, .user, .local: false
        }
    }

    private var isReader: Bool {
        switch self {
        case .user, .local: true
        case .nobody, .device: false
        }
    }

    private var isAdmin: Bool {
        switch self {
        case .user(let role): role == .admin
        case .local: true
        case .nobody, .device: false
        }
    }
}
