internal import Base

/// What lies around one place of a polygon's outline: a rectangle, and the edges that matter to whoever is inside it. A vehicle
/// that drives along an edge asks each second on which side it is, and only a few edges of the polygon have to be asked.
///
/// All in degrees east and north of the polygon's origin, like `PolygonRing`. On which side a point lies is decided by the same
/// comparisons as with all edges, so it is the same to the last digit.
struct PolygonVicinity {
    /// From one corner to another.
    struct Edge {
        var x: Double
        var y: Double
        var endX: Double
        var endY: Double
    }

    /// A stretch of the way, in degrees like the edges: its last points and their bounds.
    struct Way {
        private(set) var points: (Point, Point, Point)
        private(set) var (west, east, south, north): (Double, Double, Double, Double)

        typealias Point = (x: Double, y: Double)

        init(_ first: Point, _ second: Point, _ third: Point) {
            points = (first, second, third)
            west = min(first.x, second.x, third.x)
            east = max(first.x, second.x, third.x)
            south = min(first.y, second.y, third.y)
            north = max(first.y, second.y, third.y)
        }
    }

    /// Degrees, a tenth of a millimetre: what is nearer than that to a line may be on either side of it.
    private static let doubt = 1e-9

    private var west = Double.infinity
    private var east = -Double.infinity
    private var south = Double.infinity
    private var north = -Double.infinity
    /// Those that reach into the rectangle.
    private var local: [Edge] = []
    /// Those east of it, of which the latitude of the point decides whether they are crossed on the way east.
    private var beside: [Edge] = []
    /// Whether those that are crossed from everywhere in the rectangle are of an odd number.
    private var isBase = false

    /// One that holds nothing.
    init() {}

    /// It holds nothing any more.
    mutating func clear() { self = PolygonVicinity() }

    /// Begins anew, without any edge.
    ///
    /// - Parameters:
    ///   - x, y: its middle.
    ///   - width, height: degrees, to either side.
    mutating func move(to x: Double, _ y: Double, width: Double, height: Double) {
        (west, east) = (x - width, x + width)
        (south, north) = (y - height, y + height)
        isBase = false
        local.removeAll(keepingCapacity: true)
        beside.removeAll(keepingCapacity: true)
    }

    /// Whether edges within these bounds cannot matter.
    func isIndifferent(south: Double, north: Double, east: Double) -> Bool {
        south > self.north || north < self.south || east < west - Self.doubt
    }

    /// Whether edges within these bounds lie east of it.
    func isEast(west: Double) -> Bool { west > east + Self.doubt }

    /// Takes an edge, or, of a run of edges that lie east of it, the line from its beginning to its end: for whether it is
    /// crossed an odd number of times it is the same.
    mutating func add(_ edge: Edge) {
        let (low, high) = (min(edge.y, edge.endY), max(edge.y, edge.endY))
        guard !isIndifferent(south: low, north: high, east: max(edge.x, edge.endX)) else { return }
        guard isEast(west: min(edge.x, edge.endX)) else { return local.append(edge) }
        if low <= south, north < high { isBase.toggle() } else { beside.append(edge) }
    }

    /// Whether the point lies in the rectangle: nothing else may be asked of one that does not.
    func holds(_ x: Double, _ y: Double) -> Bool { x > west && x < east && y > south && y < north }

    /// Whether the point lies inside the polygon.
    func contains(_ x: Double, _ y: Double) -> Bool {
        var isInside = isBase
        beside.withUnsafeBufferPointer { edges in
            for edge in edges where (edge.y > y) != (edge.endY > y) { isInside.toggle() }
        }
        local.withUnsafeBufferPointer { edges in
            for edge in edges where (edge.y > y) != (edge.endY > y) {
                if x < edge.x + (y - edge.y) / (edge.endY - edge.y) * (edge.endX - edge.x) {
                    isInside.toggle()
                }
            }
        }
        return isInside
    }

    /// Whether the way, all of which lies in the rectangle, touches no edge for certain.
    func isClear(_ way: Way) -> Bool {
        local.withUnsafeBufferPointer { edges in
            for edge in edges where way.mayTouch(edge, doubt: Self.doubt) { return false }
            return true
        }
    }

    /// The point of the edge that is nearest on a plane with this scale, and the square of its distance in metres; nil where an
    /// edge outside the rectangle may be nearer.
    func nearest(to x: Double, _ y: Double, _ scale: LocalScale) -> (x: Double, y: Double, squared: Double)? {
        guard holds(x, y) else { return nil }
        let border = min(min(x - west, east - x) * scale.east, min(y - south, north - y) * scale.north)
        var found = (x: 0.0, y: 0.0, squared: border * border)
        var hasFound = false
        local.withUnsafeBufferPointer { edges in
            for edge in edges {
                let (dx, dy) = ((edge.endX - edge.x) * scale.east, (edge.endY - edge.y) * scale.north)
                let (px, py) = ((x - edge.x) * scale.east, (y - edge.y) * scale.north)
                let squared = dx * dx + dy * dy
                let part = squared > 0 ? min(max((px * dx + py * dy) / squared, 0), 1) : 0
                let (toEast, toNorth) = (px - part * dx, py - part * dy)
                let distance = toEast * toEast + toNorth * toNorth
                guard distance < found.squared else { continue }
                hasFound = true
                found = (
                    edge.x + part * (edge.endX - edge.x), edge.y + part * (edge.endY - edge.y), distance
                )
            }
        }
        return hasFound ? found : nil
    }
}

extension PolygonVicinity.Way {
    /// Whether it may touch the edge: neither bounds nor the line of the edge keep them apart.
    @inline(__always)
    fileprivate func mayTouch(_ edge: PolygonVicinity.Edge, doubt: Double) -> Bool {
        guard max(edge.x, edge.endX) >= west - doubt, min(edge.x, edge.endX) <= east + doubt,
            max(edge.y, edge.endY) >= south - doubt, min(edge.y, edge.endY) <= north + doubt
        else { return false }
        let (dx, dy) = (edge.endX - edge.x, edge.endY - edge.y)
        func side(_ point: Point) -> Double { dx * (point.y - edge.y) - dy * (point.x - edge.x) }
        let sides = (side(points.0), side(points.1), side(points.2))
        let least = doubt * (abs(dx) + abs(dy))
        return !(min(sides.0, sides.1, sides.2) > least || max(sides.0, sides.1, sides.2) < -least)
    }
}
