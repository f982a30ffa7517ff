#if canImport(Glibc)
    import Glibc
#endif

extension Coordinate {
    /// Metres to `other` along a great circle, by the haversine formula on a sphere of the Earth's mean radius
    /// (6,371,008.8 m, IUGG). The error against the WGS-84 ellipsoid stays below 0.6 %.
    public func distance(to other: Coordinate) -> Double {
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

/// The smaller angle between two bearings, 0…180 degrees.
func angle(between first: Double, and second: Double) -> Double {
    let difference = abs(first - second).truncatingRemainder(dividingBy: 360)
    return difference > 180 ? 360 - difference : difference
}
