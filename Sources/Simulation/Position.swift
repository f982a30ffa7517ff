import Glibc

/// A WGS-84 position in degrees.
package struct Position: Equatable, Sendable {
    /// Degrees, north positive.
    package var latitude: Double
    /// Degrees, east positive.
    package var longitude: Double

    /// Degrees; nothing is checked.
    package init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The position this many metres away, on the plane tangent to the ellipsoid here: accurate to centimetres within
    /// the few kilometres a drive spans.
    package func moved(east: Double, north: Double) -> Position {
        let semiMajor = 6_378_137.0
        let eccentricitySquared = 0.006_694_379_990_14
        let sine = sin(latitude * .pi / 180)
        let bulge = 1 - eccentricitySquared * sine * sine
        let meridian = semiMajor * (1 - eccentricitySquared) / (bulge * bulge.squareRoot())
        let parallel = semiMajor / bulge.squareRoot() * cos(latitude * .pi / 180)
        var longitude = longitude + east / parallel * 180 / .pi
        if longitude >= 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        return Position(latitude: latitude + north / meridian * 180 / .pi, longitude: longitude)
    }
}
