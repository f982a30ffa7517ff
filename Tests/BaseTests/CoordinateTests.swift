import Support
import Testing

@testable import Base

/// Geodesics on WGS-84 from GeographicLib (GeodSolve) and the definitions of the ellipsoid itself.
@Test(
    "distances lie within 0.6 % of the geodesic",
    arguments: [
        // One degree of the equator, and of the meridian at the equator and at the pole.
        (0, 0, 0, 1, 111_319.491),
        (0, 0, 1, 0, 110_574.389),
        (89, 0, 90, 0, 111_693.865),
        // A quarter of the meridian, and half of the equator.
        (0, 0, 90, 0, 10_001_965.729),
        (0, -90, 0, 89.5, 19_981_848.6),
        // New York JFK to London Heathrow.
        (40.6, -73.8, 51.6, -0.5, 5_551_759.4),
        // Across the date line.
        (0, 179.5, 0, -179.5, 111_319.491),
    ] as [(Double, Double, Double, Double, Double)])
func distanceAgainstGeodesic(
    latitude: Double, longitude: Double, toLatitude: Double, toLongitude: Double, meters: Double
) throws {
    let start = try #require(Coordinate(latitude: latitude, longitude: longitude))
    let end = try #require(Coordinate(latitude: toLatitude, longitude: toLongitude))
    #expect(abs(start.distance(to: end) - meters) <= 0.006 * meters)
    #expect(abs(end.distance(to: start) - start.distance(to: end)) < 1e-6)
}

@Test("distances are finite, even for identical points and antipodes")
func distanceExtremes() throws {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<1000 {
        let latitude = Double.random(in: -90...90, using: &random)
        let longitude = Double.random(in: -180...0, using: &random)
        let here = try #require(Coordinate(latitude: latitude, longitude: longitude))
        let antipode = try #require(Coordinate(latitude: -latitude, longitude: longitude + 180))
        try #require(here.distance(to: here) == 0)
        try #require(abs(here.distance(to: antipode) - .pi * 6_371_008.8) < 1)
    }
}

@Test(
    "coordinates outside the Earth are none",
    arguments: [(90.000001, 0), (-91, 0), (0, 180.1), (0, -181), (.nan, 0), (0, .nan), (.infinity, 0)]
        as [(Double, Double)])
func noCoordinate(latitude: Double, longitude: Double) {
    #expect(Coordinate(latitude: latitude, longitude: longitude) == nil)
}
