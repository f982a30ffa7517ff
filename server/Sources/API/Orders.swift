internal import Base
internal import Commands
internal import Envelope
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// Commands for vehicles. They go with every answer to an upload until the vehicle has told their result.
struct Orders: Sendable {
    let store: Store
    let bodies: BodyReader
    /// The public part of the key; nil when commands go unsigned.
    let publicKey: String?
    let lists: Lists
    let clock: ClockKeeper

    /// Commands that are shown, and of these, read at once: each may have 80 KiB.
    private static let most = 1000
    private static let atOnce = 8

    /// `POST /v1/devices/17/commands` with `{"command":…,"arguments":{…},"expires_in":…}`
    func add(for device: Int64, _ request: Request, by author: String, now: Timestamp) async throws
        -> Response
    {
        let (body, _) = try await bodies.read(request, limit: 32 << 10)
        let order: CommandOrder
        do throws(Fault) {
            order = try body.withUnsafeReadableBytes { bytes in
                Result { () throws(Fault) in try CommandReader.read(bytes) }
            }.get()
        } catch {
            throw Problem(error)
        }
        let latest = clock.latest(now)
        let entry = try await store.write { session throws(StoreError) in
            try CommandQueue.add(order, for: device, by: author, now: now, latest: latest, in: session)
        }
        guard let entry else { throw Problem.notFound("There is no device \(device), or it is revoked.") }
        return Registry.created(
            Self.object(entry, now: now, latest: latest) + [0x0A],
            at: "/v1/devices/\(device)/commands/\(entry.id)")
    }

    /// `GET /v1/devices/17/commands`: newest first.
    func all(of device: Int64, for viewer: Viewer, now: Timestamp) async throws -> Response {
        let latest = clock.latest(now)
        let isThere = try await store.read { session throws(StoreError) in
            try viewer.sees(device, in: session)
        }
        guard isThere else { throw Problem.noDevice(device) }
        return try await lists.answer(
            "application/json", from: (last: Int64.max, count: 0), head: Array(#"{"commands":["#.utf8),
            tail: Array("]}\n".utf8)
        ) { list, piece, session throws(StoreError) in
            try Reader.confirm(viewer, device, session)
            while list.count < Self.most {
                let entries = try CommandQueue.all(
                    of: device, for: viewer, before: list.last, limit: Self.atOnce, in: session)
                for entry in entries {
                    let text =
                        Array((list.count > 0 ? ",\n" : "\n").utf8)
                        + Self.object(entry, now: now, latest: latest)
                    guard try piece.add(text) else { return false }
                    list.last = entry.number
                    list.count += 1
                }
                if entries.count < Self.atOnce { break }
            }
            return true
        }
    }

    /// `DELETE /v1/devices/17/commands/c-5`
    func withdraw(_ number: CommandNumber, of device: Int64, now: Timestamp) async throws -> Response {
        let isThere = try await store.write { session throws(StoreError) in
            try CommandQueue.withdraw(number.value, of: device, now: now, in: session)
        }
        guard isThere else {
            throw Problem.notFound("There is no such command of device \(device), or it is finished.")
        }
        return Response(status: .noContent)
    }

    /// `GET /v1/key`
    func key() throws -> Response {
        guard let publicKey else {
            throw Problem.notFound("This server signs no commands: it was started without --signing-key.")
        }
        return Response(
            status: .ok, headers: [.contentType: "application/x-pem-file"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: publicKey)))
    }

    private static func object(_ entry: CommandEntry, now: Timestamp, latest: Timestamp) -> [UInt8] {
        var text = Array(
            (#"{"id":"\#(entry.id)","command":"\#(entry.name)","state":"\#(entry.state(now: now, latest: latest))","#
                + #""created":"\#(entry.created.iso8601)","expires":"\#(entry.expires.iso8601)","author":"#)
                .utf8)
        JSONString.append(entry.author, to: &text)
        text += Array(#","arguments":"#.utf8) + DeviceText.line(entry.arguments)
        for (name, time) in [("offered", entry.offered), ("finished", entry.finished)] {
            if let time { text += Array(#","\#(name)":"\#(time.iso8601)""#.utf8) }
        }
        if let result = entry.result { text += Array(#","result":"#.utf8) + DeviceText.line(result) }
        return text + [UInt8(ascii: "}")]
    }
}
