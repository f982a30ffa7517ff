internal import Base

/// The edges of all polygons in a tree of boxes: which of them does a straight piece of the way meet?
///
/// In degrees of longitude and latitude, in which edges are straight; those of a polygon that lies across the antimeridian go on
/// beyond 180. It takes 54 bytes an edge.
struct EdgeTree: Sendable {
    /// From one corner to another, or a piece of the way.
    struct Edge {
        var x: Double
        var y: Double
        var endX: Double
        var endY: Double
    }

    /// A polygon has an edge that the piece meets.
    struct Meeting {
        /// The polygon.
        var owner: Int
        /// The edge is crossed once, from one side to the other; false where rounding might decide.
        var isCrossed: Bool
        var edge: Edge
    }

    /// Rounded outwards, in degrees from the middle of the tree.
    private struct Box {
        /// West, south, and east and north with the other sign: each is no more than what it stands for.
        private var least: SIMD4<Float>

        /// - Parameter doubt: degrees that are added on all sides.
        init(_ edge: Edge, from origin: (x: Double, y: Double), doubt: Double = 0) {
            let (west, east) = (min(edge.x, edge.endX) - origin.x, max(edge.x, edge.endX) - origin.x)
            let (south, north) = (min(edge.y, edge.endY) - origin.y, max(edge.y, edge.endY) - origin.y)
            // A millionth is more than the rounding.
            func least(_ value: Double) -> Float { Float(value - doubt - abs(value) * 1e-6) }
            self.least = SIMD4(least(west), least(south), least(-east), least(-north))
        }

        /// Around several.
        init(_ boxes: ArraySlice<Box>) {
            var least = SIMD4<Float>(repeating: .infinity)
            for box in boxes { least.replace(with: box.least, where: box.least .< least) }
            self.least = least
        }

        /// West and south of what meets this are no more than these.
        var most: SIMD4<Float> { SIMD4(-least[2], -least[3], -least[0], -least[1]) }

        @inline(__always)
        func meets(_ most: SIMD4<Float>) -> Bool { all(least .<= most) }
    }

    private static let fanOut = 16
    /// Degrees, a tenth of a millimetre: what is nearer than that to a line may be on either side of it. The rounding of
    /// coordinates is a hundred thousand times less.
    private static let doubt = 1e-9

    /// Neighbours beside each other.
    private let edges: [Edge]
    /// The polygon of each.
    private let owners: [Int32]
    /// Boxes around an edge each, around 16 of those, and so on.
    private let levels: [[Box]]
    private let origin: (x: Double, y: Double)

    /// - Parameter polygons: those of which it tells, by their place in it.
    init(_ polygons: [PolygonOutline]) {
        var (all, owner) = ([Edge](), [Int32]())
        for (index, polygon) in polygons.enumerated() {
            let edges = polygon.edges
            all += edges
            owner += repeatElement(Int32(clamping: index), count: edges.count)
        }
        let bounds = Bounds(all)
        let order = Self.order(of: all, within: bounds)
        let edges = order.map { all[$0] }
        let origin = (x: (bounds.west + bounds.east) / 2, y: (bounds.south + bounds.north) / 2)
        var levels = [edges.map { Box($0, from: origin) }]
        while let last = levels.last, last.count > 1 {
            levels.append(
                stride(from: 0, to: last.count, by: Self.fanOut).map {
                    Box(last[$0..<min($0 + Self.fanOut, last.count)])
                })
        }
        self.edges = edges
        owners = order.map { owner[$0] }
        self.levels = levels
        self.origin = origin
    }

    private struct Bounds {
        var (west, east) = (0.0, 0.0)
        var (south, north) = (0.0, 0.0)

        /// Bounds of the corners that edges begin at.
        init(_ edges: [Edge]) {
            guard let first = edges.first else { return }
            (west, east, south, north) = (first.x, first.x, first.y, first.y)
            for edge in edges {
                (west, east) = (min(west, edge.x), max(east, edge.x))
                (south, north) = (min(south, edge.y), max(north, edge.y))
            }
        }
    }

