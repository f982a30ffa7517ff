package import Base

#if canImport(Glibc)
    import Glibc
#endif

/// A polygon prepared for what is asked of it: how far away is its edge, and on which side of it?
///
/// Edges are grouped in blocks with a bounding box each: most blocks are passed over with one comparison.
package struct PolygonOutline: Sendable {
    /// Where the fix is, seen from a polygon.
    struct Viewpoint {
        let coordinate: Coordinate
        let place: EarthPoint
        let scale: LocalScale
        /// Metres; no further can the path have passed by.
        let reach: Double
        /// No piece of the path is long enough to lead from outside as deep inside as counts, and out again.
        let isShallow: Bool

        init(_ coordinate: Coordinate, _ place: EarthPoint, reach: Double = 0, isShallow: Bool = false) {
            self.coordinate = coordinate
            self.place = place
            self.reach = reach
            self.isShallow = isShallow
            scale = LocalScale(latitude: coordinate.latitude)
        }
    }

    fileprivate struct Block {
        var edges: Range<Int>
        var (west, east) = (Double.infinity, -Double.infinity)
        var (south, north) = (Double.infinity, -Double.infinity)

        init(_ edges: Range<Int>, of ring: PolygonRing) {
            self.edges = edges
            for corner in edges.lowerBound...edges.upperBound {
                west = min(west, ring.xs[corner])
                east = max(east, ring.xs[corner])
                south = min(south, ring.ys[corner])
                north = max(north, ring.ys[corner])
            }
        }
    }

    private static let blockSize = 8

    /// Metres: that of the circle of the same area.
    let size: Double
    /// Metres from the centre within which all of it lies.
    let reach: Double
    private let ring: PolygonRing
    private let blocks: [Block]

    /// What is computed once for each polygon.
    package init(_ polygon: Polygon) {
        let ring = PolygonRing(polygon.corners)
        let centre = EarthPoint(polygon.centre)
        let places = polygon.corners.map { EarthPoint($0) }
        let far = places.map { centre.distance(to: $0) }.max() ?? 0
        // Between corners an edge may bulge outwards: by less than that of a parallel, whose curvature this is.
        let longest = zip(places, places.dropFirst() + [places[0]]).map { $0.distance(to: $1) }.max() ?? 0
        let steepest = polygon.corners.map { abs($0.latitude) }.max() ?? 0
        let bulge = longest * longest * tan(steepest * .pi / 180) / (8 * 6_356_000)
        reach = far + 1.2 * bulge + 1
        size = polygon.radius
        self.ring = ring
        blocks = stride(from: 0, to: ring.edges.count, by: Self.blockSize).map {
            Block($0..<min($0 + Self.blockSize, ring.edges.count), of: ring)
        }
    }

    /// In degrees of longitude and latitude.
    var edges: [EdgeTree.Edge] { ring.edges.map { edge($0) } }

    func edge(_ edge: Int) -> EdgeTree.Edge {
        let (east, north) = (ring.origin.longitude, ring.origin.latitude)
        return EdgeTree.Edge(
            x: east + ring.xs[edge], y: north + ring.ys[edge], endX: east + ring.xs[edge + 1],
            endY: north + ring.ys[edge + 1])
    }

    // MARK: The distance to the edge

    /// Metres; up to there a plane is as good as the Earth for whatever needs no more than a per cent.
    private static let levelDistance = 5000.0
    /// Metres along the ground to the nearest point of the edge; negative inside.
    package func distance(from coordinate: Coordinate) -> Double {
        let found = nearest(to: Viewpoint(coordinate, EarthPoint(coordinate)))
        return contains(coordinate) ? -found.metres : found.metres
    }

    /// The nearest edge, and metres along the ground to it: to 1 % or better up to some kilometres.
    ///
    /// - Parameters:
    ///   - hint: an edge that may be near.
    ///   - enough: metres; no edge that is nearer is sought than one that is that near.
    /// - Returns: nil where none is within `most` metres.
    func nearest(
        to view: Viewpoint, within most: Double, hint: Int, enough: Double
    ) -> (edge: Int, metres: Double)? {
        // Far away a plane may miss the nearest point by a third.
        guard most <= Self.levelDistance else { return nearest(to: view) }
        let here = position(of: view.coordinate)
        return nearest(
            to: here.x, here.y, view.scale, within: most * most * 1.02, hint: hint, enough: enough * enough
        ).map { (edge: $0.edge, metres: $0.squared.squareRoot()) }
    }

    private func nearest(to view: Viewpoint) -> (edge: Int, metres: Double) {
        let here = position(of: view.coordinate)
        guard let found = nearest(to: here.x, here.y, view.scale, within: .infinity) else {
            return (0, .infinity)
        }
        let metres = found.squared.squareRoot()
        guard metres > Self.levelDistance else { return (found.edge, metres) }
        let point = point(of: found.edge, nearestTo: here.x, here.y, view.scale)
        return (found.edge, distance(from: view.place, x: point.x, y: point.y))
    }

    /// Metres along the ground to a point in degrees like `position`.
    private func distance(from place: EarthPoint, x: Double, y: Double) -> Double {
        guard
            let point = Coordinate(
                latitude: min(max(ring.origin.latitude + y, -90), 90),
                longitude: PolygonRing.wrapped(ring.origin.longitude + x))
        else { return 0 }
        return EarthPoint(point).distance(to: place)
    }

    /// Degrees east and north of the origin, on the polygon's side of the Earth.
    private func position(of coordinate: Coordinate) -> (x: Double, y: Double) {
        (
            PolygonRing.wrapped(coordinate.longitude - ring.origin.longitude),
            coordinate.latitude - ring.origin.latitude
        )
    }

    /// Whether the coordinate lies inside: exactly.
    func contains(_ coordinate: Coordinate) -> Bool {
        let here = position(of: coordinate)
        return contains(here.x, here.y)
    }

    private func contains(_ x: Double, _ y: Double) -> Bool {
        var isInside = false
        for block in blocks where y >= block.south && y < block.north && x <= block.east {
            if x < block.west {
                if (ring.ys[block.edges.lowerBound] > y) != (ring.ys[block.edges.upperBound] > y) {
                    isInside.toggle()
                }
                continue
            }
            for edge in block.edges {
                let (low, high) = (ring.ys[edge], ring.ys[edge + 1])
                guard (low > y) != (high > y) else { continue }
                let (start, end) = (ring.xs[edge], ring.xs[edge + 1])
                if x < start + (y - low) / (high - low) * (end - start) { isInside.toggle() }
            }
        }
        return isInside
    }

    /// The nearest edge on a plane with the scale of the viewpoint, and the square of its distance in metres.
    private func nearest(
        to x: Double, _ y: Double, _ scale: LocalScale, within bound: Double, hint: Int = 0,
        enough: Double = 0
    ) -> (edge: Int, squared: Double)? {
        var (best, closest) = (-1, bound)
        func search(_ block: Block) {
            guard Self.squaredDistance(to: block, x, y, scale) < closest else { return }
            for edge in block.edges {
                let squared = squaredDistance(to: edge, x, y, scale)
                if squared < closest { (best, closest) = (edge, squared) }
            }
        }
        blocks.withUnsafeBufferPointer { blocks in
            search(blocks[hint / Self.blockSize])
            for block in blocks where closest > enough { search(block) }
        }
        return best >= 0 ? (best, closest) : nil
    }

    @inline(__always)
    private static func squaredDistance(
        to block: Block, _ x: Double, _ y: Double, _ scale: LocalScale
    ) -> Double {
        let east = max(block.west - x, x - block.east, 0) * scale.east
        let north = max(block.south - y, y - block.north, 0) * scale.north
        return east * east + north * north
    }

    @inline(__always)
    private func squaredDistance(to edge: Int, _ x: Double, _ y: Double, _ scale: LocalScale) -> Double {
        let part = part(of: edge, nearestTo: x, y, scale)
        let east = (x - ring.xs[edge] - part * (ring.xs[edge + 1] - ring.xs[edge])) * scale.east
        let north = (y - ring.ys[edge] - part * (ring.ys[edge + 1] - ring.ys[edge])) * scale.north
        return east * east + north * north
    }

    /// The fraction of the edge, 0…1, at which it is nearest.
    @inline(__always)
    private func part(of edge: Int, nearestTo x: Double, _ y: Double, _ scale: LocalScale) -> Double {
        let dx = (ring.xs[edge + 1] - ring.xs[edge]) * scale.east
        let dy = (ring.ys[edge + 1] - ring.ys[edge]) * scale.north
        let along = (x - ring.xs[edge]) * scale.east * dx + (y - ring.ys[edge]) * scale.north * dy
        let squared = dx * dx + dy * dy
        return squared > 0 ? min(max(along / squared, 0), 1) : 0
    }

    private func point(
        of edge: Int, nearestTo x: Double, _ y: Double, _ scale: LocalScale
    ) -> (x: Double, y: Double) {
        let part = part(of: edge, nearestTo: x, y, scale)
        return (
            ring.xs[edge] + part * (ring.xs[edge + 1] - ring.xs[edge]),
            ring.ys[edge] + part * (ring.ys[edge + 1] - ring.ys[edge])
        )
    }
}

