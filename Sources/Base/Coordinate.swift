#if canImport(Glibc)
    import Glibc
#endif

/// A WGS-84 position in degrees, finite and in range.
package struct Coordinate: Equatable, Sendable {
    /// −90…90 degrees, north positive.
    package let latitude: Double
    /// −180…180 degrees, east positive.
    package let longitude: Double

    /// - Returns: nil unless both are finite and in range.
    package init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }
}

extension Coordinate {
    /// Metres to `other` along a great circle, by the haversine formula on a sphere of the Earth's mean radius
    /// (6,371,008.8 m, IUGG). The error against the WGS-84 ellipsoid stays below 0.6 %.
    package func distance(to other: Coordinate) -> Double {
        let radians = Double.pi / 180
        let halfLatitude = sin((other.latitude - latitude) * radians / 2)
        let halfLongitude = sin((other.longitude - longitude) * radians / 2)
        let haversine =
            halfLatitude * halfLatitude
            + cos(latitude * radians) * cos(other.latitude * radians) * halfLongitude * halfLongitude
        // Rounding can push antipodes past 1, where the arc sine is NaN.
        return 2 * 6_371_008.8 * asin(min(1, haversine.squareRoot()))
    }
}
