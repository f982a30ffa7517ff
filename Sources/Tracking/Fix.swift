/// A WGS-84 position in degrees, finite and in range.
public struct Coordinate: Equatable, Sendable {
    /// −90…90 degrees, north positive.
    public let latitude: Double
    /// −180…180 degrees, east positive.
    public let longitude: Double

    /// - Returns: nil unless both are finite and in range.
    public init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }
}

/// A merged, valid epoch: one measurement instant of one receiver, with mode ≥ 2, a position and a time.
public struct Fix: Equatable, Sendable {
    /// The receiver's path as gpsd names it; empty when gpsd did not say.
    public var device: String
    /// The receiver's fix time, never the time of receipt.
    public var time: Timestamp
    /// 2 or 3, as gpsd's NMEA mode.
    public var mode: Int
    /// Always finite and in range.
    public var coordinate: Coordinate
    /// Metres, horizontal, ≥ 0. gpsd's eph, else √(epx² + epy²); gpsd promises no confidence level.
    public var accuracy: Double?
    /// Metres per second, ≥ 0. Zero only when the receiver reported zero.
    public var speed: Double?
    /// Degrees from true north, 0 ≤ bearing < 360: the direction of travel.
    public var bearing: Double?
    /// Metres above the WGS-84 ellipsoid; only of a fix with mode 3.
    public var altitude: Double?
    /// gpsd reports a simulated receiver (STATUS_SIM).
    public var isMock: Bool

    /// Optional values are nil when the receiver did not report them.
    public init(
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
