package import Base

/// A merged, valid epoch: one measurement instant of one receiver, with mode ≥ 2, a position and a time.
package struct Fix: Equatable, Sendable {
    /// The receiver's path as gpsd names it; empty when gpsd did not say.
    package var device: String
    /// The receiver's fix time, never the time of receipt.
    package var time: Timestamp
    /// 2 or 3, as gpsd's NMEA mode.
    package var mode: Int
    /// Always finite and in range.
    package var coordinate: Coordinate
    /// Metres, horizontal, ≥ 0. gpsd's eph, else √(epx² + epy²); gpsd promises no confidence level.
    package var accuracy: Double?
    /// Metres per second, ≥ 0. Zero only when the receiver reported zero.
    package var speed: Double?
    /// Degrees from true north, 0 ≤ bearing < 360: the direction of travel.
    package var bearing: Double?
    /// Metres above the WGS-84 ellipsoid; only of a fix with mode 3.
    package var altitude: Double?
    /// gpsd reports a simulated receiver (STATUS_SIM).
    package var isMock: Bool

    /// Optional values are nil when the receiver did not report them.
    package init(
        device: String = "", time: Timestamp, mode: Int, coordinate: Coordinate, accuracy: Double? = nil,
        speed: Double? = nil, bearing: Double? = nil, altitude: Double? = nil, isMock: Bool = false
    ) {
        self.device = device
        self.time = time
        self.mode = mode
        self.coordinate = coordinate
        self.accuracy = accuracy
        self.speed = speed
        self.bearing = bearing
        self.altitude = altitude
        self.isMock = isMock
    }
}
