/// What a path names.
enum Route: Equatable {
    /// `/v1/batches`: where devices upload to.
    case batches
    /// `/v1/token`: where they exchange tokens.
    case token
    /// `/v1/devices`
    case devices
    /// `/v1/devices/17`
    case device(Int64)
    /// `/v1/devices/17/locations`
    case locations(Int64)
    /// `/v1/users`
    case users
    /// `/v1/users/NAME`
    case user(String)
    /// `/health/live`: the process answers.
    case live
    /// `/health/ready`: so does its database.
    case ready

    enum Method: String, CaseIterable {
        case get = "GET"
        case post = "POST"
        case delete = "DELETE"
    }

    /// - Parameter path: without the query, its escapes resolved.
    init?(path: String) {
        guard path.utf8.count <= 512 else { return nil }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (parts.count, parts.first) {
        case (2, "health") where parts.last == "live": self = .live
        case (2, "health") where parts.last == "ready": self = .ready
        case (2, "v1") where parts.last == "batches": self = .batches
        case (2, "v1") where parts.last == "token": self = .token
        case (2, "v1") where parts.last == "devices": self = .devices
        case (2, "v1") where parts.last == "users": self = .users
        case (3, "v1"):
            let names = Array(parts)
            if names[1] == "devices", let id = Self.id(names[2]) {
                self = .device(id)
            } else if names[1] == "users", !names[2].isEmpty {
                self = .user(String(names[2]))
            } else {
                return nil
            }
        case (4, "v1"):
            let names = Array(parts)
            guard names[1] == "devices", let id = Self.id(names[2]), names[3] == "locations" else {
                return nil
            }
            self = .locations(id)
        default: return nil
        }
    }

    /// A number without sign or leading zeros, so that each device has one path.
    private static func id(_ text: Substring) -> Int64? {
        guard let id = Int64(text), id > 0, String(id) == text else { return nil }
        return id
    }

    var methods: [Method] {
        switch self {
        case .batches, .token: [.post]
        case .devices, .users: [.get, .post]
        case .device: [.get, .delete]
        case .user: [.delete]
        case .locations, .live, .ready: [.get]
        }
    }
}
