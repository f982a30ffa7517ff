package import Base

#if canImport(Glibc)
    import Glibc
#endif

/// The outline of a geofence that is no circle: one ring of corners, joined by edges that are straight in longitude and
/// latitude. It may cross the antimeridian; each edge takes the shorter way round.
package struct Polygon: Equatable, Sendable {
    package static let cornerRange = 3...500
    /// Metres between the two corners that are furthest apart.
    package static let largestExtent = 200_000.0
    /// Degrees. Nearer the poles an edge that is straight in longitude and latitude is a pronounced arc on the ground.
    package static let highestLatitude = 85.0

    /// Counterclockwise from the first given, which is not repeated at the end; no two in succession alike.
    package let corners: [Coordinate]
    /// The centroid, which may lie outside.
    package let centre: Coordinate
    /// Metres: that of the circle of the same area.
    package let radius: Double

    /// - Parameter ring: the first corner may be repeated at the end, as in GeoJSON; corners may go either way round.
    /// - Throws: `Geofence.Invalid`, describing the first thing that is wrong.
    package init(_ ring: [Coordinate]) throws(Geofence.Invalid) {
        // A corner that is repeated counts once.
        var corners = ring.indices.filter { $0 == 0 || ring[$0] != ring[$0 - 1] }.map { ring[$0] }
        if corners.count > 1, corners.first == corners.last { corners.removeLast() }
        guard Self.cornerRange.contains(corners.count) else { throw Self.wrongCount }
        guard corners.allSatisfy({ abs($0.latitude) <= Self.highestLatitude }) else {
            throw Geofence.Invalid(
                reason:
                    "a polygon lies between 85 degrees south and 85 degrees north; nearer the poles use a circle"
            )
        }
        let ring = PolygonRing(corners)
        guard ring.isClosed, ring.width <= 180 else {
            throw Geofence.Invalid(reason: "a polygon spans at most 180 degrees of longitude")
        }
        guard Self.extent(of: corners) <= Self.largestExtent else {
            throw Geofence.Invalid(reason: "no two corners of a polygon are more than 200 km apart")
        }
        if let (first, second) = ring.intersection() {
            throw Geofence.Invalid(
                reason:
                    "the edges of a polygon must not meet: those after corners \(first + 1) and \(second + 1) do"
            )
        }
        guard let turned = ring.squareMetres(), turned != 0 else {
            throw Geofence.Invalid(reason: "a polygon has an area")
        }
        // As GeoJSON has it. What is kept of it is computed from what is kept, so that it is the same to the last digit when
        // it is read back.
        let kept = turned > 0 ? corners : corners.prefix(1) + corners.dropFirst().reversed()
        let keptRing = turned > 0 ? ring : PolygonRing(kept)
        guard let centre = keptRing.centroid(), let area = keptRing.squareMetres() else {
            throw Geofence.Invalid(reason: "a polygon has an area")
        }
        self.corners = kept
        self.centre = centre
        radius = (abs(area) / .pi).squareRoot()
    }

    static let wrongCount = Geofence.Invalid(
        reason: "a polygon has \(cornerRange.lowerBound) to \(cornerRange.upperBound) different corners")

    /// Metres between the two corners that are furthest apart; more exact only where that matters.
    private static func extent(of corners: [Coordinate]) -> Double {
        let places = corners.map { EarthPoint($0) }
        let reach = places.map { $0.distance(to: places[0]) }.max() ?? 0
        guard 2 * reach > largestExtent, reach <= largestExtent else { return reach }
        var longest = 0.0
        for (index, place) in places.enumerated() {
            for other in places[..<index] { longest = max(longest, place.squaredChord(to: other)) }
        }
        return EarthPoint.arc(ofChord: longest.squareRoot())
    }
}

/// The corners in degrees east and north of the first one, which is repeated at the end: plane geometry.
struct PolygonRing {
    let origin: Coordinate
    private(set) var xs: [Double]
    private(set) var ys: [Double]
    /// Whether the edges lead back to the first corner, and not around a pole.
    let isClosed: Bool

    /// - Parameter corners: at least one; the first is not repeated at the end.
    init(_ corners: [Coordinate]) {
        origin = corners[0]
        xs = [0]
        ys = [0]
        xs.reserveCapacity(corners.count + 1)
        ys.reserveCapacity(corners.count + 1)
        var (turn, before) = (0.0, origin)
        for corner in corners.dropFirst() {
            turn += Self.wrapped(corner.longitude - before.longitude)
            // Not the sum of many differences: that would round.
            let x = corner.longitude - origin.longitude
            xs.append(x + 360 * ((turn - x) / 360).rounded())
            ys.append(corner.latitude - origin.latitude)
            before = corner
        }
        turn += Self.wrapped(origin.longitude - before.longitude)
        isClosed = abs(turn) < 180
        xs.append(0)
        ys.append(0)
    }

    var edges: Range<Int> { 0..<(xs.count - 1) }

