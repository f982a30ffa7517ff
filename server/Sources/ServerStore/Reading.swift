package import Base
package import EnvelopeReader

/// A location as it is read back.
package struct StoredLocation: Equatable, Sendable {
    package var row: LocationRow
    package var session: UUIDv7
    /// Names its extras among those of its device; nil when there were none.
    package var extras: Int64?
}

/// A device with what was last heard of it.
package struct DeviceState: Equatable, Sendable {
    package var id: Int64
    package var name: String
    /// As it is painted on it; nil: not known.
    package var plate: String?
    package var note: String?
    /// The group that it is in; nil: none.
    package var group: Group?
    package var created: Timestamp
    package var revoked: Timestamp?
    /// When a refresh token that had ended long before was shown last; nil: never since it got new ones.
    package var tokenShownAgain: Timestamp?
    /// The newest installation that has shown its tokens and is not the device; nil: none.
    package var otherInstallation: UUIDv7?
    /// The arrival of its last batch, by the server's clock; nil before the first.
    package var seen: Timestamp?
    package var facts: DeviceFacts?
    /// The newest location; nil before the first.
    package var latest: LocationRow?
    /// What it said of its state last; nil before the first time.
    package var status: Status?

    /// One of which nothing has been heard yet.
    package init(id: Int64, name: String, created: Timestamp) {
        self.id = id
        self.name = name
        self.created = created
    }

    /// A group by number and name.
    package struct Group: Equatable, Sendable {
        package var id: Int64
        package var name: String
    }

    /// A status with its arrival, by the server's clock.
    package struct Status: Equatable, Sendable {
        package var received: Timestamp
        /// A JSON object, as it was sent.
        package var object: String
    }
}