// MARK: Passing through

extension PolygonOutline {
    /// What a straight piece of the way has to do with the polygon.
    struct Passage: Equatable {
        /// Fractions of the piece, 0…1: where it is inside first and last.
        var enters: Double
        var leaves: Double
        /// Whether some point of it lies inside and at least the wanted depth from the edge.
        var isDeep: Bool
    }

    /// - Parameter depth: metres.
    /// - Returns: nil when no point of the piece lies inside.
    func passage(from start: Coordinate, to end: Coordinate, depth: Double) -> Passage? {
        let scale = LocalScale(latitude: end.latitude)
        let (startX, startY) = position(of: start)
        let endX = startX + PolygonRing.wrapped(end.longitude - start.longitude)
        let endY = end.latitude - ring.origin.latitude
        func isInside(_ part: Double) -> Bool {
            contains(startX + part * (endX - startX), startY + part * (endY - startY))
        }
        let line = Line(
            x: startX * scale.east, y: startY * scale.north, dx: (endX - startX) * scale.east,
            dy: (endY - startY) * scale.north)
        var crossings: [Double] = [0, 1]
        var shallows: [ClosedRange<Double>] = []
        for block in blocks where line.mayComeWithin(depth, of: block, scale) {
            for edge in block.edges {
                let wall = wall(edge, scale)
                if let part = line.crossing(of: wall) { crossings.append(part) }
                if let range = line.stretch(within: depth, of: wall) { shallows.append(range) }
            }
        }
        crossings.sort()
        let inside = zip(crossings, crossings.dropFirst()).filter { isInside(($0 + $1) / 2) && $0 < $1 }
        guard let first = inside.first, let last = inside.last else { return nil }
        shallows.sort { $0.lowerBound < $1.lowerBound }
        var (reached, isDeep) = (0.0, false)
        for shallow in shallows + [1...1] {
            if shallow.lowerBound > reached, isInside((reached + shallow.lowerBound) / 2) { isDeep = true }
            reached = max(reached, shallow.upperBound)
        }
        return Passage(enters: first.0, leaves: last.1, isDeep: isDeep)
    }

