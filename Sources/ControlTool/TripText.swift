internal import Base
package import ControlProtocol

/// Trips as a table of 80 columns.
package enum TripText {
    /// The header, one line per trip, and the sum of several.
    ///
    /// - Parameter width: of the terminal; nil: all columns.
    package static func table(
        _ trips: [Wire.Trip], clock: LocalClock, units: Units = .metric, width: Int? = nil
    ) -> [String] {
        let table = Table(
            [
                .init(title: "STARTED (\(clock.zone.name))", width: 19, worth: 9),
                .init(title: "ENDED", width: 11, worth: 3),
                .init(title: units.long.name, width: 8, isRight: true, worth: 9),
                .init(title: "TOP \(units.speedName)", width: 8, isRight: true, worth: 2),
                .init(title: "TIME", width: 11, isRight: true, worth: 4),
                .init(title: "STANDING", width: 11, isRight: true, worth: 1),
            ], width: width)
        func length(_ meters: Double) -> String { Quantity.fitting(units.long.count(meters), 1, 8) }
        var lines = [table.header]
        lines += trips.map { trip in
            table.row([
                String(clock.local(trip.startedAt).prefix(16)),
                trip.endedAt.map { String(clock.local($0).dropFirst(5).prefix(11)) } ?? "under way",
                length(trip.distanceMeters),
                trip.topSpeed.map { Quantity.fitting(units.speed($0), 0, 8) } ?? "-",
                duration(trip.durationSeconds), duration(trip.idleSeconds),
            ])
        }
        guard trips.count > 1 else { return lines }
        let total = trips.reduce(0) { $0 + $1.distanceMeters }
        let time = trips.reduce(0) { $0 + $1.durationSeconds }
        let standing = trips.reduce(0) { $0 + $1.idleSeconds }
        lines.append(
            table.row([
                "\(Quantity.count(trips.count)) trips", "", length(total), "", duration(time),
                duration(standing),
            ]))
        return lines
    }

    private static func duration(_ seconds: Double) -> String {
        Quantity.duration(seconds: Int64(exactly: min(max(seconds, 0), 1e12).rounded()) ?? 0)
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
