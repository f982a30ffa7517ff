internal import Base
package import ControlProtocol

/// Trips as a table of 80 columns.
package enum TripText {
    /// The header, one line per trip, and the sum of several.
    package static func table(_ trips: [Wire.Trip], clock: Clock) -> [String] {
        var lines = [row("STARTED (\(clock.zone.name))", "ENDED", "km", "TOP km/h", "TIME", "STANDING")]
        lines += trips.map { trip in
            row(
                String(clock.local(trip.startedAt).prefix(16)),
                trip.endedAt.map { String(clock.local($0).dropFirst(5).prefix(11)) } ?? "under way",
                kilometers(trip.distanceMeters),
                trip.topSpeed.map { Quantity.fitting($0 * 3.6, 0, 8) } ?? "-",
                duration(trip.durationSeconds), duration(trip.idleSeconds))
        }
        guard trips.count > 1 else { return lines }
        let total = trips.reduce(0) { $0 + $1.distanceMeters }
        let time = trips.reduce(0) { $0 + $1.durationSeconds }
        let standing = trips.reduce(0) { $0 + $1.idleSeconds }
        lines.append(
            row(
                "\(Quantity.count(trips.count)) trips", "", kilometers(total), "", duration(time),
                duration(standing)))
        return lines
    }

    private static func kilometers(_ meters: Double) -> String { Quantity.fitting(meters / 1000, 1, 8) }

    private static func duration(_ seconds: Double) -> String {
        Quantity.duration(seconds: Int64(exactly: min(max(seconds, 0), 1e12).rounded()) ?? 0)
    }

    private static func row(
        _ start: String, _ end: String, _ length: String, _ top: String, _ time: String, _ standing: String
    ) -> String {
        [
            Text.left(start, 19), Text.left(end, 11), Text.right(length, 8), Text.right(top, 8),
            Text.right(time, 12), Text.right(standing, 12),
        ].joined(separator: " ")
    }
}

/// Trips as comma-separated values: UTC times, and numbers that read back exactly.
package enum TripCSV {
    package static let header =
        "started_at,ended_at,distance_meters,duration_seconds,top_speed,idle_seconds,start_latitude,start_longitude,"
        + "end_latitude,end_longitude"

    /// One line; absent values are empty.
    package static func row(_ trip: Wire.Trip) -> String {
        let numbers = [
            trip.distanceMeters, trip.durationSeconds, trip.topSpeed, trip.idleSeconds, trip.start?.latitude,
            trip.start?.longitude, trip.end?.latitude, trip.end?.longitude,
        ]
        return ([trip.startedAt, trip.endedAt ?? ""] + numbers.map { $0.map(Quantity.exact) ?? "" })
            .map(LocationCSV.field).joined(separator: ",")
    }
}

/// Trips as GPX 1.1, a `trk` each, of the locations that are still stored.
package struct TripGPX {
    private let gpx = LocationGPX()
    /// Trips without a stored location, which are left out.
    package private(set) var missing = 0
    private var isOpen = false

    package init() {}

    package func head() -> [String] { gpx.head() }

    /// The next locations of a trip.
    package mutating func lines(_ trip: Wire.Trip, _ page: [Wire.Location]) -> [String] {
        guard !page.isEmpty else { return [] }
        var lines: [String] = []
        if !isOpen {
            let distance = Quantity.distance(meters: trip.distanceMeters)
            lines.append(
                "<trk><name>\(Markup.escape(trip.startedAt))</name><desc>\(Markup.escape(distance))</desc><trkseg>"
            )
            isOpen = true
        }
        return lines + page.map(gpx.point)
    }

    /// The trip has no more of them.
    package mutating func endTrip() -> [String] {
        defer { isOpen = false }
        if !isOpen { missing += 1 }
        return isOpen ? ["</trkseg></trk>"] : []
    }

    package func tail() -> [String] { ["</gpx>"] }
}
