package import Accounts
package import Base
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// Claim codes, and the devices that enrol with them.
struct Enrolment: Sendable {
    let store: Store
    let bodies: BodyReader
    let gatekeeper: Gatekeeper
    let lifetime: Double
    /// PEM, of the key that signs commands; nil: none are signed.
    let publicKey: String?

    /// `POST /v1/claims` with `{"uses":50,"days":7,"allow":["locate"]}`: 201 with the code, which is shown only once.
    func add(_ request: Request, now: Timestamp) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let uses = try fields.number("uses", in: 1...1_000_000) ?? 1
        let days = try fields.number("days", in: 1...366) ?? 7
        let rights = try Self.rights(in: fields)
        let (entry, code) = try await store.write { session throws(StoreError) in
            try Claims.add(uses: uses, lifetime: Double(days) * 86_400, rights: rights, now: now, in: session)
        }
        let text =
            #"{"id":\#(entry.id),"code":"\#(code)","uses":\#(entry.uses),"expires":"\#(entry.expires.iso8601)""#
            + DeviceText.members(of: rights) + "}"
        return Registry.created(Array((text + "\n").utf8), at: nil)
    }

    /// What a code asks of the vehicles that enrol with it. The word `all` asks for whatever there is.
    private static func rights(in fields: Fields) throws(Problem) -> CommandRights {
        let commands = CommandOrder.names.map(\.description)
        return CommandRights(
            allow: try names("allow", of: commands, in: fields),
            settings: try names("settings", of: CommandRights.tunable, in: fields))
    }

    /// - Returns: nil when there is nothing of that name.
    private static func names(_ field: String, of known: [String], in fields: Fields) throws(Problem)
        -> [String]?
    {
        guard fields.has(field) else { return nil }
        guard let wanted = try fields.texts(field, most: known.count) else { return known }
        if let other = wanted.first(where: { !known.contains($0) }) {
            throw Problem(
                field: field, "\(other.prefix(40)) is none of \(known.joined(separator: ", "))")
        }
        return known.filter { wanted.contains($0) }
    }

    /// `GET /v1/claims`
    func all() async throws -> Response {
        let claims = try await store.read { session throws(StoreError) in try Claims.all(in: session) }
        let objects = claims.map { claim in
            #"{"id":\#(claim.id),"created":"\#(claim.created.iso8601)","expires":"\#(claim.expires.iso8601)","#
                + #""uses":\#(claim.uses)"# + DeviceText.members(of: claim.rights) + "}"
        }
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(
                byteBuffer: ByteBuffer(string: #"{"claims":["# + objects.joined(separator: ",\n") + "]}\n")))
    }

    /// `DELETE /v1/claims/3`: the code buys nothing any more; devices that enrolled with it stay.
    func remove(_ id: Int64) async throws -> Response {
        let isThere = try await store.write { session throws(StoreError) in
            try Claims.remove(id, in: session)
        }
        guard isThere else { throw Problem.notFound("There is no claim code \(id).") }
        return Response(status: .noContent)
    }

    /// `POST /v1/enroll` with `{"code":…,"name":…,"nonce":…}`: 201 with the device and its tokens, as JSON, or, for who accepts
    /// `application/toml`, as the lines for its beekond.toml.
    func enroll(_ request: Request, now: Timestamp) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let (name, code) = (try fields.text("name"), try fields.text("code"))
        if let complaint = Devices.complaint(aboutName: name) { throw Problem(field: "name", complaint) }
        let nonce = try Self.nonce(of: fields)
        let lifetime = lifetime
        let made = try await store.write { session throws(StoreError) in
            try Claims.enroll(name, code: code, nonce: nonce, lifetime: lifetime, now: now, in: session)
        }
        guard let (device, pair, rights) = made else {
            throw Problem(.forbidden, "The code does not exist, has expired, or is used up.")
        }
        gatekeeper.forget(device.id)
        return Self.answer(device, pair, to: request, at: nil, rights: rights, key: publicKey)
    }

    /// - Returns: nil when none was sent.
    private static func nonce(of fields: Fields) throws(Problem) -> EnrolmentNonce? {
        guard fields.has("nonce") else { return nil }
        guard let nonce = EnrolmentNonce(try fields.text("nonce")) else {
            throw Problem(field: "nonce", "a nonce is 32 hexadecimal digits, 128 random bits")
        }
        return nonce
    }

    /// 201 with a device's tokens: as JSON or, for who accepts `application/toml`, as the lines for its beekond.toml.
    ///
    /// - Parameters:
    ///   - rights: what the server asks to be allowed.
    ///   - key: PEM, what the vehicle may check commands with; nil: nothing is said of it.
    static func answer(
        _ device: DeviceEntry, _ pair: TokenPair, to request: Request, at path: String?,
        rights: CommandRights = CommandRights(), key: String? = nil
    ) -> Response {
        guard request.headers[.accept]?.hasPrefix("application/toml") ?? false else {
            return Registry.created(DeviceText.new(device, pair, rights: rights, key: key), at: path)
        }
        let text = VehicleConfiguration.text(
            device: device.id, access: pair.access.text, expires: pair.expires, refresh: pair.refresh.text,
            base: base(of: request), rights: rights)
        var response = Response(
            status: .created, headers: [.contentType: "application/toml", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text + "\n")))
        if let path { response.headers[.location] = path }
        return response
    }

    /// The server as this client reaches it. What it says of that is used for its own configuration alone.
    private static func base(of request: Request) -> String {
        let forwarded = HTTPField.Name("X-Forwarded-Proto").flatMap { request.headers[$0] }
        let scheme = forwarded?.lowercased() == "https" ? "https" : "http"
        let host = (request.head.authority ?? "127.0.0.1").filter {
            $0.isLetter || $0.isNumber || ".:-[]".contains($0)
        }
        return "\(scheme)://\(host)"
    }
}

