internal import Base
internal import SQLite
internal import Tracking

/// Trips that have ended, by their start. There are few of them, so each statement is prepared where it is used.
struct TripTable {
    /// Kept at most.
    static let limit = 1000

    private static let columns =
        "started_at, ended_at, start_lat, start_lng, end_lat, end_lng, metres, top_speed, idle"

    private let db: Connection

    init(_ db: Connection) {
        self.db = db
    }

    /// Part of the transaction in which they end. One with the same start is the same, seen again.
    ///
    /// - Parameter replaces: else those that are there stay as they are.
    func insert(_ trips: [Trip], replaces: Bool = true) throws(SQLiteError) {
        guard !trips.isEmpty else { return }
        let places = Array(repeating: "?", count: 9).joined(separator: ", ")
        let insert = try db.prepare(
            "INSERT OR \(replaces ? "REPLACE" : "IGNORE") INTO trips (\(Self.columns)) VALUES (\(places))")
        for trip in trips {
            try insert.run(
                .integer(trip.start.milliseconds), .integer(trip.end.milliseconds),
                .optional(trip.startPlace?.latitude), .optional(trip.startPlace?.longitude),
                .optional(trip.endPlace?.latitude), .optional(trip.endPlace?.longitude),
                .real(trip.metres), .optional(trip.topSpeed), .real(trip.idle))
        }
        try db.execute(
            """
            DELETE FROM trips WHERE started_at < \
            (SELECT started_at FROM trips ORDER BY started_at DESC LIMIT 1 OFFSET \(Self.limit - 1))
            """)
    }

    /// Part of a deletion of positions; the sums stay.
    func removePlaces(upTo cutoff: Timestamp?) throws(SQLiteError) {
        for (place, time) in [("start", "started_at"), ("end", "ended_at")] {
            try db.prepare("UPDATE trips SET \(place)_lat = NULL, \(place)_lng = NULL WHERE \(time) <= ?")
                .run(
                    .integer(cutoff?.milliseconds ?? .max))
        }
    }

    /// Trips that touch this time, oldest first, at most `limit`.
    static func all(
        _ db: Connection, from: Timestamp?, to: Timestamp?, limit: Int = limit
    ) throws(SQLiteError) -> [Trip] {
        let rows = try db.prepare(
            """
            SELECT \(columns) FROM trips WHERE ended_at >= ? AND started_at <= ? ORDER BY started_at LIMIT ?
            """)
        try rows.bind([
            .integer(from?.milliseconds ?? .min), .integer(to?.milliseconds ?? .max), .integer(Int64(limit)),
        ])
        var found: [Trip] = []
        while try rows.step() {
            func place(_ column: Int32) -> Coordinate? {
                rows.optionalReal(column).flatMap { latitude in
                    rows.optionalReal(column + 1).flatMap { Coordinate(latitude: latitude, longitude: $0) }
                }
            }
            found.append(
                Trip(
                    start: Timestamp(milliseconds: rows.integer(0)),
                    end: Timestamp(milliseconds: max(rows.integer(1), rows.integer(0))),
                    startPlace: place(2), endPlace: place(4), metres: max(rows.real(6), 0),
                    topSpeed: rows.optionalReal(7), idle: max(rows.real(8), 0)))
        }
        return found
    }
}
