internal import Envelope

/// The base of a beekon-server's addresses, as an operator types it: `https://fleet.example.org`.
package struct ServerAddress: Sendable, Equatable {
    /// Without a slash at its end.
    package let base: String

    /// Why an address cannot be used, and what to do.
    package struct Invalid: Error, Equatable { package let message: String }

    /// - Throws: for anything but https, or http on this host, and where there is user info, a query or a fragment.
    package init(_ text: String) throws(Invalid) {
        var base = text
        while base.hasSuffix("/") { base.removeLast() }
        guard let address = WebAddress(base), !base.contains("$"), !base.contains("'") else {
            throw Invalid(
                message: "this is no address of a server: give one such as https://fleet.example.org")
        }
        guard address.scheme == "https" || address.scheme == "http" && address.isLoopback else {
            throw Invalid(
                message: "the address must begin with https://; http is for a server on this machine alone")
        }
        guard !address.hasSecrets else {
            throw Invalid(message: "the address must have no user, password, ? or #: leave them out")
        }
        self.base = base
    }
}

/// All that a server decides of the configuration file of a vehicle that enrols. The file is written from these values alone,
/// each of them checked: nothing else that the server says gets into it.
package struct ServerForm: Sendable, Equatable {
    /// What a server may be allowed by enrolling.
    package enum Grant: String, Sendable, CaseIterable {
        case usual, all, none
    }

    /// Why what the server says cannot be written.
    package struct Invalid: Error, Equatable { package let message: String }

    /// The number that the server gave this vehicle.
    package let device: Int64
    package let accessToken: String
    /// Unix seconds.
    package let expires: Int64
    package let refreshToken: String
    package let heartbeat: Int
    /// In the order in which they are written; empty: none.
    package let commands: [String]
    package let settings: [String]
    /// PEM; nil where the server signs nothing.
    package let verifyKey: String?

    /// Commands that move nothing and end nothing.
    private static let usual = [
        "locate", "sync", "upload_log", "set_config", "unset_config", "add_geofences", "remove_geofences",
        "remove_all_geofences",
    ]
    /// Only where a person at the vehicle has said so.
    private static let further = ["start", "stop", "set_motion"]
    private static let tunable = ["tracking.interval_seconds", "sync.interval_seconds"]
    private static let usualHeartbeat = 3600
    private static let leastHeartbeat = 60
    private static let mostHeartbeat = 86_400

    /// - Parameters:
    ///   - allow: what the server asks for; nil: as much as `grant` gives.
    ///   - settings: those that it wants to change; nil: as many as may be.
    /// - Throws: for a token or a key that cannot be one.
    package init(
        device: Int64, accessToken: String, expires: Int64, refreshToken: String, heartbeat: Int?,
        allow: [String]?, settings: [String]?, verifyKey: String?, grant: Grant
    ) throws(Invalid) {
        for (name, token) in [("access_token", accessToken), ("refresh_token", refreshToken)] {
            guard Self.isToken(token) else { throw Invalid(message: "its \(name) is no token") }
        }
        guard device > 0, (0...253_402_300_799).contains(expires) else {
            throw Invalid(message: "its number or its end is out of range")
        }
        if let verifyKey {
            do throws(OpenFile.Refusal) { _ = try VerifyKeyFile.key(in: Array(verifyKey.utf8)) } catch {
                throw Invalid(message: "its verify_key " + error.message)
            }
        }
        self.device = device
        self.accessToken = accessToken
        self.expires = expires
        self.refreshToken = refreshToken
        self.heartbeat = min(
            max(heartbeat ?? Self.usualHeartbeat, Self.leastHeartbeat), Self.mostHeartbeat)
        let ceiling =
            switch grant {
            case .none: [String]()
            case .usual: Self.usual
            case .all: Self.usual + Self.further
            }
        let wanted = ceiling.filter { allow?.contains($0) ?? true }
        let changes = wanted.contains { ["set_config", "unset_config"].contains($0) }
        self.settings = changes ? Self.tunable.filter { settings?.contains($0) ?? true } : []
        // Without settings, both would be refused as commands that can change nothing.
        let isEmpty = self.settings.isEmpty
        commands = wanted.filter { !isEmpty || !["set_config", "unset_config"].contains($0) }
        // Without commands there is nothing to check with it.
        self.verifyKey = commands.isEmpty ? nil : verifyKey
    }

    /// RFC 6750: no quotation mark, no backslash, no blank.
    private static func isToken(_ text: String) -> Bool {
        (1...4096).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~+/=".utf8.contains($0)
                }
            }
    }

    /// Where batches go.
    package static func url(of address: ServerAddress) -> String { address.base + "/v1/batches" }

    /// The file.
    ///
    /// - Parameters:
    ///   - destination: its name; nil: the table `[sync]`.
    ///   - keyFile: where the key of the server is; nil: as if there were none.
    ///   - hasCommands: false where the person has a table of commands already.
    package func text(
        for address: ServerAddress, destination: String?, keyFile: String?, hasCommands: Bool
    ) -> String {
        let table = destination.map { "destination." + $0 } ?? "sync"
        let own = """
            # Device \(device) of \(address.base), written by beekonctl enroll. It holds tokens: keep it to yourself.
            [\(table)]
            url = "\(Self.url(of: address))"
            # This server names each batch in its answer: only that deletes it here.
            require_ack = true
            heartbeat_seconds = \(heartbeat)

            [\(table).auth]
            access_token = "\(accessToken)"
            expires_at = \(expires)
            refresh_token = "\(refreshToken)"
            refresh_url = "\(address.base)/v1/token"
            refresh_payload = { grant_type = "refresh_token", refresh_token = "{refreshToken}" }

            """
        guard hasCommands, !commands.isEmpty else { return own }
        let list = { (names: [String]) in "[" + names.map { "\"\($0)\"" }.joined(separator: ", ") + "]" }
        var lines = ["", "[\(table).commands]", "enabled = true", "allow = " + list(commands)]
        // A setting of a destination has its name there.
        let settings = settings.map { $0.hasPrefix("sync.") ? table + $0.dropFirst(4) : $0 }
        if !settings.isEmpty { lines.append("settings = " + list(settings)) }
        if verifyKey != nil, let keyFile { lines.append("verify_keys = " + list([keyFile])) }
        return own + lines.joined(separator: "\n") + "\n"
    }
}
