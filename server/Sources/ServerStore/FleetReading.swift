package import Base

/// What metrics tell of one device.
package struct DeviceSample: Sendable {
    package var id: Int64
    package var seen: Timestamp?
    /// The fix time of its newest location.
    package var located: Timestamp?
    /// A JSON object; nil when it never sent one.
    package var status: String?
}

extension Reading {
    /// One page of samples, of the devices that are not revoked, by number.
    package static func samples(
        for viewer: Viewer, after id: Int64, limit: Int, from session: any Session
    ) throws(StoreError) -> [DeviceSample] {
        try session.run(
            """
            SELECT d.id, p.seen, l.time, p.status
            FROM \(page("AND d.revoked IS NULL", limit: "$4"))
                LEFT JOIN presence p ON p.device = d.id LEFT JOIN latest l ON l.device = d.id ORDER BY d.id
            """, viewer.cell, .integer(id), .integer(.max), .integer(Int64(limit))
        ).compactMap { row in
            guard let id = row[0].integer else { return nil }
            return DeviceSample(
                id: id, seen: row[1].integer.map { Timestamp(milliseconds: $0) },
                located: row[2].integer.map { Timestamp(milliseconds: $0) }, status: row[3].text)
        }
    }
}
