import Base
import Support
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// A polygon of which every edge is asked each time, and nothing is remembered: on a plane around whoever asks, in metres.
private struct PlainPolygon {
    typealias Point = (x: Double, y: Double)

    let corners: [Coordinate]

    private func point(_ place: Coordinate, from here: Coordinate, _ scale: LocalScale) -> Point {
        var turn = place.longitude - here.longitude
        if turn > 180 { turn -= 360 }
        if turn < -180 { turn += 360 }
        return (turn * scale.east, (place.latitude - here.latitude) * scale.north)
    }

    private func edges(from here: Coordinate) -> [(Point, Point)] {
        let scale = LocalScale(latitude: here.latitude)
        let points = corners.map { point($0, from: here, scale) }
        return Array(zip(points, points.dropFirst() + points.prefix(1)))
    }

    /// Negative inside.
    func distance(from here: Coordinate) -> Double {
        var (least, isInside) = (Double.infinity, false)
        for (start, end) in edges(from: here) {
            let (dx, dy) = (end.x - start.x, end.y - start.y)
            let part = min(max(-(start.x * dx + start.y * dy) / (dx * dx + dy * dy), 0), 1)
            least = min(least, hypot(start.x + part * dx, start.y + part * dy))
            if (start.y > 0) != (end.y > 0), start.x - start.y / dy * dx > 0 { isInside.toggle() }
        }
        return isInside ? -least : least
    }

    /// Whether the way from one to the other crosses an edge.
    func isCrossed(from start: Coordinate, to end: Coordinate) -> Bool {
        let way = point(end, from: start, LocalScale(latitude: start.latitude))
        func side(_ a: Point, _ b: Point, _ c: Point) -> Bool {
            (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0
        }
        return edges(from: start).contains { edge in
            side((0, 0), way, edge.0) != side((0, 0), way, edge.1)
                && side(edge.0, edge.1, (0, 0)) != side(edge.0, edge.1, way)
        }
    }
}

/// A polygon of any number of corners, as jagged as chance wants it, and a way along its edge, with leaps.
private struct Rambler {
    let fence: Geofence
    let plain: PlainPolygon
    private let centre: Coordinate
    private let scale: LocalScale
    private let size: Double
    private var (x, y) = (0.0, 0.0)
    private var (speed, bearing) = (10.0, 0.0)

    init(_ number: Int, using random: inout SeededGenerator) throws {
        let latitudes = [52.5, 0, -33, 70, -84.5]
        let longitudes = [13.4, 179.9999, -179.995, 0]
        centre = try #require(
            Coordinate(latitude: latitudes[number % 5], longitude: longitudes[number % 4]))
        scale = LocalScale(latitude: centre.latitude)
        size = exp(.random(in: log(20)...log(8000), using: &random))
        let count = Int.random(in: 3...150, using: &random)
        let depth = Double.random(in: 0.2...1, using: &random)
        var ring: [[Double]] = []
        for index in 0..<count {
            let angle = 2 * .pi * (Double(index) + .random(in: 0...0.7, using: &random)) / Double(count)
            let far = size * .random(in: depth...1, using: &random)
            let place = try Self.place(centre, scale, far * cos(angle), far * sin(angle))
            ring.append([place.longitude, place.latitude])
        }
        fence = try Geofence(id: "random", ring: ring)
        plain = PlainPolygon(corners: try #require(fence.polygon).corners)
    }

    private static func place(_ centre: Coordinate, _ scale: LocalScale, _ x: Double, _ y: Double) throws
        -> Coordinate
    {
        let longitude = centre.longitude + x / scale.east
        return try #require(
            Coordinate(
                latitude: centre.latitude + y / scale.north,
                longitude: longitude > 180 ? longitude - 360 : longitude < -180 ? longitude + 360 : longitude)
        )
    }

