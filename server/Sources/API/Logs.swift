internal import Base
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// The log of a vehicle, which it sends when it is told to (`upload_log`).
struct Logs: Sendable {
    let store: Store
    let bodies: BodyReader
    let lists: Lists
    /// Bytes of text; beekond keeps 64 KiB of its log.
    private static let longest = 512 << 10

    /// `POST /v1/logs`
    func add(
        _ request: Request, from device: Int64, _ identity: Identity, now: Timestamp
    ) async throws -> Response {
        let isPacked = try Ingest.isPacked(request.headers)
        let (bytes, lease) = try await bodies.read(request, limit: Self.longest)
        let text: String
        do throws(Fault) {
            text = try bytes.withUnsafeReadableBytes { bytes in
                Result { () throws(Fault) in
                    let plain = isPacked ? try Gunzip.unpack(bytes, limit: Self.longest) : Array(bytes)
                    // PostgreSQL stores no NUL, and what is no UTF-8 is shown as such.
                    return String(decoding: plain.filter { $0 != 0 }, as: UTF8.self)
                }
            }.get()
        } catch {
            throw Problem(error)
        }
        // It waits for its turn in the place of its body.
        let more = max(0, text.utf8.count - bytes.readableBytes)
        let rest = try bodies.take(more)
        defer { withExtendedLifetime((lease, rest)) {} }
        let known = identity.nextRevocation
        let isStored = try await store.write(isRepeatable: true) { session throws(StoreError) in
            try DeviceLogs.add(text, of: device, since: known, now: now, in: session)
        }
        guard isStored else { throw Problem.unauthorized }
        return Response(status: .noContent)
    }

    /// `GET /v1/devices/17/log`: the newest.
    func newest(of device: Int64, for viewer: Viewer) async throws -> Response {
        let lease = try lists.take(Self.longest)
        let text = try await store.read { session throws(StoreError) in
            try DeviceLogs.newest(of: device, for: viewer, in: session)
        }
        guard let text else {
            throw Problem.notFound("Device \(device) has sent no log; 'upload_log' asks for it.")
        }
        let bytes = ByteBuffer(string: text)
        return Response(
            status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(contentLength: bytes.readableBytes) { writer in
                try await writer.write(bytes)
                try await writer.finish(nil)
                withExtendedLifetime(lease) {}
            })
    }
}