/// What is read of the store; each function is for a thread of the store.
package enum Reading {
    /// Where a page begins: behind this row.
    package struct Place: Equatable, Sendable {
        package var time: Timestamp
        package var id: UUIDv7

        package init(time: Timestamp, id: UUIDv7) {
            self.time = time
            self.id = id
        }
    }

    /// One page of the locations of a device, by time.
    ///
    /// - Parameters:
    ///   - range: of the fix time.
    ///   - place: the last row of the page before; nil for the first page.
    ///   - limit: rows of a page.
    package static func locations(
        of device: Int64, for viewer: Viewer, in range: ClosedRange<Timestamp>, after place: Place?,
        limit: Int,
        from session: any Session
    ) throws(StoreError) -> [StoredLocation] {
        let columns = """
            SELECT l.id, l.time, l.latitude, l.longitude, l.accuracy, l.speed, l.bearing, l.altitude, l.codes, l.session,
                l.extras FROM locations l
            """
        let order = "ORDER BY l.device, l.time, l.id"
        let rows =
            if let place {
                try session.run(
                    """
                    \(columns) WHERE \(Viewer.seesDevice) AND l.device = $2 AND (l.time, l.id) > ($3, $4)
                        AND l.time <= $5 \(order) LIMIT $6
                    """, viewer.cell, .integer(device), .integer(place.time.milliseconds), .id(place.id),
                    .integer(range.upperBound.milliseconds), .integer(Int64(limit)))
            } else {
                try session.run(
                    """
                    \(columns) WHERE \(Viewer.seesDevice) AND l.device = $2 AND l.time >= $3 AND l.time <= $4
                        \(order) LIMIT $5
                    """, viewer.cell,
                    .integer(device), .integer(range.lowerBound.milliseconds),
                    .integer(range.upperBound.milliseconds), .integer(Int64(limit)))
            }
        return rows.compactMap { row in
            guard let location = location(row), let id = row[9].id else { return nil }
            return StoredLocation(row: location, session: id, extras: row[10].integer)
        }
    }

    /// A JSON object of strings, which many locations may share; nil when it is no longer kept.
    package static func extras(
        _ digest: Int64, of device: Int64, for viewer: Viewer, from session: any Session
    ) throws(StoreError) -> String? {
        try session.run(
            "SELECT text FROM extras WHERE \(Viewer.seesDevice) AND device = $2 AND digest = $3", viewer.cell,
            .integer(device), .integer(digest)
        ).first?.first?.text
    }

    /// The newest installation that has shown the tokens of a device `d` and is not the device. In PostgreSQL it has an index of
    /// its own: nearly all devices have none.
    private static let otherInstallation = """
        SELECT i.id FROM installations i WHERE i.device = d.id AND i.state = 3 ORDER BY i.since DESC LIMIT 1
        """

    /// Columns of a device `d`, its presence `p` and its latest location `l`, in the order in which `state`
    /// reads them.
    private static let stateColumns = """
        d.id, d.name, d.created, d.revoked, p.seen, p.install_id, p.platform, p.version, p.model,
            p.status_time, p.status,
            l.id, l.time, l.latitude, l.longitude, l.accuracy, l.speed, l.bearing, l.altitude, l.codes,
            (\(otherInstallation)), d.shown_again, d.plate, d.note, d.fleet_group,
            (SELECT g.name FROM fleet_groups g WHERE g.id = d.fleet_group)
        """

    /// The devices `d` of one page: those behind `$2`, up to `$3`. They are chosen first, and then what is known of each is looked up
    /// by its key: a page costs what it shows, wherever it begins. Joined at once, other tables may be read from their beginning to
    /// find it. Both bounds are needed: PostgreSQL, which plans for any values, takes two for a short range, and one for a third of
    /// all.
    ///
    /// - Parameters:
    ///   - condition: of the devices, beside the viewer's; it begins with AND.
    ///   - limit: the parameter that has the devices of a page.
    package static func page(_ condition: String = "", limit: String) -> String {
        """
        (SELECT * FROM devices d WHERE \(Viewer.condition) AND d.id > $2 AND d.id <= $3 \(condition)
            ORDER BY d.id LIMIT \(limit)) d
        """
    }

    /// One page of the devices, by number, or one device.
    package static func devices(
        for viewer: Viewer, after id: Int64 = 0, only device: Int64? = nil, limit: Int,
        from session: any Session
    ) throws(StoreError) -> [DeviceState] {
        let rows = try session.run(
            """
            SELECT \(stateColumns) FROM \(page(limit: "$4"))
                LEFT JOIN presence p ON p.device = d.id LEFT JOIN latest l ON l.device = d.id ORDER BY d.id
            """, viewer.cell, .integer(device.map { $0 - 1 } ?? id), .integer(device ?? .max),
            .integer(Int64(limit)))
        return rows.compactMap { state($0) }
    }

    /// Devices that are asked for by number, by number; at most `mostAtOnce`.
    package static func devices(
        for viewer: Viewer, _ ids: [Int64], from session: any Session
    ) throws(StoreError) -> [DeviceState] {
        let (places, numbers) = numbers(ids[...])
        let rows = try session.run(
            """
            SELECT \(stateColumns) FROM devices d
                LEFT JOIN presence p ON p.device = d.id LEFT JOIN latest l ON l.device = d.id
            WHERE \(Viewer.condition) AND d.id IN (\(places)) ORDER BY d.id
            """, [viewer.cell] + numbers)
        return rows.compactMap { state($0) }
    }

    /// Parameters for devices, from `$2` on, and their values. Few statements come of it, each of which is parsed once.
    ///
    /// - Parameter ids: at most `mostAtOnce`.
    static func numbers(_ ids: ArraySlice<Int64>) -> (places: String, values: [Cell]) {
        let size = sizes.first { $0 >= ids.count } ?? mostAtOnce
        // No device has the number 0.
        let numbers = ids.prefix(size) + Array(repeating: 0, count: max(0, size - ids.count))
        return ((2..<2 + size).map { "$\($0)" }.joined(separator: ", "), numbers.map { .integer($0) })
    }

    /// Devices that can be asked for at once, each with a status of up to 16 KiB.
    package static let mostAtOnce = 100
    private static let sizes = [1, 10, mostAtOnce]

    private static func state(_ row: [Cell]) -> DeviceState? {
        guard let id = row[0].integer, let name = row[1].text, let created = row[2].integer else {
            return nil
        }
        var state = DeviceState(id: id, name: name, created: Timestamp(milliseconds: created))
        state.revoked = row[3].integer.map { Timestamp(milliseconds: $0) }
        state.seen = row[4].integer.map { Timestamp(milliseconds: $0) }
        if let install = row[5].id, install != Retention.noInstallation, let platform = row[6].text,
            let version = row[7].text
        {
            state.facts = DeviceFacts(
                installID: install, platform: platform, version: version, model: row[8].text)
        }
        if let received = row[9].integer, let object = row[10].text {
            state.status = DeviceState.Status(received: Timestamp(milliseconds: received), object: object)
        }
        state.latest = location(row, from: 11)
        state.otherInstallation = row[20].id
        state.tokenShownAgain = row[21].integer.map { Timestamp(milliseconds: $0) }
        (state.plate, state.note) = (row[22].text, row[23].text)
        if let id = row[24].integer, let name = row[25].text {
            state.group = DeviceState.Group(id: id, name: name)
        }
        return state
    }

    /// - Parameter first: number of the column that has its id; eight more follow.
    static func location(_ row: [Cell], from first: Int = 0) -> LocationRow? {
        guard let id = row[first].id, let time = row[first + 1].integer, let latitude = row[first + 2].real,
            let longitude = row[first + 3].real, let codes = row[first + 8].integer
        else { return nil }
        return LocationRow(
            id: id, time: Timestamp(milliseconds: time), latitude: latitude, longitude: longitude,
            accuracy: row[first + 4].real, speed: row[first + 5].real, bearing: row[first + 6].real,
            altitude: row[first + 7].real, codes: Codes(rawValue: Int16(truncatingIfNeeded: codes)))
    }
}

/// What who has a link sees of a vehicle.
package struct SharedPlace: Equatable, Sendable {
    package var name: String
    /// The newest location of the device since the link was made; nil: none has come since.
    package var latest: LocationRow?
}

extension Reading {
    /// Where a device is, for who has a link: nothing of before the link was made.
    ///
    /// - Returns: nil when there is no such device.
    package static func shared(
        _ device: Int64, since time: Timestamp, from session: any Session
    ) throws(StoreError) -> SharedPlace? {
        let rows = try session.run(
            """
            SELECT d.name, l.id, l.time, l.latitude, l.longitude, l.accuracy, l.speed, l.bearing, l.altitude, l.codes
            FROM devices d LEFT JOIN latest l ON l.device = d.id AND l.time >= $1
            WHERE d.id = $2 AND d.revoked IS NULL AND d.removed IS NULL
            """, .integer(time.milliseconds), .integer(device))
        guard let row = rows.first, let name = row[0].text else { return nil }
        return SharedPlace(name: name, latest: location(row, from: 1))
    }
}