    mutating func next(using random: inout SeededGenerator) throws -> Coordinate {
        switch Int.random(in: 0..<60, using: &random) {
        case 0:
            let (far, angle) = (
                size * .random(in: 0...1.3, using: &random), Double.random(in: 0...(2 * .pi), using: &random)
            )
            (x, y) = (far * cos(angle), far * sin(angle))
        case 1..<4: speed = [0, 1.4, 8, 20, 45].randomElement(using: &random) ?? 0
        default: break
        }
        bearing += .random(in: -0.4...0.4, using: &random)
        // Never far away for long.
        if hypot(x, y) > 1.2 * size { bearing = atan2(-x, -y) }
        x += speed * sin(bearing)
        y += speed * cos(bearing)
        return try Self.place(centre, scale, x, y)
    }
}

@Test(
    "random polygons: what is remembered says what every edge says, and leaves out only what changes nothing")
func randomPolygons() throws {
    let seed = testSeed(29)
    var (left, told) = (0, 0)
    let numbers = sampled(Array(0..<120), 36)
    for number in numbers {
        var random = SeededGenerator(seed: seed &+ UInt64(number) << 20)
        var rambler = try Rambler(number, using: &random)
        let plain = rambler.plain
        // Asked as by a fence that knows its state; and all edges, for the distance.
        let polygon = try #require(rambler.fence.polygon)
        var asked = PolygonSet([polygon])
        let measured = PolygonOutline(polygon)
        var way: [Coordinate] = []
        var isInside = false
        for step in 0..<250 {
            let here = try rambler.next(using: &random)
            way = (way + [here]).suffix(3)
            let (last, second) = (way.dropLast().last ?? here, way.dropLast(2).last ?? way[0])
            let places = [second, last, here].map { EarthPoint($0) }
            let reach = places[0].distance(to: places[1]) + places[1].distance(to: places[2])
            let view = PolygonOutline.Viewpoint(here, places[2], reach: reach)
            asked.follow(to: here)
            let expected = plain.distance(from: here)
            let context = "BEEKOND_SEED=\(seed), polygon \(number), step \(step): \(expected) m"
            // Within a millimetre of the edge, rounding decides.
            guard abs(expected) > 1e-3 else { continue }
            func isSame(_ found: Double) -> Bool {
                (found < 0) == (expected < 0)
                    && abs(found - expected) < max(0.002, 0.02 * abs(expected))
            }
            try #require(isSame(measured.distance(from: here)), "\(context)")
            let margin = Double.random(in: 1...60, using: &random)
            let isParked = Int.random(in: 0..<10, using: &random) == 0
            let most = [nil, 4 * margin].randomElement(using: &random) ?? nil
            let question = PolygonSet.Question(
                isInside: isInside, isUndisputed: true, margin: margin, most: most, isParked: isParked)
            if let found = asked.measure(0, from: view, question) {
                try #require((found < 0) == (expected < 0), "\(context), \(found)")
                // How far that is, where a decision depends on it.
                let isAsked = found < 0 ? most != nil : isInside
                if isAsked, abs(expected) < most ?? 0 { try #require(isSame(found), "\(context), \(found)") }
                if isAsked, found > 0, abs(expected - margin) > 0.02 * margin {
                    try #require((found > margin) == (expected > margin), "\(context), \(found)")
                }
                told += 1
                isInside = found < 0
                continue
            }
            left += 1
            if isInside {
                try #require(expected < margin, "\(context), a margin of \(margin)")
            } else {
                try #require(expected > 0, "\(context)")
                guard !isParked else { continue }
                let isCrossed =
                    plain.isCrossed(from: second, to: last) || plain.isCrossed(from: last, to: here)
                try #require(!isCrossed, "\(context)")
            }
        }
    }
    print("random polygons: seed \(seed), \(told) told, \(left) left out")
    // Most change nothing; and enough do.
    #expect(left > 125 * numbers.count && told > 8 * numbers.count, "\(left), \(told)")
}
