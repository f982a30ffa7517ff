internal import Base
internal import Fences
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// The fences of the fleet. Each change is one request, however many vehicles it is for; they are told as they upload.
struct FleetFences: Sendable {
    let store: Store
    let bodies: BodyReader
    let lists: Lists
    let keeper: FenceKeeper

    /// Fences that are read at once: a polygon may have 12 KiB.
    private static let atOnce: Int64 = 50
    /// Vehicles that are read at once.
    private static let vehiclesAtOnce: Int64 = 500

    /// `GET /v1/fences`: those of vehicles that the viewer sees, in the order in which they were drawn.
    func all(for viewer: Viewer) async throws -> Response {
        try await lists.answer(
            "application/json", from: (last: Int64(0), count: 0), head: Array(#"{"fences":["#.utf8),
            tail: Array("]}\n".utf8)
        ) { list, piece, session throws(StoreError) in
            while true {
                let fences = try Fences.all(
                    for: viewer, after: list.last, limit: Self.atOnce, in: session)
                for fence in fences {
                    let text = Array((list.count > 0 ? ",\n" : "\n").utf8) + FenceText.object(fence)
                    guard try piece.add(text) else { return false }
                    list.last = fence.number
                    list.count += 1
                }
                if fences.count < Self.atOnce { return true }
            }
        }
    }

    /// `POST /v1/fences` with `{"name":…,"latitude":…,…,"all":true}`: 201 with the fence.
    func add(_ request: Request, by author: String, now: Timestamp) async throws -> Response {
        guard let fence = try await put(request, replacing: nil, by: author, now: now) else {
            throw Problem.notFound()
        }
        return Registry.created(FenceText.object(fence) + [0x0A], at: "/v1/fences/\(fence.number)")
    }

    /// `PUT /v1/fences/7` with the whole fence in place of what it was.
    func replace(_ number: Int64, _ request: Request, by author: String, now: Timestamp) async throws
        -> Response
    {
        guard let fence = try await put(request, replacing: number, by: author, now: now) else {
            throw Self.noFence(number)
        }
        return Self.answer(FenceText.object(fence) + [0x0A])
    }

    private func put(
        _ request: Request, replacing number: Int64?, by author: String, now: Timestamp
    ) async throws -> FenceEntry? {
        let (body, _) = try await bodies.read(request, limit: FenceText.limit)
        let draft = try FenceText.draft(body)
        return try await store.write { session throws(StoreError) in
            try Fences.put(draft, replacing: number, by: author, now: now, in: session)
        }
    }

    /// `DELETE /v1/fences/7`
    func remove(_ number: Int64) async throws -> Response {
        let isThere = try await store.write { session throws(StoreError) in
            try Fences.remove(number, in: session)
        }
        guard isThere else { throw Self.noFence(number) }
        return Response(status: .noContent)
    }

    /// `GET /v1/fences/7`
    func one(_ number: Int64, for viewer: Viewer) async throws -> Response {
        let fence = try await store.read { session throws(StoreError) in
            try Fences.all(for: viewer, only: number, in: session).first
        }
        guard let fence else { throw Self.noFence(number) }
        return Self.answer(FenceText.object(fence) + [0x0A])
    }

    /// `GET /v1/fences/7/devices`: the vehicles that are to have it, and whether they have.
    func devices(of number: Int64, for viewer: Viewer) async throws -> Response {
        let former = keeper.book
        let found = try await store.read { session throws(StoreError) -> (FenceEntry, FenceBook)? in
            guard let fence = try Fences.all(for: viewer, only: number, in: session).first else { return nil }
            return (fence, try FenceBook.read(after: former, in: session) ?? former)
        }
        guard let (fence, book) = found else { throw Self.noFence(number) }
        return try await lists.answer(
            "application/json", from: (last: Int64(0), count: 0), head: Array(#"{"devices":["#.utf8),
            tail: Array("]}\n".utf8)
        ) { list, piece, session throws(StoreError) in
            while true {
                let states = try Fences.states(
                    of: fence, in: book, for: viewer, after: list.last, limit: Self.vehiclesAtOnce,
                    in: session)
                for state in states {
                    let text =
                        Array((list.count > 0 ? ",\n" : "\n").utf8)
                        + FenceText.object(named: "device", state.device, state)
                    guard try piece.add(text) else { return false }
                    list.last = state.device
                    list.count += 1
                }
                if states.count < Self.vehiclesAtOnce { return true }
            }
        }
    }

    /// `GET /v1/devices/17/fences`: the fences that it is to have, and whether it has them.
    func fences(of device: Int64, for viewer: Viewer) async throws -> Response {
        let former = keeper.book
        let states = try await store.read { session throws(StoreError) in
            try Fences.states(of: device, after: former, for: viewer, in: session)
        }
        guard let states else { throw Problem.noDevice(device) }
        let list = states.map { FenceText.object(named: "id", $0.number, $0) }
        return Self.answer(
            Array(#"{"fences":["#.utf8) + list.joined(separator: [0x2C, 0x0A]) + Array("]}\n".utf8))
    }

    private static func noFence(_ number: Int64) -> Problem {
        Problem.notFound("There is no fence \(number).")
    }

    private static func answer(_ text: [UInt8]) -> Response {
        Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: text)))
    }
}
