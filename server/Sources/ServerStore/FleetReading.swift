package import Base

/// What metrics tell of one device.
package struct DeviceSample: Sendable {
    package var id: Int64
    /// The group that it is in; nil: none.
    package var group: Int64?
    package var seen: Timestamp?
    /// The fix time of its newest location.
    package var located: Timestamp?
    /// A JSON object; nil when it never sent one.
    package var status: String?
}

extension Reading {
    /// One page of samples, of the devices that are not revoked, by number, or that of one device.
    package static func samples(
        for viewer: Viewer, after id: Int64 = 0, only device: Int64? = nil, limit: Int,
        from session: any Session
    ) throws(StoreError) -> [DeviceSample] {
        try session.run(
            """
            SELECT d.id, d.fleet_group, p.seen, l.time, p.status
            FROM \(page("AND d.revoked IS NULL", limit: "$4"))
                LEFT JOIN presence p ON p.device = d.id LEFT JOIN latest l ON l.device = d.id ORDER BY d.id
            """, viewer.cell, .integer(device.map { $0 - 1 } ?? id), .integer(device ?? .max),
            .integer(Int64(limit))
        ).compactMap { row in
            guard let id = row[0].integer else { return nil }
            return DeviceSample(
                id: id, group: row[1].integer, seen: row[2].integer.map { Timestamp(milliseconds: $0) },
                located: row[3].integer.map { Timestamp(milliseconds: $0) }, status: row[4].text)
        }
    }

    /// Whether a viewer sees more devices that are not revoked.
    package static func hasMoreDevices(
        than count: Int64, for viewer: Viewer, from session: any Session
    ) throws(StoreError) -> Bool {
        let rows = try session.run(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM devices d WHERE \(Viewer.condition) AND d.revoked IS NULL LIMIT $2) AS first
            """, viewer.cell, .integer(count + 1))
        return (rows.first?.first?.integer ?? 0) > count
    }
}
