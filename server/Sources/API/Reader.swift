internal import Base
internal import EnvelopeReader
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServerStore

/// What is read: devices, and where they have been.
struct Reader: Sendable {
    let store: Store
    let lists: Lists
    let readiness: Readiness

    /// Devices that are read at once, each with a status of up to 16 KiB: while their length is not known, and at most.
    private static let devicesAtOnce = (first: 64, most: 200)

    private struct Fleet {
        var last: Int64 = 0
        var count = 0
        /// Bytes of all devices so far.
        var bytes = 0

        /// Devices for which so many bytes have room, by the length of those before, and one more.
        func size(of room: Int) -> Int {
            guard count > 0 else { return Reader.devicesAtOnce.first }
            return min(Reader.devicesAtOnce.most, room / max(1, bytes / count) + 1)
        }
    }

    /// `GET /v1/devices`
    func devices(for viewer: Viewer) async throws -> Response {
        try await lists.answer(
            "application/json", from: Fleet(), head: Array(#"{"devices":["#.utf8), tail: Array("]}\n".utf8)
        ) { fleet, piece, session throws(StoreError) in
            var text: [UInt8] = []
            while true {
                // What is read and has no room is read once more.
                let size = fleet.size(of: piece.room)
                let devices = try Reading.devices(for: viewer, after: fleet.last, limit: size, from: session)
                for device in devices {
                    text.removeAll(keepingCapacity: true)
                    text += (fleet.count > 0 ? ",\n" : "\n").utf8
                    DeviceText.append(device, to: &text)
                    guard try piece.add(text) else { return false }
                    fleet.last = device.id
                    fleet.count += 1
                    fleet.bytes += text.count
                }
                if devices.count < size { return true }
            }
        }
    }

    /// `GET /v1/devices/17`
    func device(_ id: Int64, for viewer: Viewer) async throws -> Response {
        let device = try await state(of: id, for: viewer)
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: DeviceText.object(device) + [0x0A])))
    }

    /// - Throws: a 404, whether there is no such device or it is none of theirs.
    func state(of id: Int64, for viewer: Viewer) async throws -> DeviceState {
        let devices = try await store.read { session throws(StoreError) in
            try Reading.devices(for: viewer, only: id, limit: 1, from: session)
        }
        guard let device = devices.first else { throw Problem.noDevice(id) }
        return device
    }

    /// For each piece of a list: one whose reader may not see the device any more must not look whole.
    static func confirm(_ viewer: Viewer, _ device: Int64, _ session: any Session) throws(StoreError) {
        guard try viewer.sees(device, in: session) else {
            throw StoreError(.failed, operation: "read", message: "the device is not to be seen any more")
        }
    }

    private struct Track {
        var text: LocationText
        var place: Reading.Place?
        var left: Int
    }

    /// `GET /v1/devices/17/locations`
    func locations(of id: Int64, for viewer: Viewer, _ query: LocationQuery) async throws -> Response {
        let text = LocationText(query.format, of: try await state(of: id, for: viewer))
        let track = Track(text: text, left: query.limit ?? .max)
        return try await lists.answer(
            query.format.mediaType, from: track, head: text.head, tail: text.tail, mayLag: true
        ) { track, piece, session throws(StoreError) in
            try Self.confirm(viewer, id, session)
            while track.left > 0 {
                let size = min(track.left, query.format.rows(of: piece.room))
                // As many as a piece has room for, but for the last of them.
                guard size > 0 else { return false }
                let rows = try Reading.locations(
                    of: id, for: viewer, in: query.range, after: track.place, limit: size, from: session)
                guard try Self.add(rows, of: id, for: viewer, to: &piece, &track, session) else {
                    return false
                }
                if rows.count < size { return true }
            }
            return true
        }
    }

    /// - Returns: false when the piece is full.
    private static func add(
        _ rows: [StoredLocation], of device: Int64, for viewer: Viewer, to piece: inout Piece,
        _ track: inout Track,
        _ session: any Session
    ) throws(StoreError) -> Bool {
        if track.text.format == .packed {
            var bytes: [UInt8] = []
            PackedTrack.append(rows.map(\.row), to: &bytes)
            piece.add(whole: bytes)
            note(rows[...], &track)
            return true
        }
        // Each is read once, and only when its first location is added: all but one of them are in the piece, too.
        var extras: [Int64: String?] = [:]
        var text: [UInt8] = []
        for row in rows {
            var own: String?
            if track.text.showsExtras, let digest = row.extras {
                let text =
                    if let known = extras[digest] { known } else {
                        try Reading.extras(digest, of: device, for: viewer, from: session)
                    }
                extras[digest] = .some(text)
                own = text
            }
            text.removeAll(keepingCapacity: true)
            track.text.append(row, extras: own, to: &text)
            guard try piece.add(text) else { return false }
            note([row], &track)
        }
        return true
    }

    private static func note(_ rows: ArraySlice<StoredLocation>, _ track: inout Track) {
        guard let last = rows.last?.row else { return }
        track.left -= rows.count
        track.text.last = last.time
        track.place = Reading.Place(time: last.time, id: last.id)
    }

    /// `GET /health/ready`
    func ready() async throws -> Response {
        try await readiness.confirm()
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