    /// Degrees of longitude.
    var width: Double { (xs.max() ?? 0) - (xs.min() ?? 0) }

    /// Degrees, the shorter way round.
    static func wrapped(_ degrees: Double) -> Double {
        degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
    }

    /// Two edges that have a point in common which is not the corner between them, each by the corner it begins at.
    func intersection() -> (Int, Int)? {
        let sorted = edges.sorted { min(xs[$0], xs[$0 + 1]) < min(xs[$1], xs[$1 + 1]) }
        for (place, first) in sorted.enumerated() {
            let end = max(xs[first], xs[first + 1])
            let (low, high) = (min(ys[first], ys[first + 1]), max(ys[first], ys[first + 1]))
            for second in sorted[(place + 1)...] {
                guard min(xs[second], xs[second + 1]) <= end else { break }
                guard max(ys[second], ys[second + 1]) >= low, min(ys[second], ys[second + 1]) <= high else {
                    continue
                }
                if meet(first, second) { return (min(first, second), max(first, second)) }
            }
        }
        return nil
    }

    private func meet(_ first: Int, _ second: Int) -> Bool {
        let count = edges.count
        if (first + 1) % count == second { return foldsBack(first, second) }
        if (second + 1) % count == first { return foldsBack(second, first) }
        let sides = (
            side(first, second), side(first, second + 1), side(second, first), side(second, first + 1)
        )
        if sides.0 * sides.1 < 0, sides.2 * sides.3 < 0 { return true }
        return sides.0 == 0 && lies(second, on: first) || sides.1 == 0 && lies(second + 1, on: first)
            || sides.2 == 0 && lies(first, on: second) || sides.3 == 0 && lies(first + 1, on: second)
    }

    /// Whether an edge runs back along the one before it.
    private func foldsBack(_ edge: Int, _ next: Int) -> Bool {
        guard side(edge, next + 1) == 0 else { return false }
        let (dx, dy) = (xs[edge + 1] - xs[edge], ys[edge + 1] - ys[edge])
        return dx * (xs[next + 1] - xs[next]) + dy * (ys[next + 1] - ys[next]) < 0
    }

    /// −1, 0 or 1: on which side of the edge's line a corner lies.
    private func side(_ edge: Int, _ corner: Int) -> Double {
        let (dx, dy) = (xs[edge + 1] - xs[edge], ys[edge + 1] - ys[edge])
        let cross = dx * (ys[corner] - ys[edge]) - dy * (xs[corner] - xs[edge])
        return cross > 0 ? 1 : cross < 0 ? -1 : 0
    }

    /// Whether a corner on the edge's line lies on the edge.
    private func lies(_ corner: Int, on edge: Int) -> Bool {
        (min(xs[edge], xs[edge + 1])...max(xs[edge], xs[edge + 1])).contains(xs[corner])
            && (min(ys[edge], ys[edge + 1])...max(ys[edge], ys[edge + 1])).contains(ys[corner])
    }

    func centroid() -> Coordinate? {
        var (area, x, y) = (0.0, 0.0, 0.0)
        for edge in edges {
            let cross = xs[edge] * ys[edge + 1] - xs[edge + 1] * ys[edge]
            area += cross
            x += (xs[edge] + xs[edge + 1]) * cross
            y += (ys[edge] + ys[edge + 1]) * cross
        }
        guard area != 0 else { return nil }
        return Coordinate(
            latitude: origin.latitude + y / (3 * area),
            longitude: Self.wrapped(origin.longitude + x / (3 * area)))
    }

    /// The area on the ellipsoid, to a few hundred-thousandths: the integral of that below each edge. Negative when the
    /// corners go clockwise.
    func squareMetres() -> Double? {
        let radians = Double.pi / 180
        let middle = origin.latitude + ((ys.min() ?? 0) + (ys.max() ?? 0)) / 2
        let scale = LocalScale(latitude: middle)
        let cosine = cos(middle * radians)
        guard cosine > 0 else { return nil }
        /// The integral of the cosine from the origin's latitude, in degrees.
        func band(_ y: Double) -> Double {
            2 * cos((origin.latitude + y / 2) * radians) * sin(y / 2 * radians) / radians
        }
        let sum = edges.reduce(0) { sum, edge in
            let (low, high) = (ys[edge], ys[edge + 1])
            let mean = (band(low) + 4 * band((low + high) / 2) + band(high)) / 6
            return sum + (xs[edge + 1] - xs[edge]) * mean
        }
        return -sum * scale.north * scale.east / cosine
    }
}

/// Metres per degree around one place.
struct LocalScale {
    let east: Double
    let north: Double

    init(latitude: Double) {
        let radians = Double.pi / 180
        let sine = sin(latitude * radians)
        let w = 1 - EarthPoint.eccentricitySquared * sine * sine
        let normal = EarthPoint.equatorialRadius / w.squareRoot()
        east = normal * cos(latitude * radians) * radians
        north = normal * (1 - EarthPoint.eccentricitySquared) / w * radians
    }
}
