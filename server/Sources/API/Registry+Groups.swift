internal import Accounts
internal import Base
internal import Envelope
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// What people call vehicles by, groups of them, and who sees which.
extension Registry {
    /// `PATCH /v1/devices/17` with some of `{"name":…,"plate":…,"note":…,"group":…}`; an empty text takes away what it is about.
    func changeDevice(_ id: Int64, _ request: Request) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let details = Devices.Details(
            name: try fields.optionalText("name"), plate: try fields.optionalText("plate"),
            note: try fields.optionalText("note"), group: try fields.optionalText("group"))
        guard details != Devices.Details() else {
            throw Problem(.badRequest, "Nothing is to be changed: there are name, plate, note and group.")
        }
        if let name = details.name, let complaint = Devices.complaint(aboutName: name) {
            throw Problem(field: "name", complaint)
        }
        for (field, text, longest) in [
            ("plate", details.plate, Devices.longestPlate), ("note", details.note, Devices.longestNote),
        ] where text.map({ !Devices.canBe($0, longest: longest) }) ?? false {
            throw Problem(
                field: field, "a \(field) has at most \(longest) characters, and no control characters")
        }
        if let group = details.group, !group.isEmpty, !Devices.canBe(group) {
            throw Problem(field: "group", "a group's name has 1 to \(Devices.longestName) characters")
        }
        let isThere = try await store.write { session throws(StoreError) in
            try Devices.change(id, to: details, in: session)
        }
        guard isThere else { throw Problem.noDevice(id) }
        return Response(status: .noContent)
    }

    /// `DELETE /v1/devices/17/data`: nobody sees it any more, and its rows go bit by bit.
    func deleteDevice(_ id: Int64, now: Timestamp) async throws -> Response {
        let isThere = try await store.write { session throws(StoreError) in
            try Devices.delete(id, now: now, in: session)
        }
        gatekeeper.forget(id)
        guard isThere else { throw Problem.noDevice(id) }
        removals.wake()
        return Response(status: .noContent)
    }

    // MARK: Groups

    /// `GET /v1/groups`
    func groups() async throws -> Response {
        let groups = try await store.read { session throws(StoreError) in try Groups.all(in: session) }
        var text = Array(#"{"groups":["#.utf8)
        for (index, group) in groups.enumerated() {
            text += (index > 0 ? ",\n" : "\n").utf8
            Self.append(group, to: &text)
        }
        text += "]}\n".utf8
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    /// `POST /v1/groups` with `{"name":…}`
    func addGroup(_ request: Request, now: Timestamp) async throws -> Response {
        let name = try await name(in: request)
        let group = try await store.write { session throws(StoreError) in
            try Groups.add(name.value, now: now, in: session)
        }
        var text: [UInt8] = []
        Self.append(group, to: &text)
        return Self.created(text + [0x0A], at: nil)
    }

    private static func append(_ group: GroupEntry, to text: inout [UInt8]) {
        text += #"{"name":"#.utf8
        JSONString.append(group.name, to: &text)
        text +=
            #","created":"\#(group.created.iso8601)","devices":\#(group.devices),"readers":\#(group.readers)}"#
            .utf8
    }

    /// `DELETE /v1/groups/NAME`
    func removeGroup(_ name: String) async throws -> Response {
        guard Devices.canBe(name) else { throw Problem.notFound("There is no group of that name.") }
        let isThere = try await store.write { session throws(StoreError) in
            try Groups.remove(name, in: session)
        }
        guard isThere else { throw Problem.notFound("There is no group of that name.") }
        return Response(status: .noContent)
    }

    /// `PUT /v1/users/NAME/groups` with `{"groups":[…]}`, or `{"groups":"all"}`: which vehicles a reader sees from now on.
    func setGroups(of name: String, _ request: Request) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let groups = try Self.groups(in: Fields(body, request.headers))
        guard Devices.canBe(name) else { throw Problem.notFound("There is no user of that name.") }
        let isThere = try await store.write { session throws(StoreError) in
            try Users.setGroups(groups, of: name, in: session)
        }
        guard isThere else { throw Problem.notFound("There is no user of that name.") }
        return Response(status: .noContent)
    }

    /// - Returns: nil: all vehicles.
    static func groups(in fields: Fields) throws(Problem) -> [String]? {
        let groups = try fields.texts("groups", most: Users.mostGroups)
        guard groups?.allSatisfy({ Devices.canBe($0) }) ?? true else {
            throw Problem(field: "groups", "a group's name has 1 to \(Devices.longestName) characters")
        }
        return groups
    }

    /// Names of the groups of a user who sees no others.
    static func append(groupsOf user: UserEntry, to text: inout [UInt8]) {
        guard user.role == .limitedReader else { return }
        text += #","groups":["#.utf8
        for (index, group) in user.groups.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            JSONString.append(group, to: &text)
        }
        text.append(UInt8(ascii: "]"))
    }
}
