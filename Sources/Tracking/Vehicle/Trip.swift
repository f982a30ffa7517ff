package import Base

/// What lies between two stays.
package struct Trip: Equatable, Sendable {
    /// Fix time.
    package var start: Timestamp
    /// Fix time of the beginning of the stay that ended it; ≥ start.
    package var end: Timestamp
    /// nil where no fix told, and when it has been deleted.
    package var startPlace: Coordinate?
    package var endPlace: Coordinate?
    /// By the odometer.
    package var metres: Double
    /// Metres per second; nil when no speed was reported.
    package var topSpeed: Double?
    /// Seconds of it in which the vehicle stood, with the ignition on where that is known.
    package var idle: Double

    package init(
        start: Timestamp, end: Timestamp, startPlace: Coordinate?, endPlace: Coordinate?, metres: Double,
        topSpeed: Double?, idle: Double
    ) {
        self.start = start
        self.end = end
        self.startPlace = startPlace
        self.endPlace = endPlace
        self.metres = metres
        self.topSpeed = topSpeed
        self.idle = idle
    }

    /// Seconds.
    package var duration: Double { end.seconds(since: start) }
}
