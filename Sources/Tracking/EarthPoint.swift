internal import Base

#if canImport(Glibc)
    import Glibc
#endif

/// A point on the WGS-84 ellipsoid, in metres from the Earth's centre (ECEF, height 0).
///
/// Distances between such points need no angles, so neither the poles nor the antimeridian are special, and the
/// expensive part (the sines) is computed once per point. A straight chord is converted to a distance along the
/// ground by treating the ground as an arc of the Earth's mean radius. The true radius of curvature lies between
/// 6,335 and 6,400 km, so the error stays below 1.2 % of the difference between arc and chord: under 0.02 mm for 10
/// km, 2 cm for 100 km, 12 m for 1,000 km.
struct EarthPoint: Equatable, Sendable {
    let x: Double
    let y: Double
    let z: Double

    /// Metres (IUGG).
    private static let meanRadius = 6_371_008.8
    /// The semi-major axis of WGS-84, in metres.
    static let equatorialRadius = 6_378_137.0
    /// The first eccentricity of WGS-84, squared.
    static let eccentricitySquared = 6.694_379_990_141_317e-3

    init(x: Double, y: Double, z: Double) {
        self.x = x
        self.y = y
        self.z = z
    }

    init(_ coordinate: Coordinate) {
        let latitude = coordinate.latitude * .pi / 180
        let longitude = coordinate.longitude * .pi / 180
        let sine = sin(latitude)
        let normal = Self.equatorialRadius / (1 - Self.eccentricitySquared * sine * sine).squareRoot()
        x = normal * cos(latitude) * cos(longitude)
        y = normal * cos(latitude) * sin(longitude)
        z = normal * (1 - Self.eccentricitySquared) * sine
    }

    /// Square of the straight-line distance, in square metres.
    @inline(__always)
    func squaredChord(to other: EarthPoint) -> Double {
        let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
        return dx * dx + dy * dy + dz * dz
    }

    /// Metres along the ground.
    func distance(to other: EarthPoint) -> Double {
        Self.arc(ofChord: squaredChord(to: other).squareRoot())
    }

    /// Converts a straight-line distance to metres along the ground.
    static func arc(ofChord chord: Double) -> Double {
        // The longest chord of the ellipsoid slightly exceeds the diameter of the mean sphere.
        2 * meanRadius * asin(min(1, chord / (2 * meanRadius)))
    }

    /// Converts metres along the ground to a straight-line distance; anything beyond half the circumference counts as
    /// that.
    static func chord(ofArc arc: Double) -> Double {
        2 * meanRadius * sin(min(arc / (2 * meanRadius), .pi / 2))
    }
}

/// The straight line between two consecutive positions.
struct Segment {
    let start: EarthPoint
    let end: EarthPoint

    /// Where the segment enters and leaves the sphere of radius `chord` (straight-line metres) around `centre`, as
    /// fractions of its length, 0…1. nil when they do not intersect. An end that lies inside counts as 0 or 1.
    func passage(of centre: EarthPoint, within chord: Double) -> (enters: Double, leaves: Double)? {
        let (a, b, c) = polynomial(around: centre)
        guard a > 0 else { return c <= chord * chord ? (0, 1) : nil }
        let discriminant = b * b - a * (c - chord * chord)
        guard discriminant >= 0 else { return nil }
        let root = discriminant.squareRoot()
        let (first, last) = ((-b - root) / a, (-b + root) / a)
        guard first <= 1, last >= 0 else { return nil }
        return (max(first, 0), min(last, 1))
    }

    /// Metres along the ground between `centre` and the nearest point of the segment.
    func closestApproach(to centre: EarthPoint) -> Double {
        let (a, b, c) = polynomial(around: centre)
        let part = a > 0 ? min(max(-b / a, 0), 1) : 0
        return EarthPoint.arc(ofChord: max(c + part * (2 * b + part * a), 0).squareRoot())
    }

    /// Squared distance from `centre` at the fraction t of the segment: c + 2bt + at².
    private func polynomial(around centre: EarthPoint) -> (a: Double, b: Double, c: Double) {
        let span = EarthPoint(x: end.x - start.x, y: end.y - start.y, z: end.z - start.z)
        let offset = EarthPoint(x: start.x - centre.x, y: start.y - centre.y, z: start.z - centre.z)
        return (
            span.x * span.x + span.y * span.y + span.z * span.z,
            span.x * offset.x + span.y * offset.y + span.z * offset.z,
            offset.x * offset.x + offset.y * offset.y + offset.z * offset.z
        )
    }
}
