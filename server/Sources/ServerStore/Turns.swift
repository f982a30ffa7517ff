package import Base
internal import EnvelopeReader

/// What is ahead of the clock and waits for its time. The newest location of a device is chosen among those that are not; of
/// the others it is kept that there are some, so that each takes its turn. Each function is for a thread of the store.
package enum Turns {
    /// Milliseconds by which clocks of vehicles and servers differ every day: what is no further ahead is of now.
    static let slack: Int64 = 60_000
    /// Devices of one transaction; uploads wait for it.
    private static let atOnce: Int64 = 200

    /// Lets locations whose time has come take their turn, and corrects what was heard in a future that is none, of a clock that
    /// was wrong.
    ///
    /// - Parameter wall: the lesser of the server's clock and the database's.
    package static func take(at wall: Timestamp, in session: any Session) throws(StoreError) {
        while try correct(at: wall, in: session) {}
        var last: Int64 = 0
        while let next = try takePage(after: last, at: wall, in: session) { last = next }
    }

    /// By device, as uploads write: they and this never wait for each other in a circle.
    ///
    /// - Returns: whether there is more.
    private static func correct(at wall: Timestamp, in session: any Session) throws(StoreError) -> Bool {
        try session.transaction { () throws(StoreError) in
            let rows = try session.run(
                """
                SELECT device FROM presence WHERE seen > $1 OR status_time > $1 ORDER BY device LIMIT $2
                """, .integer(wall.milliseconds), .integer(atOnce))
            let devices = rows.compactMap { $0[0].integer }
            for device in devices {
                for column in ["seen", "status_time"] {
                    try session.run(
                        "UPDATE presence SET \(column) = $1 WHERE device = $2 AND \(column) > $1",
                        .integer(wall.milliseconds), .integer(device))
                }
            }
            try Changes.note(devices, in: session)
            return rows.count == atOnce
        }
    }

    /// - Returns: the last device of the page; nil behind the last page.
    private static func takePage(
        after last: Int64, at wall: Timestamp, in session: any Session
    ) throws(StoreError) -> Int64? {
        try session.transaction { () throws(StoreError) in
            let rows = try session.run(
                "SELECT device, since FROM ahead WHERE device > $1 ORDER BY device LIMIT $2",
                .integer(last), .integer(atOnce))
            var moved: [Int64] = []
            for row in rows {
                guard let device = row[0].integer, let since = row[1].integer else { continue }
                let next = try session.run(
                    """
                    INSERT INTO latest
                    SELECT device, time, id, latitude, longitude, accuracy, speed, bearing, altitude, codes
                    FROM locations WHERE device = $1 AND time > $2 AND time <= $3
                    ORDER BY time DESC, id DESC LIMIT 1
                    ON CONFLICT (device) DO UPDATE SET
                        time = excluded.time, id = excluded.id, latitude = excluded.latitude,
                        longitude = excluded.longitude, accuracy = excluded.accuracy, speed = excluded.speed,
                        bearing = excluded.bearing, altitude = excluded.altitude, codes = excluded.codes
                    WHERE excluded.time > latest.time RETURNING device
                    """, .integer(device), .integer(since), .integer(wall.milliseconds + slack))
                if !next.isEmpty { moved.append(device) }
                try session.run(
                    "DELETE FROM ahead WHERE device = $1 AND time <= $2", .integer(device),
                    .integer(wall.milliseconds + slack))
            }
            try Changes.note(moved, in: session)
            return rows.count == atOnce ? rows.last?[0].integer : nil
        }
    }
}

extension Submission {
    /// The newest location that is to be stored and is not ahead.
    var newest: LocationRow? {
        batch.locations.filter { isKept($0.time) && !isAhead($0.time) }.max { $0.time < $1.time }
    }

    /// The time of the newest location that is ahead; nil: none is.
    var newestAhead: Timestamp? {
        batch.locations.lazy.map(\.time).filter { isKept($0) && isAhead($0) }.max()
    }

    private func isAhead(_ time: Timestamp) -> Bool {
        time.milliseconds > wall.milliseconds + Turns.slack
    }

    /// Notes that this device has locations that are ahead.
    static let noteAhead = """
        INSERT INTO ahead(device, since, time) VALUES ($1, $2, $3) ON CONFLICT (device) DO UPDATE SET
            time = excluded.time WHERE excluded.time > ahead.time
        """

    /// Values for `noteAhead`; nil when none is ahead.
    var ahead: [Cell]? {
        newestAhead.map { [.integer(device), .integer(wall.milliseconds), .integer($0.milliseconds)] }
    }
}
