internal import Accounts
internal import Base
internal import Envelope
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// Links with which somebody without an account sees where one vehicle is, for some hours and from then on only.
struct Sharing: Sendable {
    let store: Store
    let bodies: BodyReader

    /// `POST /v1/devices/17/links` with `{"hours":…}`: 201 with the link, which is shown this once. The secret stands behind the
    /// `#`: no server and no proxy on the way sees it when the page is asked for.
    func add(to device: Int64, _ request: Request, by author: String, now: Timestamp) async throws -> Response
    {
        let (body, _) = try await bodies.read(request, limit: Fields.limit)
        let fields = try Fields(body, request.headers)
        guard let hours = try fields.number("hours", in: 1...Links.longestHours) else {
            throw Problem(field: "hours", "hours is missing, 1 to \(Links.longestHours)")
        }
        let made = try await store.write { session throws(StoreError) in
            try Links.add(to: device, hours: hours, by: author, now: now, in: session)
        }
        guard let (link, secret) = made else {
            throw Problem.notFound("There is no device \(device), or it is revoked.")
        }
        var text = Self.object(link)
        text.removeLast()
        text += (#","path":"/shared#\#(secret.text)"}"# + "\n").utf8
        return Registry.created(text, at: "/v1/devices/\(device)/links/\(link.id)")
    }

    /// `GET /v1/devices/17/links`: those that are good, without their secrets, which are not kept.
    func links(of device: Int64, for viewer: Viewer, now: Timestamp) async throws -> Response {
        let links = try await store.read { session throws(StoreError) -> [LinkEntry]? in
            guard try viewer.sees(device, in: session) else { return nil }
            return try Links.all(of: device, for: viewer, now: now, in: session)
        }
        guard let links else { throw Problem.noDevice(device) }
        let text =
            Array(#"{"links":["#.utf8) + links.map { Self.object($0) }.joined(separator: [0x2C, 0x0A])
            + Array("]}\n".utf8)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }

    private static func object(_ link: LinkEntry) -> [UInt8] {
        var text = Array(
            #"{"id":\#(link.id),"created":"\#(link.created.iso8601)","expires":"\#(link.expires.iso8601)","author":"#
                .utf8)
        JSONString.append(link.author, to: &text)
        return text + [UInt8(ascii: "}")]
    }

    /// `DELETE /v1/devices/17/links/3`
    func remove(_ id: Int64, of device: Int64) async throws -> Response {
        let isThere = try await store.write { session throws(StoreError) in
            try Links.remove(id, of: device, in: session)
        }
        guard isThere else { throw Problem.notFound("Device \(device) has no such link.") }
        return Response(status: .noContent)
    }

    /// `GET /v1/shared`: where the vehicle is, and nothing else of it.
    func place(of link: LinkEntry) async throws -> Response {
        let place = try await store.read { session throws(StoreError) in
            try Reading.shared(link.device, since: link.created, from: session)
        }
        guard let place else { throw Problem.unauthorized }
        var text = Array(#"{"name":"#.utf8)
        JSONString.append(place.name, to: &text)
        text += #","since":"\#(link.created.iso8601)","expires":"\#(link.expires.iso8601)""#.utf8
        if let latest = place.latest {
            text += #","latest":{"timestamp":"\#(latest.time.iso8601)""#.utf8
            for (name, value) in [
                ("latitude", latest.latitude as Double?), ("longitude", latest.longitude),
                ("accuracy", latest.accuracy), ("speed", latest.speed), ("bearing", latest.bearing),
            ] {
                if let value { text += #","\#(name)":\#(LocationText.number(value))"#.utf8 }
            }
            text.append(UInt8(ascii: "}"))
        }
        text += "}\n".utf8
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }
}
