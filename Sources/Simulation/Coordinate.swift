import Glibc

/// A WGS-84 position in degrees.
public struct Coordinate: Equatable, Sendable {
    /// Degrees, north positive.
    public var latitude: Double
    /// Degrees, east positive.
    public var longitude: Double

    /// Creates a coordinate from degrees; nothing is checked.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The position this many metres away, on the plane tangent to the ellipsoid here: accurate to centimetres within
    /// the few kilometres a drive spans.
    public func moved(east: Double, north: Double) -> Coordinate {
        let semiMajor = 6_378_137.0
        let eccentricitySquared = 0.006_694_379_990_14
        let sine = sin(latitude * .pi / 180)
        let bulge = 1 - eccentricitySquared * sine * sine
        let meridian = semiMajor * (1 - eccentricitySquared) / (bulge * bulge.squareRoot())
        let parallel = semiMajor / bulge.squareRoot() * cos(latitude * .pi / 180)
        var longitude = longitude + east / parallel * 180 / .pi
        if longitude >= 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        return Coordinate(latitude: latitude + north / meridian * 180 / .pi, longitude: longitude)
    }
}
