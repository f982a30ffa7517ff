internal import Accounts
internal import Base
internal import Envelope
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// What an admin changes: who may upload, and who may read.
struct Registry: Sendable {
    let store: Store
    let bodies: BodyReader
    let gatekeeper: Gatekeeper
    let lifetime: Double
    let removals: Removals

    /// `POST /v1/devices` with `{"name":…}`: 201 with the device and its tokens, which are shown only once; as lines for its
    /// beekond.toml, where `application/toml` is accepted.
    func addDevice(_ request: Request, now: Timestamp) async throws -> Response {
        let name = try await name(in: request)
        let lifetime = lifetime
        let (device, pair) = try await store.write { session throws(StoreError) in
            try Devices.add(name.value, lifetime: lifetime, now: now, in: session)
        }
        return Enrolment.answer(device, pair, to: request, at: "/v1/devices/\(device.id)")
    }

    /// `POST /v1/devices/17/tokens`: 201 with a new pair, shown only once; the tokens that the device had end at once.
    func renewTokens(of id: Int64, _ request: Request, now: Timestamp) async throws -> Response {
        let lifetime = lifetime
        let made = try await store.write { session throws(StoreError) in
            try Devices.renew(id, lifetime: lifetime, now: now, in: session)
        }
        gatekeeper.forget(id)
        guard let (device, pair) = made else {
            throw Problem.notFound("There is no device \(id), or it is revoked.")
        }
        return Enrolment.answer(device, pair, to: request, at: nil)
    }

    /// `GET /v1/devices/17/installations`
    func installations(of id: Int64, for viewer: Viewer) async throws -> Response {
        let entries = try await store.read { session throws(StoreError) -> [Installations.Entry]? in
            guard try viewer.sees(id, in: session) else { return nil }
            return try Installations.all(of: id, for: viewer, in: session)
        }
        guard let entries else { throw Problem.noDevice(id) }
        let objects = entries.map { entry in
            #"{"install_id":"\#(entry.id)","state":"\#(entry.state.name)","since":"\#(entry.since.iso8601)"}"#
        }
        let text = #"{"installations":["# + objects.joined(separator: ",\n") + "]}\n"
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    /// `POST /v1/devices/17/installations` with `{"install_id":…}`: from now on the device is this one of them.
    func confirmInstallation(of device: Int64, _ request: Request) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        guard let id = UUIDv7(try Fields(body, request.headers).text("install_id")) else {
            throw Problem(field: "install_id", "install_id is not a UUID of version 7")
        }
        let isKnown = try await store.write { session throws(StoreError) in
            try Installations.confirm(id, of: device, in: session)
        }
        guard isKnown else { throw Problem.notFound("Device \(device) has no such installation.") }
        return Response(status: .noContent)
    }

    /// `DELETE /v1/devices/17`: its tokens end at once; its locations stay.
    func revokeDevice(_ id: Int64, now: Timestamp) async throws -> Response {
        let isThere = try await store.write { session throws(StoreError) in
            try Devices.revoke(id, now: now, in: session)
        }
        gatekeeper.forget(id)
        guard isThere else { throw Problem.noDevice(id) }
        return Response(status: .noContent)
    }

    /// `POST /v1/users` with `{"name":…,"role":"reader"|"admin"}`: 201 with the token, which is shown only once.
    func addUser(_ request: Request, now: Timestamp) async throws -> Response {
        let name = try await name(in: request)
        let word = try name.fields.text("role")
        guard let role = UserEntry.Role.allCases.first(where: { $0.name == word }) else {
            throw Problem(field: "role", "role must be reader or admin")
        }
        let groups = name.fields.has("groups") ? try Self.groups(in: name.fields) : nil
        guard role == .reader || groups == nil else {
            throw Problem(.conflict, "An admin sees all vehicles: groups are for readers.")
        }
        let (user, secret) = try await store.write { session throws(StoreError) in
            try Users.add(name.value, role, groups: groups, now: now, in: session)
        }
        var text = Array(#"{"name":"#.utf8)
        JSONString.append(user.name, to: &text)
        text += Array((#","role":"\#(user.role.name)","token":"\#(secret.text)""#).utf8)
        Self.append(groupsOf: user, to: &text)
        text += "}\n".utf8
        return Self.created(text, at: nil)
    }

    /// `GET /v1/users`
    func users() async throws -> Response {
        let users = try await store.read { session throws(StoreError) in try Users.all(in: session) }
        var text = Array(#"{"users":["#.utf8)
        for (index, user) in users.enumerated() {
            text += Array((index > 0 ? ",\n" : "\n").utf8)
            text += Array(#"{"name":"#.utf8)
            JSONString.append(user.name, to: &text)
            text += Array(#","role":"\#(user.role.name)","created":"\#(user.created.iso8601)""#.utf8)
            Self.append(groupsOf: user, to: &text)
            text.append(UInt8(ascii: "}"))
        }
        text += Array("]}\n".utf8)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    /// `DELETE /v1/users/NAME`
    func removeUser(_ name: String) async throws -> Response {
        guard Devices.canBe(name) else { throw Problem.notFound("There is no user of that name.") }
        let isThere = try await store.write { session throws(StoreError) in
            try Users.remove(name, in: session)
        }
        guard isThere else { throw Problem.notFound("There is no user of that name.") }
        return Response(status: .noContent)
    }

    func name(in request: Request) async throws -> (value: String, fields: Fields) {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let name = try fields.text("name")
        if let complaint = Devices.complaint(aboutName: name) { throw Problem(field: "name", complaint) }
        return (name, fields)
    }

    static func created(_ text: [UInt8], at path: String?) -> Response {
        var response = Response(
            status: .created, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
        if let path { response.headers[.location] = path }
        return response
    }
}
