internal import Base
internal import Envelope
internal import EnvelopeReader
internal import Hummingbird
internal import NIOCore
internal import ServerStore

extension Reader {
    /// `GET /v1/devices/17/events`: crossings of geofences, and what else the vehicle has told, by time.
    func events(of id: Int64, _ query: LocationQuery) async throws -> Response {
        guard query.format == .json else { throw Problem(.badRequest, "Events come as json.") }
        let device = try await state(of: id)
        let store = store
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                var bytes = Array(#"{"device":\#(device.id),"events":["#.utf8)
                var place: Reading.Place?
                var (left, count) = (query.limit ?? .max, 0)
                while left > 0 {
                    let (after, size) = (place, min(left, Self.page))
                    let rows = try await store.read { session throws(StoreError) in
                        try Reading.events(of: id, in: query.range, after: after, limit: size, from: session)
                    }
                    for row in rows {
                        bytes += Array((count > 0 ? ",\n" : "\n").utf8)
                        EventText.append(row, to: &bytes)
                        count += 1
                    }
                    try await writer.write(ByteBuffer(bytes: bytes))
                    bytes = []
                    left -= rows.count
                    guard rows.count == size, let last = rows.last else { break }
                    place = Reading.Place(time: last.time, id: last.id)
                }
                try await writer.write(ByteBuffer(bytes: bytes + Array("]}\n".utf8)))
                try await writer.finish(nil)
            })
    }

    /// `GET /v1/devices/17/trips`: what lies between two stays.
    func trips(of id: Int64, _ query: LocationQuery) async throws -> Response {
        guard query.format == .json else { throw Problem(.badRequest, "Trips come as json.") }
        let device = try await state(of: id)
        let store = store
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody { writer in
                var bytes = Array(#"{"device":\#(device.id),"trips":["#.utf8)
                var finder = TripFinder()
                var place: Reading.Place?
                var (left, count) = (query.limit ?? .max, 0)
                while true {
                    let after = place
                    let rows = try await store.read { session throws(StoreError) in
                        try Reading.locations(
                            of: id, in: query.range, after: after, limit: Self.page, from: session)
                    }
                    var trips = rows.compactMap { finder.add($0.row) }
                    if rows.count < Self.page, let last = finder.finish() { trips.append(last) }
                    for trip in trips.prefix(left) {
                        bytes += Array((count > 0 ? ",\n" : "\n").utf8)
                        EventText.append(trip, to: &bytes)
                        count += 1
                    }
                    left -= trips.count
                    try await writer.write(ByteBuffer(bytes: bytes))
                    bytes = []
                    guard left > 0, rows.count == Self.page, let last = rows.last else { break }
                    place = Reading.Place(time: last.row.time, id: last.row.id)
                }
                try await writer.write(ByteBuffer(bytes: bytes + Array("]}\n".utf8)))
                try await writer.finish(nil)
            })
    }
}

/// Events and trips as JSON.
enum EventText {
    static func append(_ event: StoredEvent, to text: inout [UInt8]) {
        switch event.content {
        case .crossing(let kind, let geofence):
            let word = kind == .enter ? "enter" : "exit"
            text += Array(
                (#"{"id":"\#(event.id)","kind":"geofence_\#(word)","timestamp":"\#(event.time.iso8601)","#
                    + #""session_id":"\#(event.session)","geofence_id":"#).utf8)
            JSONString.append(geofence, to: &text)
            text.append(UInt8(ascii: "}"))
        case .other(_, let object): text += DeviceText.line(object)
        }
    }

    static func append(_ trip: Trip, to text: inout [UInt8]) {
        text += Array(#"{"start":"\#(trip.start.time.iso8601)","end":"\#(trip.end.time.iso8601)""#.utf8)
        for (name, row) in [("from", trip.start), ("to", trip.end)] {
            text += Array(
                (#","\#(name)":{"latitude":\#(LocationText.number(row.latitude)),"#
                    + #""longitude":\#(LocationText.number(row.longitude))}"#).utf8)
        }
        let distance = LocationText.number((trip.distance * 10).rounded() / 10)
        text += Array(
            (#","distance":\#(distance),"duration":\#(LocationText.number(trip.duration)),"#
                + #""locations":\#(trip.locations)"#).utf8)
        if let speed = trip.topSpeed { text += Array(#","top_speed":\#(LocationText.number(speed))"#.utf8) }
        text.append(UInt8(ascii: "}"))
    }
}