    private func wall(_ edge: Int, _ scale: LocalScale) -> Line {
        Line(
            x: ring.xs[edge] * scale.east, y: ring.ys[edge] * scale.north,
            dx: (ring.xs[edge + 1] - ring.xs[edge]) * scale.east,
            dy: (ring.ys[edge + 1] - ring.ys[edge]) * scale.north)
    }
}

/// A piece of a straight line on a plane, in metres.
private struct Line {
    var x: Double
    var y: Double
    var dx: Double
    var dy: Double

    /// Whether edges in the block may be crossed, or be that near. A millimetre is more than rounding.
    func mayComeWithin(_ metres: Double, of block: PolygonOutline.Block, _ scale: LocalScale) -> Bool {
        let far = metres + 0.001
        return min(x, x + dx) - far <= block.east * scale.east
            && max(x, x + dx) + far >= block.west * scale.east
            && min(y, y + dy) - far <= block.north * scale.north
            && max(y, y + dy) + far >= block.south * scale.north
    }

    /// The fraction of this line, 0…1, at which it crosses the other.
    func crossing(of other: Line) -> Double? {
        let cross = dx * other.dy - dy * other.dx
        guard cross != 0 else { return nil }
        let (offX, offY) = (other.x - x, other.y - y)
        let part = (offX * other.dy - offY * other.dx) / cross
        let there = (offX * dy - offY * dx) / cross
        return (0...1).contains(part) && (0...1).contains(there) ? part : nil
    }

