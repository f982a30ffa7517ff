/// What a path names.
enum Route: Equatable {
    /// `/v1/batches`: where devices upload to.
    case batches
    /// `/v1/logs`: where they send their log, when they are asked for it.
    case logs
    /// `/v1/token`: where they exchange tokens.
    case token
    /// `/v1/enroll`: where they become devices, with a claim code.
    case enroll
    /// `/v1/claims`
    case claims
    /// `/v1/claims/3`
    case claim(Int64)
    /// `/v1/devices`
    case devices
    /// `/v1/devices/17`
    case device(Int64)
    /// `/v1/devices/17/locations`
    case locations(Int64)
    /// `/v1/devices/17/events`
    case events(Int64)
    /// `/v1/devices/17/trips`
    case trips(Int64)
    /// `/v1/trips`: of all vehicles.
    case fleetTrips
    /// `/v1/events`: of all vehicles.
    case fleetEvents
    /// `/v1/alerts`: what happened that rules wait for.
    case alerts
    /// `/v1/rules`
    case rules
    /// `/v1/rules/3`
    case rule(Int64)
    /// `/v1/rules/3/test`: sends what would tell of an alert.
    case ruleTest(Int64)
    /// `/v1/devices/17/log`
    case log(Int64)
    /// `/v1/devices/17/tokens`: new ones in place of those it has.
    case tokens(Int64)
    /// `/v1/devices/17/installations`: which installation of beekond it is, and who else shows its tokens.
    case installations(Int64)
    /// `/v1/devices/17/data`: the vehicle with all that it has sent.
    case data(Int64)
    /// `/v1/devices/17/links`
    case links(Int64)
    /// `/v1/devices/17/links/3`, by device and number
    case link(Int64, Int64)
    /// `/v1/devices/17/commands`
    case commands(Int64)
    /// `/v1/devices/17/commands/c-5`, by device and number
    case command(Int64, Int64)
    /// `/v1/live`: changes as they come.
    case stream
    /// `/v1/map/12/2200/1343`: a picture of the map, by zoom, column and row.
    case tile(zoom: Int, column: Int, row: Int)
    /// `/v1/login`
    case login
    /// `/v1/logout`
    case logout
    /// `/v1/session`: who asks.
    case session
    /// `/v1/users`
    case users
    /// `/v1/users/NAME`
    case user(String)
    /// `/v1/users/NAME/password`
    case password(String)
    /// The password of who asks.
    case ownPassword
    /// `/v1/users/NAME/groups`: which vehicles a reader sees.
    case userGroups(String)
    /// `/v1/groups`
    case groups
    /// `/v1/groups/NAME`
    case group(String)
    /// `/v1/fences`: of the fleet.
    case fences
    /// `/v1/fences/7`
    case fence(Int64)
    /// `/v1/fences/7/devices`: which vehicles have it.
    case fenceDevices(Int64)
    /// `/v1/devices/17/fences`: which it has.
    case deviceFences(Int64)
    /// `/v1/shared`: where the vehicle of a link is.
    case shared
    /// `/v1/key`: the public part of the key that signs commands.
    case key
    /// `/v1/openapi.json`: the description of all this.
    case description
    /// `/v1/clock`: whether the clock is right.
    case clock
    /// `/v1/doctor`: what may be wrong.
    case doctor
    /// `/v1/backup`: a copy of the database beside it.
    case backup
    /// `/metrics`
    case metrics
    /// `/health/live`: the process answers.
    case live
    /// `/health/ready`: so does its database.
    case ready

