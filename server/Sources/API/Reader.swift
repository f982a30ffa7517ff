internal import Base
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// What is read: devices, and where they have been.
struct Reader: Sendable {
    let store: Store

    /// Rows that are read, and written to the client, at once.
    static let page = 1000

    /// `GET /v1/devices`
    func devices() async throws -> Response {
        let store = store
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                var text = Array(#"{"devices":["#.utf8)
                var (last, count): (Int64, Int) = (0, 0)
                while true {
                    let after = last
                    let devices = try await store.read { session throws(StoreError) in
                        try Reading.devices(after: after, limit: Self.page, from: session)
                    }
                    for device in devices {
                        text += Array((count > 0 ? ",\n" : "\n").utf8)
                        text += DeviceText.object(device)
                        count += 1
                    }
                    if devices.count < Self.page { break }
                    last = devices.last?.id ?? last
                    try await writer.write(ByteBuffer(bytes: text))
                    text = []
                }
                try await writer.write(ByteBuffer(bytes: text + Array("]}\n".utf8)))
                try await writer.finish(nil)
            })
    }

    /// `GET /v1/devices/17`
    func device(_ id: Int64) async throws -> Response {
        let device = try await state(of: id)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: DeviceText.object(device) + [0x0A])))
    }

    func state(of id: Int64) async throws -> DeviceState {
        let devices = try await store.read { session throws(StoreError) in
            try Reading.devices(only: id, limit: 1, from: session)
        }
        guard let device = devices.first else { throw Problem.notFound("There is no device \(id).") }
        return device
    }

    /// `GET /v1/devices/17/locations`
    func locations(of id: Int64, _ query: LocationQuery) async throws -> Response {
        let device = try await state(of: id)
        let store = store
        return Response(
            status: .ok, headers: [.contentType: query.format.mediaType],
            body: ResponseBody { writer in
                var text = LocationText(query.format, of: device)
                var bytes = text.head
                var place: Reading.Place?
                var left = query.limit ?? .max
                while left > 0 {
                    let (after, size) = (place, min(left, Self.page))
                    let rows = try await store.read { session throws(StoreError) in
                        try Reading.locations(
                            of: id, in: query.range, after: after, limit: size, from: session)
                    }
                    text.append(rows, to: &bytes)
                    try await writer.write(ByteBuffer(bytes: bytes))
                    bytes = []
                    left -= rows.count
                    guard rows.count == size, let last = rows.last else { break }
                    place = Reading.Place(time: last.row.time, id: last.row.id)
                }
                try await writer.write(ByteBuffer(bytes: bytes + text.tail))
                try await writer.finish(nil)
            })
    }

    /// `GET /health/ready`
    func ready() async throws -> Response {
        try await store.read { session throws(StoreError) in
            try session.run("SELECT 1")
            try session.confirm()
        }
        if store.damage != nil {
            var random = SystemRandomNumberGenerator()
            var problem = Problem.busy(using: &random)
            problem.detail = "The database is damaged: restore a backup ('beekon-server restore FILE')."
            throw problem
        }
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: "{\"status\":\"ok\"}\n")))
    }
}
