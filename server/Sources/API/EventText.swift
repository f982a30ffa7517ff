internal import Base
internal import Envelope
internal import EnvelopeReader
internal import Hummingbird
internal import NIOCore
internal import ServerStore

extension Reader {
    /// Events that are read at once; those of earlier versions may have 64 KiB each.
    private static let eventsAtOnce = 32
    /// Locations that are looked at for trips at once, and how often before the client hears that there is more.
    private static let locationsAtOnce = 1000
    private static let looks = 10

    private struct Happenings {
        var place: Reading.Place?
        var left: Int
        var count = 0
    }

    /// `GET /v1/devices/17/events`: crossings of geofences, and what else the vehicle has told, by time.
    func events(of id: Int64, for viewer: Viewer, _ query: LocationQuery) async throws -> Response {
        guard query.format == .json else { throw Problem(.badRequest, "Events are available as json only.") }
        let device = try await state(of: id, for: viewer)
        return try await lists.answer(
            "application/json", from: Happenings(left: query.limit ?? .max),
            head: Array(#"{"device":\#(device.id),"events":["#.utf8), tail: Array("]}\n".utf8), mayLag: true
        ) { list, piece, session throws(StoreError) in
            try Self.confirm(viewer, id, session)
            while list.left > 0 {
                let size = min(list.left, Self.eventsAtOnce)
                let events = try Reading.events(
                    of: id, for: viewer, in: query.range, after: list.place, limit: size, from: session)
                for event in events {
                    guard try piece.add(EventText.element(event, isFirst: list.count == 0)) else {
                        return false
                    }
                    list.place = Reading.Place(time: event.time, id: event.id)
                    list.left -= 1
                    list.count += 1
                }
                if events.count < size { break }
            }
            return true
        }
    }

    private struct Drives {
        var finder = TripFinder()
        var place: Reading.Place?
        /// Found, and not written yet.
        var found: [Trip] = []
        var isAtEnd = false
        var left: Int
        var count = 0
    }

    /// `GET /v1/devices/17/trips`: what lies between two stays.
    func trips(of id: Int64, for viewer: Viewer, _ query: LocationQuery) async throws -> Response {
        guard query.format == .json else { throw Problem(.badRequest, "Trips are available as json only.") }
        let device = try await state(of: id, for: viewer)
        return try await lists.answer(
            "application/json", from: Drives(left: query.limit ?? .max),
            head: Array(#"{"device":\#(device.id),"trips":["#.utf8), tail: Array("]}\n".utf8), mayLag: true
        ) { drives, piece, session throws(StoreError) in
            try Self.confirm(viewer, id, session)
            for _ in 0..<Self.looks {
                guard try Self.add(&drives, to: &piece) else { return false }
                if drives.isAtEnd || drives.left == 0 { return true }
                let rows = try Reading.locations(
                    of: id, for: viewer, in: query.range, after: drives.place, limit: Self.locationsAtOnce,
                    from: session)
                drives.found = rows.compactMap { drives.finder.add($0.row) }
                drives.isAtEnd = rows.count < Self.locationsAtOnce
                if drives.isAtEnd, let last = drives.finder.finish() { drives.found.append(last) }
                drives.place = rows.last.map { Reading.Place(time: $0.row.time, id: $0.row.id) }
            }
            return false
        }
    }

    /// - Returns: false when the piece is full.
    private static func add(_ drives: inout Drives, to piece: inout Piece) throws(StoreError) -> Bool {
        while drives.left > 0, let trip = drives.found.first {
            guard try piece.add(EventText.element(trip, isFirst: drives.count == 0)) else { return false }
            drives.found.removeFirst()
            drives.left -= 1
            drives.count += 1
        }
        return true
    }
}

/// Events and trips as JSON.
enum EventText {
    static func element(_ event: StoredEvent, isFirst: Bool) -> [UInt8] {
        var text = Array((isFirst ? "\n" : ",\n").utf8)
        append(event, to: &text)
        return text
    }

    static func element(_ trip: Trip, isFirst: Bool) -> [UInt8] {
        var text = Array((isFirst ? "\n" : ",\n").utf8)
        append(trip, to: &text)
        return text
    }

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

    private static func append(_ trip: Trip, to text: inout [UInt8]) {
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
