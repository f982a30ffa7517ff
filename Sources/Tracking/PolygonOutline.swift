package import Base

#if canImport(Glibc)
    import Glibc
#endif

/// A polygon prepared for what every fix asks of it: how far away is its edge, and on which side of it?
///
/// Edges are grouped in blocks with a bounding box each: most blocks are passed over with one comparison.
package struct PolygonOutline: Sendable {
    /// Up to where nothing needs to be measured again: the edge is further away than that from `place`.
    struct Clearance {
        var place: EarthPoint
        /// Metres.
        var metres: Double
        var isInside: Bool
    }

    /// Where the fix is, seen from a polygon.
    struct Viewpoint {
        let coordinate: Coordinate
        let place: EarthPoint
        let scale: LocalScale
        /// The fixes before it from which a path may lead there; with fewer than two, the last one again.
        let before: (Coordinate, Coordinate)
        /// Metres; no further can the path have passed by.
        let reach: Double

        init(
            _ coordinate: Coordinate, _ place: EarthPoint, before: (Coordinate, Coordinate)? = nil,
            reach: Double = 0
        ) {
            self.coordinate = coordinate
            self.place = place
            self.before = before ?? (coordinate, coordinate)
            self.reach = reach
            scale = LocalScale(latitude: coordinate.latitude)
        }
    }

    private struct Block {
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
    /// How much of the distance to the edge counts as clearance. The nearest point is sought on a plane, which far away
    /// and near a pole may miss it by a third.
    private static let certainty = 0.5

    /// Metres: that of the circle of the same area.
    let size: Double
    /// Metres from the centre within which all of it lies.
    let reach: Double
    private let ring: PolygonRing
    private let blocks: [Block]
    /// Metres; those of an edge, on average.
    private let edge: Double
    var clearance: Clearance?
    /// Holds nothing but near the edge, where the clearance tells nothing for long.
    private var vicinity = PolygonVicinity()

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
        let lengths = zip(places, places.dropFirst()).map { $0.distance(to: $1) }
        edge = lengths.reduce(0, +) / Double(max(lengths.count, 1))
        size = polygon.radius
        self.ring = ring
        blocks = stride(from: 0, to: ring.edges.count, by: Self.blockSize).map {
            Block($0..<min($0 + Self.blockSize, ring.edges.count), of: ring)
        }
    }

    // MARK: The distance to the edge

    /// Whether what was measured before tells that the edge is further away than `path`, on the side `isInside`.
    func isClear(_ place: EarthPoint, isInside: Bool, path: Double) -> Bool {
        guard let clearance, clearance.isInside == isInside, clearance.metres > path else { return false }
        let left = clearance.metres - path
        return clearance.place.squaredChord(to: place) < left * left
    }

    /// Metres along the ground to the nearest point of the edge; negative inside.
    package mutating func distance(from coordinate: Coordinate) -> Double {
        measure(from: Viewpoint(coordinate, EarthPoint(coordinate)))
    }

    /// The same, with what is computed once for each fix.
    mutating func measure(from view: Viewpoint) -> Double { metres(from: view, look(from: view)) }

    /// What the plane around the fix shows.
    private struct Look {
        /// The point of the edge that is nearest, in degrees like `position`.
        var x: Double
        var y: Double
        /// Metres; hardly a per cent off where that is `levelDistance` at most.
        var distance: Double
        var isInside: Bool
    }

    /// Metres; up to there a plane is as good as the Earth for whatever needs no more than a per cent.
    private static let levelDistance = 5000.0

    private func seen(
        from view: Viewpoint, at here: (x: Double, y: Double),
        _ known: (x: Double, y: Double, squared: Double)? = nil
    ) -> Look {
        let near = known ?? nearest(to: here.x, here.y, view.scale)
        let isInside =
            vicinity.holds(here.x, here.y) ? vicinity.contains(here.x, here.y) : contains(here.x, here.y)
        return Look(x: near.x, y: near.y, distance: near.squared.squareRoot(), isInside: isInside)
    }

    /// Looks, and notes what the next fix will be asked by.
    private mutating func look(from view: Viewpoint) -> Look {
        let here = position(of: view.coordinate)
        var known = vicinity.nearest(to: here.x, here.y, view.scale)
        if known == nil {
            draw(around: here.x, here.y, view)
            known = vicinity.nearest(to: here.x, here.y, view.scale)
        }
        var look = seen(from: view, at: here, known)
        if look.distance > Self.levelDistance { look.distance = abs(metres(from: view, look)) }
        clearance = Clearance(
            place: view.place, metres: look.distance * Self.certainty, isInside: look.isInside)
        // The clearance lasts as long.
        if known == nil, look.distance * Self.certainty > side(view) { vicinity.clear() }
        return look
    }

    /// The same as `measure`, for one that is not asked again soon.
    func distance(from view: Viewpoint) -> Double {
        metres(from: view, seen(from: view, at: position(of: view.coordinate)))
    }

    /// Along the ground; negative inside.
    private func metres(from view: Viewpoint, _ look: Look) -> Double {
        guard
            let point = Coordinate(
                latitude: min(max(ring.origin.latitude + look.y, -90), 90),
                longitude: PolygonRing.wrapped(ring.origin.longitude + look.x))
        else { return 0 }
        let distance = EarthPoint(point).distance(to: view.place)
        return look.isInside ? -distance : distance
    }

    /// Metres to either side of a vicinity: half an edge, so that few of them are in it, and some seconds of driving.
    private static let vicinitySize = 30.0...200
    /// As many times as far as the vehicle came last.
    private static let vicinityReach = 3.0

    private func side(_ view: Viewpoint) -> Double {
        let size = min(max(edge / 2, Self.vicinitySize.lowerBound), Self.vicinitySize.upperBound)
        return max(size, Self.vicinityReach * view.reach)
    }

    /// Notes what lies around.
    private mutating func draw(around x: Double, _ y: Double, _ view: Viewpoint) {
        let side = side(view)
        // No polygon is where degrees of longitude are that short.
        guard side.isFinite, view.scale.east > 1 else { return vicinity.clear() }
        vicinity.move(to: x, y, width: side / view.scale.east, height: side / view.scale.north)
        for block in blocks
        where !vicinity.isIndifferent(south: block.south, north: block.north, east: block.east) {
            let (first, end) = (block.edges.lowerBound, block.edges.upperBound)
            if vicinity.isEast(west: block.west) {
                vicinity.add(line(from: first, to: end))
            } else {
                for corner in first..<end { vicinity.add(line(from: corner, to: corner + 1)) }
            }
        }
    }

    private func line(from corner: Int, to end: Int) -> PolygonVicinity.Edge {
        PolygonVicinity.Edge(x: ring.xs[corner], y: ring.ys[corner], endX: ring.xs[end], endY: ring.ys[end])
    }

    /// A state of the fence that is undisputed.
    struct State {
        var isInside: Bool
        /// Metres beyond the edge that an exit takes.
        var margin: Double
        /// No path is looked at then.
        var isParked: Bool
    }

    /// The same as `measure`; nil where the fix changes nothing about the state: it lies on the same side, or no further outside
    /// than an exit takes, and the path to it touches no edge.
    mutating func measure(from view: Viewpoint, toChange state: State) -> Double? {
        if isClear(view.place, isInside: state.isInside, path: view.reach) { return nil }
        let here = position(of: view.coordinate)
        if vicinity.holds(here.x, here.y) {
            return changesNothing(view, at: here, state) ? nil : measure(from: view)
        }
        let look = look(from: view)
        return vicinity.holds(here.x, here.y) && changesNothing(view, at: here, state)
            ? nil : metres(from: view, look)
    }

    /// - Returns: false where that cannot be told by what lies around.
    private func changesNothing(
        _ view: Viewpoint, at here: (x: Double, y: Double), _ state: State
    ) -> Bool {
        let isThere = vicinity.contains(here.x, here.y)
        if state.isInside {
            if isThere { return true }
            // A plane differs from the ground by far less than a per cent.
            let most = 0.99 * state.margin
            return vicinity.nearest(to: here.x, here.y, view.scale).map { $0.squared <= most * most } ?? false
        }
        guard !isThere else { return false }
        if state.isParked { return true }
        let (last, second) = (position(of: view.before.0), position(of: view.before.1))
        guard view.reach.isFinite, vicinity.holds(last.x, last.y), vicinity.holds(second.x, second.y) else {
            return false
        }
        return vicinity.isClear(PolygonVicinity.Way(second, last, here))
    }

    /// Degrees east and north of the origin, on the polygon's side of the Earth.
    private func position(of coordinate: Coordinate) -> (x: Double, y: Double) {
        (
            PolygonRing.wrapped(coordinate.longitude - ring.origin.longitude),
            coordinate.latitude - ring.origin.latitude
        )
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

    /// The point of the edge that is nearest on a plane with the scale of the viewpoint, in degrees like `x` and `y`.
    private func nearest(
        to x: Double, _ y: Double, _ scale: LocalScale
    ) -> (x: Double, y: Double, squared: Double) {
        var (best, least) = (0, Double.infinity)
        for (index, block) in blocks.enumerated() {
            let distance = Self.squaredDistance(to: block, x, y, scale)
            if distance < least { (best, least) = (index, distance) }
        }
        var found = (x: ring.xs[0], y: ring.ys[0])
        var closest = Double.infinity
        search(blocks[best], x, y, scale, &found, &closest)
        for (index, block) in blocks.enumerated()
        where index != best && Self.squaredDistance(to: block, x, y, scale) < closest {
            search(block, x, y, scale, &found, &closest)
        }
        return (found.x, found.y, closest)
    }

    @inline(__always)
    private static func squaredDistance(
        to block: Block, _ x: Double, _ y: Double, _ scale: LocalScale
    ) -> Double {
        let east = max(block.west - x, x - block.east, 0) * scale.east
        let north = max(block.south - y, y - block.north, 0) * scale.north
        return east * east + north * north
    }

    private func search(
        _ block: Block, _ x: Double, _ y: Double, _ scale: LocalScale,
        _ found: inout (x: Double, y: Double), _ closest: inout Double
    ) {
        for edge in block.edges {
            let (dx, dy) = (
                (ring.xs[edge + 1] - ring.xs[edge]) * scale.east,
                (ring.ys[edge + 1] - ring.ys[edge]) * scale.north
            )
            let (px, py) = ((x - ring.xs[edge]) * scale.east, (y - ring.ys[edge]) * scale.north)
            let squared = dx * dx + dy * dy
            let part = squared > 0 ? min(max((px * dx + py * dy) / squared, 0), 1) : 0
            let (east, north) = (px - part * dx, py - part * dy)
            let distance = east * east + north * north
            guard distance < closest else { continue }
            closest = distance
            found = (
                ring.xs[edge] + part * (ring.xs[edge + 1] - ring.xs[edge]),
                ring.ys[edge] + part * (ring.ys[edge + 1] - ring.ys[edge])
            )
        }
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
        for edge in ring.edges {
            let wall = Line(
                x: ring.xs[edge] * scale.east, y: ring.ys[edge] * scale.north,
                dx: (ring.xs[edge + 1] - ring.xs[edge]) * scale.east,
                dy: (ring.ys[edge + 1] - ring.ys[edge]) * scale.north)
            if let part = line.crossing(of: wall) { crossings.append(part) }
            if let range = line.stretch(within: depth, of: wall) { shallows.append(range) }
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
}

/// A piece of a straight line on a plane, in metres.
private struct Line {
    var x: Double
    var y: Double
    var dx: Double
    var dy: Double

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