/// What a vehicle's configuration says about this server.
package enum VehicleConfiguration {
    /// Seconds.
    static let heartbeat = 3600

    /// Commands that move nothing and end nothing: what a vehicle's lines allow without a person there who allows more.
    private static let usual = [
        "locate", "sync", "upload_log", "set_config", "unset_config", "add_geofences", "remove_geofences",
        "remove_all_geofences",
    ]

    /// Lines for beekond.toml.
    ///
    /// - Parameters:
    ///   - base: the server as the vehicle reaches it, such as `https://fleet.example.org`.
    ///   - rights: what the server asks to be allowed; of that, the lines allow the usual.
    package static func text(
        device: Int64, access: String, expires: Timestamp?, refresh: String, base: String,
        rights: CommandRights = CommandRights()
    ) -> String {
        let settings = rights.settings ?? CommandRights.tunable
        // Without settings, beekond would refuse both as commands that can change nothing.
        let allow = Self.usual.filter { name in
            (rights.allow?.contains(name) ?? true)
                && !(settings.isEmpty && ["set_config", "unset_config"].contains(name))
        }
        let own = """
            # Device \(device) of beekon-server. Put this into /etc/beekond/beekond.toml, and keep it to yourself.
            [sync]
            url = "\(base)/v1/batches"
            # This server names each batch in its answer: only that deletes it here.
            require_ack = true
            # It then says once an hour how it is, and asks for commands, also while the vehicle is parked.
            heartbeat_seconds = \(heartbeat)

            [sync.auth]
            access_token = "\(access)"
            expires_at = \((expires?.milliseconds ?? 0) / 1000)
            refresh_token = "\(refresh)"
            refresh_url = "\(base)/v1/token"
            refresh_payload = { grant_type = "refresh_token", refresh_token = "{refreshToken}" }

            # What the server may ask of this vehicle; without a table [sync.commands] it may ask nothing.
            """
        guard !allow.isEmpty else { return own }
        let list = { (names: [String]) in "[" + names.map { "\"\($0)\"" }.joined(separator: ", ") + "]" }
        var lines = ["", "[sync.commands]", "enabled = true", "allow = " + list(allow)]
        if allow.contains("set_config") || allow.contains("unset_config") {
            lines.append("settings = " + list(settings))
        }
        return own + lines.joined(separator: "\n")
    }
}