    /// The part of this line, in fractions of its length, that lies within `distance` of the other. It is one piece,
    /// for what lies within a distance of a straight edge is convex.
    func stretch(within distance: Double, of other: Line) -> ClosedRange<Double>? {
        var (low, high) = (Double.infinity, -Double.infinity)
        func add(_ range: ClosedRange<Double>?) {
            guard let range, range.upperBound >= 0, range.lowerBound <= 1 else { return }
            low = min(low, max(range.lowerBound, 0))
            high = max(high, min(range.upperBound, 1))
        }
        add(stretch(within: distance, of: (other.x, other.y)))
        add(stretch(within: distance, of: (other.x + other.dx, other.y + other.dy)))
        add(stretch(within: distance, beside: other))
        return low <= high ? low...high : nil
    }

    private func stretch(within distance: Double, of point: (x: Double, y: Double)) -> ClosedRange<Double>? {
        let (offX, offY) = (x - point.x, y - point.y)
        let a = dx * dx + dy * dy
        let c = offX * offX + offY * offY - distance * distance
        guard a > 0 else { return c <= 0 ? 0...1 : nil }
        let b = offX * dx + offY * dy
        let discriminant = b * b - a * c
        guard discriminant >= 0 else { return nil }
        let root = discriminant.squareRoot()
        return (-b - root) / a...(-b + root) / a
    }

    /// Within the rectangle along the other line, `distance` to both sides of it.
    private func stretch(within distance: Double, beside other: Line) -> ClosedRange<Double>? {
        let length = (other.dx * other.dx + other.dy * other.dy).squareRoot()
        guard length > 0 else { return nil }
        let (east, north) = (other.dx / length, other.dy / length)
        let (offX, offY) = (x - other.x, y - other.y)
        guard
            let along = Self.between(
                0, length, from: offX * east + offY * north, by: dx * east + dy * north),
            let across = Self.between(
                -distance, distance, from: offY * east - offX * north, by: dy * east - dx * north)
        else { return nil }
        let (low, high) = (
            max(along.lowerBound, across.lowerBound), min(along.upperBound, across.upperBound)
        )
        return low <= high ? low...high : nil
    }

    /// For which t, of 0…1, `start + t × step` lies between the two.
    private static func between(
        _ low: Double, _ high: Double, from start: Double, by step: Double
    ) -> ClosedRange<Double>? {
        guard step != 0 else { return start >= low && start <= high ? 0...1 : nil }
        let (one, other) = ((low - start) / step, (high - start) / step)
        let (first, last) = (max(min(one, other), 0), min(max(one, other), 1))
        return first <= last ? first...last : nil
    }
}
