package import Base
package import EnvelopeReader

/// An event as it is read back.
package struct StoredEvent: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        case crossing(EventRow.Kind, geofence: String)
        /// A JSON object as it was sent, with its id, kind and time in it.
        case other(kind: String, object: String)
    }

    package var id: UUIDv7
    package var time: Timestamp
    package var session: UUIDv7
    package var content: Content
}

extension Reading {
    /// One page of the events of a device, crossings of geofences and all others, by time.
    ///
    /// - Parameters:
    ///   - range: of the event's time.
    ///   - place: the last event of the page before; nil for the first page.
    ///   - limit: events of a page.
    package static func events(
        of device: Int64, for viewer: Viewer, in range: ClosedRange<Timestamp>, after place: Place?,
        limit: Int,
        from session: any Session
    ) throws(StoreError) -> [StoredEvent] {
        var found: [StoredEvent] = []
        for (table, columns) in [("events", "kind, subject"), ("vehicle_events", "kind, object")] {
            let select =
                "SELECT id, time, session, \(columns) FROM \(table) WHERE \(Viewer.seesDevice) AND device = $2"
            found += try page(
                select, of: device, for: viewer, in: range, after: place, limit: limit, from: session)
        }
        return Array(found.sorted { ($0.time, $0.id) < ($1.time, $1.id) }.prefix(limit))
    }

    /// One page of the events of a device that tell of trips, by time.
    package static func tripEvents(
        of device: Int64, for viewer: Viewer, in range: ClosedRange<Timestamp>, after place: Place?,
        limit: Int, from session: any Session
    ) throws(StoreError) -> [StoredEvent] {
        let select = """
            SELECT id, time, session, kind, object FROM vehicle_events
            WHERE \(Viewer.seesDevice) AND device = $2 AND kind = 'trip'
            """
        return try page(select, of: device, for: viewer, in: range, after: place, limit: limit, from: session)
    }

    /// - Parameter select: with the viewer and the device as its first parameters.
    private static func page(
        _ select: String, of device: Int64, for viewer: Viewer, in range: ClosedRange<Timestamp>,
        after place: Place?, limit: Int, from session: any Session
    ) throws(StoreError) -> [StoredEvent] {
        let rows =
            if let place {
                try session.run(
                    "\(select) AND (time, id) > ($3, $4) AND time <= $5 ORDER BY device, time, id LIMIT $6",
                    viewer.cell, .integer(device), .integer(place.time.milliseconds), .id(place.id),
                    .integer(range.upperBound.milliseconds), .integer(Int64(limit)))
            } else {
                try session.run(
                    "\(select) AND time >= $3 AND time <= $4 ORDER BY device, time, id LIMIT $5",
                    viewer.cell, .integer(device), .integer(range.lowerBound.milliseconds),
                    .integer(range.upperBound.milliseconds), .integer(Int64(limit)))
            }
        return rows.compactMap { event($0) }
    }

    /// - Parameter row: begins with id, time, session, kind, and fence or object.
    static func event(_ row: [Cell]) -> StoredEvent? {
        guard let id = row[0].id, let time = row[1].integer, let session = row[2].id, let text = row[4].text
        else { return nil }
        let content: StoredEvent.Content
        if let kind = row[3].integer {
            guard let kind = EventRow.Kind(rawValue: Int16(truncatingIfNeeded: kind)) else { return nil }
            content = .crossing(kind, geofence: text)
        } else if let kind = row[3].text {
            content = .other(kind: kind, object: text)
        } else {
            return nil
        }
        return StoredEvent(
            id: id, time: Timestamp(milliseconds: time), session: session, content: content)
    }
}