    enum Method: String, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// - Parameter path: without the query, as it was sent: it is split before escapes are resolved, so that a name may have any
    ///   character.
    init?(path: String) {
        guard path.utf8.count <= Self.longest, path.hasPrefix("/") else { return nil }
        var parts: [Substring] = []
        for part in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            // Nearly all of them stand for themselves; in a path, so does a plus.
            guard part.utf8.contains(UInt8(ascii: "%")) else {
                parts.append(part)
                continue
            }
            guard let decoded = Fields.decoded(part.replacing("+", with: "%2B")[...]) else { return nil }
            parts.append(decoded[...])
        }
        let route: Route? =
            switch parts.first {
            case "metrics": parts.count == 1 ? .metrics : nil
            case "health": parts.count == 2 ? Self.health[String(parts[1])] : nil
            case "v1": Self.named(Array(parts.dropFirst()))
            default: nil
            }
        guard let route else { return nil }
        self = route
    }

    /// Bytes: a name of a hundred characters, each of them four bytes and escaped, and the rest.
    private static let longest = 1280

    private static let health: [String: Route] = ["live": .live, "ready": .ready]

    private static let plain: [String: Route] = [
        "batches": .batches, "logs": .logs, "token": .token, "enroll": .enroll, "claims": .claims,
        "devices": .devices,
        "live": .stream, "login": .login, "logout": .logout, "session": .session, "users": .users,
        "key": .key, "openapi.json": .description, "doctor": .doctor, "clock": .clock, "backup": .backup,
        "groups": .groups, "shared": .shared, "trips": .fleetTrips, "events": .fleetEvents,
        "alerts": .alerts, "rules": .rules, "fences": .fences,
    ]

    private static func named(_ names: [Substring]) -> Route? {
        switch (names.count, names.first) {
        case (1, let name?): plain[String(name)]
        case (2, "session"): names[1] == "password" ? .ownPassword : nil
        case (2, "claims"): id(names[1]).map { .claim($0) }
        case (2, "rules"): id(names[1]).map { .rule($0) }
        case (3, "rules"): names[2] == "test" ? id(names[1]).map { .ruleTest($0) } : nil
        case (2, "devices"): id(names[1]).map { .device($0) }
        case (2, "users"): names[1].isEmpty ? nil : .user(String(names[1]))
        case (2, "fences"): id(names[1]).map { .fence($0) }
        case (3, "fences"): names[2] == "devices" ? id(names[1]).map { .fenceDevices($0) } : nil
        case (2, "groups"): names[1].isEmpty ? nil : .group(String(names[1]))
        case (3, "users"): names[1].isEmpty ? nil : part(names[2], of: String(names[1]))
        case (3, "devices"): id(names[1]).flatMap { part(names[2], of: $0) }
        case (4, "map"): tile(names.dropFirst().map { Int($0) })
        case (4, "devices"): id(names[1]).flatMap { part(names[2], names[3], of: $0) }
        default: nil
        }
    }

    private static func part(_ name: Substring, of device: Int64) -> Route? {
        switch name {
        case "locations": .locations(device)
        case "events": .events(device)
        case "trips": .trips(device)
        case "log": .log(device)
        case "commands": .commands(device)
        case "tokens": .tokens(device)
        case "installations": .installations(device)
        case "data": .data(device)
        case "links": .links(device)
        case "fences": .deviceFences(device)
        default: nil
        }
    }

    private static func tile(_ numbers: [Int?]) -> Route? {
        guard let zoom = numbers[0], let column = numbers[1], let row = numbers[2] else { return nil }
        return .tile(zoom: zoom, column: column, row: row)
    }

    private static func part(_ name: Substring, of user: String) -> Route? {
        switch name {
        case "password": .password(user)
        case "groups": .userGroups(user)
        default: nil
        }
    }

    private static func part(_ name: Substring, _ element: Substring, of device: Int64) -> Route? {
        switch name {
        case "commands": element.hasPrefix("c-") ? id(element.dropFirst(2)).map { .command(device, $0) } : nil
        case "links": id(element).map { .link(device, $0) }
        default: nil
        }
    }

    /// A number without sign or leading zeros, so that each device has one path.
    private static func id(_ text: Substring) -> Int64? {
        guard let id = Int64(text), id > 0, String(id) == text else { return nil }
        return id
    }

    var methods: [Method] {
        switch self {
        case .batches, .logs, .token, .enroll, .login, .logout, .tokens, .backup, .ruleTest: [.post]
        case .devices, .users, .claims, .commands, .installations, .clock, .groups, .links, .rules, .fences:
            [.get, .post]
        case .fence: [.get, .put, .delete]
        case .device: [.get, .patch, .delete]
        case .rule: [.put, .delete]
        case .user, .claim, .command, .group, .link, .data: [.delete]
        case .password, .ownPassword, .userGroups: [.put]
        case .shared, .locations, .events, .trips, .fleetTrips, .fleetEvents, .alerts, .fenceDevices,
            .deviceFences, .log, .stream, .session, .key, .description, .doctor,
            .metrics, .tile, .live, .ready:
            [.get]
        }
    }

    /// The path with names in place of numbers, as the description has it; for metrics, too, so that there are few of them.
    var template: String {
        switch self {
        case .batches: "/v1/batches"
        case .logs: "/v1/logs"
        case .token: "/v1/token"
        case .enroll: "/v1/enroll"
        case .claims: "/v1/claims"
        case .claim: "/v1/claims/{claim}"
        case .devices: "/v1/devices"
        case .device: "/v1/devices/{device}"
        case .locations: "/v1/devices/{device}/locations"
        case .events: "/v1/devices/{device}/events"
        case .trips: "/v1/devices/{device}/trips"
        case .fleetTrips: "/v1/trips"
        case .fleetEvents: "/v1/events"
        case .alerts: "/v1/alerts"
        case .rules: "/v1/rules"
        case .rule: "/v1/rules/{rule}"
        case .ruleTest: "/v1/rules/{rule}/test"
        case .log: "/v1/devices/{device}/log"
        case .tokens: "/v1/devices/{device}/tokens"
        case .installations: "/v1/devices/{device}/installations"
        case .commands: "/v1/devices/{device}/commands"
        case .command: "/v1/devices/{device}/commands/{command}"
        case .data: "/v1/devices/{device}/data"
        case .links: "/v1/devices/{device}/links"
        case .link: "/v1/devices/{device}/links/{link}"
        case .groups: "/v1/groups"
        case .group: "/v1/groups/{name}"
        case .userGroups: "/v1/users/{name}/groups"
        case .fences: "/v1/fences"
        case .fence: "/v1/fences/{fence}"
        case .fenceDevices: "/v1/fences/{fence}/devices"
        case .deviceFences: "/v1/devices/{device}/fences"
        case .shared: "/v1/shared"
        case .stream: "/v1/live"
        case .tile: "/v1/map/{zoom}/{column}/{row}"
        case .login: "/v1/login"
        case .logout: "/v1/logout"
        case .session: "/v1/session"
        case .ownPassword: "/v1/session/password"
        case .users: "/v1/users"
        case .user: "/v1/users/{name}"
        case .password: "/v1/users/{name}/password"
        case .key: "/v1/key"
        case .description: "/v1/openapi.json"
        case .clock: "/v1/clock"
        case .doctor: "/v1/doctor"
        case .backup: "/v1/backup"
        case .metrics: "/metrics"
        case .live: "/health/live"
        case .ready: "/health/ready"
        }
    }
}