    /// Places of edges, so that neighbours are beside each other.
    private static func order(of edges: [Edge], within bounds: Bounds) -> [Int] {
        let (west, south) = (bounds.west, bounds.south)
        let width = max(bounds.east - west, .leastNormalMagnitude)
        let height = max(bounds.north - south, .leastNormalMagnitude)
        return edges.indices.map { index in
            let edge = edges[index]
            let place = placeOnCurve(
                ((edge.x + edge.endX) / 2 - west) / width, ((edge.y + edge.endY) / 2 - south) / height)
            return place << 32 | UInt64(index)
        }.sorted().map { Int($0 & 0xFFFF_FFFF) }
    }

    /// How far along Hilbert's curve of 2¹⁶ × 2¹⁶ places a point lies: what is near on it is near on the ground.
    ///
    /// - Parameters:
    ///   - x, y: 0…1.
    private static func placeOnCurve(_ x: Double, _ y: Double) -> UInt64 {
        func cell(_ part: Double) -> Int { Int(min(max(part, 0), 1) * 65_535) }
        var (x, y, place) = (cell(x), cell(y), 0)
        var side = 32_768
        while side > 0 {
            let (right, up) = (x & side > 0, y & side > 0)
            place += side * side * (right ? (up ? 2 : 3) : (up ? 1 : 0))
            if !up {
                if right { (x, y) = (65_535 - x, 65_535 - y) }
                swap(&x, &y)
            }
            side /= 2
        }
        return UInt64(place)
    }

    // MARK: Asking

    /// Adds to `found` each polygon that the piece meets, once for each of its edges.
    func meet(_ piece: Edge, _ found: inout [Meeting]) {
        guard let top = levels.last else { return }
        for turn in [-360.0, 0, 360] {
            let turned = Edge(x: piece.x + turn, y: piece.y, endX: piece.endX + turn, endY: piece.endY)
            let box = Box(turned, from: origin, doubt: Self.doubt)
            search(levels.count - 1, 0..<top.count, turned, box.most, &found)
        }
    }

    private func search(
        _ level: Int, _ range: Range<Int>, _ piece: Edge, _ most: SIMD4<Float>, _ found: inout [Meeting]
    ) {
        levels[level].withUnsafeBufferPointer { boxes in
            for index in range where boxes[index].meets(most) {
                guard level > 0 else {
                    compare(index, piece, &found)
                    continue
                }
                let first = index * Self.fanOut
                let next = first..<min(first + Self.fanOut, levels[level - 1].count)
                search(level - 1, next, piece, most, &found)
            }
        }
    }

    @inline(__always)
    private func compare(_ index: Int, _ piece: Edge, _ found: inout [Meeting]) {
        let edge = edges[index]
        let ends = edge.sides(of: piece, doubt: Self.doubt)
        if ends == .same { return }
        let corners = piece.sides(of: edge, doubt: Self.doubt)
        if corners == .same { return }
        let isCrossed = ends == .opposite && corners == .opposite
        found.append(Meeting(owner: Int(owners[index]), isCrossed: isCrossed, edge: edge))
    }
}

extension EdgeTree.Edge {
    /// The square of the distance in metres, on a plane with this scale; of a point up to half around the Earth.
    @inline(__always)
    func squaredDistance(to coordinate: Coordinate, _ scale: LocalScale) -> Double {
        let x = PolygonRing.wrapped(coordinate.longitude - x) * scale.east
        let y = (coordinate.latitude - y) * scale.north
        let (dx, dy) = ((endX - self.x) * scale.east, (endY - self.y) * scale.north)
        let squared = dx * dx + dy * dy
        let part = squared > 0 ? min(max((x * dx + y * dy) / squared, 0), 1) : 0
        let (east, north) = (x - part * dx, y - part * dy)
        return east * east + north * north
    }

    /// On which sides of a line two points lie.
    fileprivate enum Sides { case same, opposite, doubtful }

    /// On which sides of the line through this edge the ends of another lie.
    @inline(__always)
    fileprivate func sides(of other: Self, doubt: Double) -> Sides {
        let (dx, dy) = (endX - x, endY - y)
        let first = dx * (other.y - y) - dy * (other.x - x)
        let second = dx * (other.endY - y) - dy * (other.endX - x)
        let least = doubt * (abs(dx) + abs(dy))
        if first > least { return second > least ? .same : second < -least ? .opposite : .doubtful }
        if first < -least { return second < -least ? .same : second > least ? .opposite : .doubtful }
        return .doubtful
    }
}
