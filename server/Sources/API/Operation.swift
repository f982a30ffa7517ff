internal import Base
internal import Envelope
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// What the operator's verbs ask for.
struct Operation: Sendable {
    let store: Store
    let bodies: BodyReader
    let options: ServerOptions
    let clock: ClockKeeper

    /// `GET /v1/doctor`: facts about the database and the set-up, for `beekon-server doctor` to judge.
    func facts(now: Timestamp) async throws -> Response {
        let facts = try await store.read { session throws(StoreError) in try Upkeep.facts(from: session) }
        let counts = try await store.read { session throws(StoreError) in
            try ["devices WHERE removed IS NULL", "users", "passwords", "removals"].map {
                rows throws(StoreError) in
                try session.run("SELECT count(*) FROM \(rows)").first?.first?.integer ?? 0
            }
        }
        var text = Array(#"{"program":"#.utf8)
        JSONString.append(facts.program, to: &text)
        text += Array(
            (#","schema":\#(facts.schema),"size":\#(facts.size),"durable":\#(facts.isDurable),"#
                + #""devices":\#(counts[0]),"users":\#(counts[1]),"passwords":\#(counts[2]),"removals":\#(counts[3]),"#
                + #""signs":\#(options.signingKey != nil)"#).utf8)
        if options.map != nil { text += Array(#","map":true"#.utf8) }
        for (name, trouble) in [
            ("damage", facts.damage), ("loss", facts.loss), ("map_trouble", options.mapTrouble),
        ] {
            guard let trouble else { continue }
            text += Array(#","\#(name)":"#.utf8)
            JSONString.append(trouble, to: &text)
        }
        if let days = options.retentionDays { text += Array(#","retention_days":\#(days)"#.utf8) }
        text += Array(#","clock":\#(try await clock.text(now))}\#n"#.utf8)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    /// `POST /v1/backup` with `{"path":…}`: a copy of the database; answered when it is whole.
    func backup(_ request: Request) async throws -> Response {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        let path = try fields.text("path")
        guard path.hasPrefix("/") else { throw Problem(field: "path", "path is not absolute") }
        // Of a thread that reads: those that write go on.
        try await store.read { session throws(StoreError) in try Upkeep.copy(to: path, from: session) }
        return Response(status: .noContent)
    }
}
