package import Base

/// What devices have sent of their own logs. Each function is for a thread of the store.
package enum DeviceLogs {
    /// Logs of one device that are kept.
    static let kept: Int64 = 10

    /// - Parameter known: the first of the `Revocations` that its token was not judged by; nil: that does not matter.
    /// - Returns: false when the token has ended since.
    package static func add(
        _ text: String, of device: Int64, since known: Int64?, now: Timestamp, in session: any Session
    ) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            try session.joinUploads()
            if let known, try Revocations.has(device, since: known, in: session) { return false }
            // Of a clock that was ahead; they would be the newest for as long.
            try session.run(
                "DELETE FROM logs WHERE device = $1 AND received > $2", .integer(device),
                .integer(now.milliseconds + Turns.slack))
            try session.run(
                """
                INSERT INTO logs VALUES ($1, $2, $3) ON CONFLICT (device, received) DO UPDATE SET text = excluded.text
                """, .integer(device), .integer(now.milliseconds), .text(text))
            try session.run(
                """
                DELETE FROM logs WHERE device = $1 AND received < (SELECT min(received) FROM (
                    SELECT received FROM logs WHERE device = $1 ORDER BY received DESC LIMIT $2) AS newest)
                """, .integer(device), .integer(kept))
            return true
        }
    }

    /// The newest; nil when there is none.
    package static func newest(
        of device: Int64, for viewer: Viewer, in session: any Session
    ) throws(StoreError) -> String? {
        try session.run(
            "SELECT text FROM logs WHERE \(Viewer.seesDevice) AND device = $2 ORDER BY received DESC LIMIT 1",
            viewer.cell, .integer(device)
        ).first?.first?.text
    }
}
