import Base
import Support
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// Length of the geodesic on WGS-84 by Vincenty's inverse formula (Survey Review 23, 1975): accurate to 0.1 mm except
/// for nearly antipodal points.
func geodesic(_ from: Coordinate, _ to: Coordinate) -> Double {
    let (a, f) = (6_378_137.0, 1 / 298.257_223_563)
    let b = a * (1 - f)
    let radians = Double.pi / 180
    let (u1, u2) = (
        atan((1 - f) * tan(from.latitude * radians)), atan((1 - f) * tan(to.latitude * radians))
    )
    let difference = (to.longitude - from.longitude) * radians
    var lambda = difference
    var (sigma, sinSigma, cosSigma, cos2Alpha, cosMiddle) = (0.0, 0.0, 1.0, 1.0, 0.0)
    for _ in 0..<100 {
        let (x, y) = (
            cos(u2) * sin(lambda), cos(u1) * sin(u2) - sin(u1) * cos(u2) * cos(lambda)
        )
        sinSigma = (x * x + y * y).squareRoot()
        if sinSigma == 0 { return 0 }
        cosSigma = sin(u1) * sin(u2) + cos(u1) * cos(u2) * cos(lambda)
        sigma = atan2(sinSigma, cosSigma)
        let sinAlpha = cos(u1) * cos(u2) * sin(lambda) / sinSigma
        cos2Alpha = 1 - sinAlpha * sinAlpha
        cosMiddle = cos2Alpha > 0 ? cosSigma - 2 * sin(u1) * sin(u2) / cos2Alpha : 0
        let c = f / 16 * cos2Alpha * (4 + f * (4 - 3 * cos2Alpha))
        let before = lambda
        lambda =
            difference + (1 - c) * f * sinAlpha
            * (sigma + c * sinSigma * (cosMiddle + c * cosSigma * (2 * cosMiddle * cosMiddle - 1)))
        if abs(lambda - before) < 1e-13 { break }
    }
    let uSquared = cos2Alpha * (a * a - b * b) / (b * b)
    let bigA = 1 + uSquared / 16384 * (4096 + uSquared * (-768 + uSquared * (320 - 175 * uSquared)))
    let bigB = uSquared / 1024 * (256 + uSquared * (-128 + uSquared * (74 - 47 * uSquared)))
    let middle2 = cosMiddle * cosMiddle
    let inner =
        cosSigma * (2 * middle2 - 1)
        - bigB / 6 * cosMiddle * (4 * sinSigma * sinSigma - 3) * (4 * middle2 - 3)
    return b * bigA * (sigma - bigB * sinSigma * (cosMiddle + bigB / 4 * inner))
}

/// The position about `metres` away in direction `bearing`, on a sphere.
func place(from start: Coordinate, metres: Double, bearing: Double) throws -> Coordinate {
    let radians = Double.pi / 180
    let (arc, latitude, course) = (metres / 6_371_008.8, start.latitude * radians, bearing * radians)
    let sine = sin(latitude) * cos(arc) + cos(latitude) * sin(arc) * cos(course)
    let end = asin(min(max(sine, -1), 1))
    let turn = atan2(sin(course) * sin(arc) * cos(latitude), cos(arc) - sin(latitude) * sine)
    var longitude = start.longitude + turn / radians
    if longitude > 180 { longitude -= 360 }
    if longitude < -180 { longitude += 360 }
    return try #require(Coordinate(latitude: end / radians, longitude: longitude))
}

/// The bounds are those stated in the documentation of `EarthPoint`.
@Test(
    "distances keep to their error bounds everywhere: poles and antimeridian are nothing special",
    arguments: [
        (1, 1e-4), (100, 1e-4), (10_000, 1.2e-4), (100_000, 0.02), (1_000_000, 13), (8_000_000, 40_000),
    ]
        as [(Double, Double)])
func errorBounds(metres: Double, bound: Double) throws {
    var random = SeededGenerator(seed: 7)
    var worst = 0.0
    for round in 0..<2000 {
        // Half of them are around the poles and the antimeridian.
        let latitude =
            round % 4 == 0 ? 90 : round % 4 == 1 ? -89.9999 : Double.random(in: -90...90, using: &random)
        let longitude = round % 4 == 2 ? 179.9999 : Double.random(in: -180...180, using: &random)
        let from = try #require(Coordinate(latitude: latitude, longitude: longitude))
        let to = try place(from: from, metres: metres, bearing: Double.random(in: 0...360, using: &random))
        worst = max(worst, abs(EarthPoint(from).distance(to: EarthPoint(to)) - geodesic(from, to)))
    }
    #expect(worst <= bound, "\(worst) m at \(metres) m")
}

@Test("arc and chord are inverse, and nothing is further away than the other side of the Earth")
func arcsAndChords() throws {
    for arc in [0.0, 1, 1000, 1e6, 1e7, 2e7] {
        #expect(abs(EarthPoint.arc(ofChord: EarthPoint.chord(ofArc: arc)) - arc) <= 1e-9 * arc)
    }
    #expect(EarthPoint.arc(ofChord: 1e9) == .pi * 6_371_008.8)
    #expect(EarthPoint.chord(ofArc: 1e9) == 2 * 6_371_008.8)
}

@Test("a segment passes a point where it should")
func passages() throws {
    let centre = EarthPoint(x: 0, y: 0, z: 0)
    func segment(_ fromX: Double, _ toX: Double, y: Double = 0) -> Segment {
        Segment(start: EarthPoint(x: fromX, y: y, z: 0), end: EarthPoint(x: toX, y: y, z: 0))
    }
    func passage(_ segment: Segment) -> [Double]? {
        segment.passage(of: centre, within: 5).map { [$0.enters, $0.leaves] }
    }
    #expect(passage(segment(-10, 10)) == [0.25, 0.75])
    #expect(passage(segment(0, 10)) == [0, 0.5])
    #expect(passage(segment(-10, 0)) == [0.5, 1])
    #expect(passage(segment(1, 2)) == [0, 1])
    #expect(passage(segment(6, 10)) == nil)
    #expect(passage(segment(-10, -6)) == nil)
    #expect(passage(segment(-10, 10, y: 6)) == nil)
    #expect(passage(segment(3, 3)) == [0, 1])
    #expect(passage(segment(6, 6)) == nil)
    #expect(abs(segment(-10, 10, y: 3).closestApproach(to: centre) - 3) < 1e-9)
    #expect(abs(segment(6, 10).closestApproach(to: centre) - 6) < 1e-9)
    #expect(abs(segment(6, 6).closestApproach(to: centre) - 6) < 1e-9)
}
