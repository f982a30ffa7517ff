import Base
import Support
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// Longitudes and latitudes of a square whose sides are `2 × half` degrees.
private func square(_ longitude: Double, _ latitude: Double, half: Double) -> [[Double]] {
    [(-1, -1), (1, -1), (1, 1), (-1, 1)].map { [longitude + $0.0 * half, latitude + $0.1 * half] }
}

@Test(
    "what cannot be a polygon is refused with the reason",
    arguments: [
        ([], "3 to 500"), ([[0, 0], [1, 0]], "3 to 500"), ([[0, 0], [1, 0], [0, 0]], "3 to 500"),
        ([[0, 0], [0, 0], [1, 0], [1, 0]], "3 to 500"),
        ((0...500).map { [Double($0) / 1e4, Double($0 * $0) / 1e8] }, "3 to 500"),
        (Array(repeating: [0, 0], count: 100_000), "3 to 500"),
        ([[0, 0], [1, 0], [1]], "corner 3"), ([[0, 0], [1, 0, 34], [1, 1]], "corner 2"),
        ([[0, 0], [181, 0], [1, 1]], "corner 2"), ([[0, 0], [1, 0], [1, .nan]], "corner 3"),
        ([[0, 84], [1, 85.01], [0, 85]], "85 degrees"),
        // Around a pole, and half around the Earth.
        ([[0, -80], [120, -80], [-120, -80]], "180 degrees"),
        ([[0, 0], [100, 0], [190 - 360, 1], [100, 1]], "180 degrees"),
        ([[0, 0], [1.81, 0], [0, 0.1]], "200 km"),
        ([[0, 0], [0.9, 0.9], [-0.9, 1], [0, -0.9]], "200 km"),
        // A bow tie, a spike, a corner on an edge, an edge along another, a corner twice.
        ([[0, 0], [1, 1], [1, 0], [0, 1]], "after corners 1 and 3"),
        ([[0, 0], [1, 0], [0.5, 0], [0.5, 1]], "must not meet"),
        ([[0, 0], [1, 0], [1, 1], [0.5, 0], [0, 1]], "must not meet"),
        ([[0, 0], [1, 0], [1, 1], [0.7, 1], [0.7, 0], [0.3, 0], [0.3, 1], [0, 1]], "must not meet"),
        ([[0, 0], [1, 0], [0.5, 0.5], [1, 1], [0, 1], [0.5, 0.5]], "must not meet"),
        ([[0, 0], [0.5, 0.5], [1, 1]], "must not meet"),
        ([[179.5, 0], [-179.5, 1], [-179.5, 0], [179.5, 1]], "after corners 1 and 3"),
    ] as [([[Double]], String)])
func invalidPolygons(ring: [[Double]], reason: String) {
    #expect {
        _ = try Geofence(id: "a", ring: ring)
    } throws: {
        ($0 as? Geofence.Invalid)?.reason.contains(reason) ?? false
    }
}

@Test("corners are kept as they were given, counterclockwise from the first; the end may repeat it")
func corners() throws {
    let ring = [[13.1, 52.2], [13.3, 52.25], [13.30000001, 52.4], [13.05, 52.3]]
    for given in [ring, ring + [ring[0]], [ring[0]] + ring[1...].reversed()] {
        let polygon = try #require(try Geofence(id: "a", ring: given).polygon)
        #expect(polygon.corners.map { [$0.longitude, $0.latitude] } == ring)
    }
}

@Test(
    "centre and radius are those of the area, also across the antimeridian",
    arguments: [(13.4, 52.5), (0, 0), (179.99, -33), (-179.995, 70), (20, -84.9)])
func centreAndRadius(longitude: Double, latitude: Double) throws {
    let ring = square(longitude, latitude, half: 0.02).map {
        [$0[0] > 180 ? $0[0] - 360 : $0[0] < -180 ? $0[0] + 360 : $0[0], $0[1]]
    }
    let fence = try Geofence(id: "a", ring: ring)
    let centre = try #require(Coordinate(latitude: latitude, longitude: longitude))
    #expect(EarthPoint(fence.centre).distance(to: EarthPoint(centre)) < 1)
    let scale = LocalScale(latitude: latitude)
    let area = 0.04 * 0.04 * scale.east * scale.north
    #expect(abs(fence.radius * fence.radius * .pi / area - 1) < 2e-5)
}

@Test(
    "the distance to the edge is that to the nearest point of it, and negative inside",
    arguments: [(13.4, 52.5), (0, 0), (179.995, -33), (-179.995, 70), (20, -84.9)])
func distances(longitude: Double, latitude: Double) throws {
    let ring = square(longitude, latitude, half: 0.01).map {
        [$0[0] > 180 ? $0[0] - 360 : $0[0] < -180 ? $0[0] + 360 : $0[0], $0[1]]
    }
    let outline = PolygonOutline(try #require(try Geofence(id: "a", ring: ring).polygon))
    let scale = LocalScale(latitude: latitude)
    // Degrees from the centre, and metres to the edge.
    let table = [
        (0.0, 0.009, -min(0.001 * scale.north, 0.01 * scale.east)), (0.0, 0.011, 0.001 * scale.north),
        (0.009, 0.0, -0.001 * scale.east), (-0.011, 0.0, 0.001 * scale.east),
        (0, 0, -0.01 * min(scale.east, scale.north)),
        (0.011, 0.011, 0.001 * (scale.east * scale.east + scale.north * scale.north).squareRoot()),
    ]
    for (east, north, expected) in table {
        let x = longitude + east
        let place = try #require(
            Coordinate(
                latitude: latitude + north, longitude: x > 180 ? x - 360 : x < -180 ? x + 360 : x))
        let found = outline.distance(from: place)
        #expect(abs(found - expected) <= abs(expected) * 0.01, "\(east), \(north): \(found)")
    }
}

/// A jagged ring of 100 corners, this far from the centre at most.
private func jagged(_ longitude: Double, _ latitude: Double, radius: Double, inner: Double) throws -> Geofence
{
    let scale = LocalScale(latitude: latitude)
    return try Geofence(
        id: "jagged",
        ring: (0..<100).map { index -> [Double] in
            let (far, angle) = (radius * (index % 2 == 0 ? 1 : inner), Double(index) / 50 * .pi)
            let x = longitude + far * cos(angle) / scale.east
            return [x > 180 ? x - 360 : x < -180 ? x + 360 : x, latitude + far * sin(angle) / scale.north]
        })
}

/// A polygon of chance around a place.
struct JaggedPlace: Sendable {
    let centre: (longitude: Double, latitude: Double)
    let shape: (radius: Double, inner: Double)

    static var all: [JaggedPlace] {
        var all: [JaggedPlace] = []
        for centre in [(13.4, 52.5), (0, 0), (179.999, -33), (-179.995, 70), (20, -84.5)] {
            for shape in [(5000.0, 1.0), (5000, 0.8), (300, 1), (60, 0.9)] {
                all.append(JaggedPlace(centre: centre, shape: shape))
            }
        }
        return all
    }
}

@Test(
    "what is remembered of a polygon says the same as all of its edges",
    arguments: sampled(JaggedPlace.all, 6))
func remembered(place: JaggedPlace) throws {
    let (centre, shape) = (place.centre, place.shape)
    let fence = try jagged(centre.longitude, centre.latitude, radius: shape.radius, inner: shape.inner)
    let polygon = try #require(fence.polygon)
    let scale = LocalScale(latitude: centre.latitude)
    var random = SeededGenerator(seed: testSeed(11))
    var asked = PolygonSet([polygon])
    let plain = PolygonOutline(polygon)
    var (angle, far) = (0.0, shape.radius)
    for _ in 0..<3000 {
        angle += Double.random(in: -2...20, using: &random) / shape.radius
        far += Double.random(in: -8...8, using: &random) + (shape.radius - far) / 40
        let x = centre.longitude + far * cos(angle) / scale.east
        let here = try #require(
            Coordinate(
                latitude: centre.latitude + far * sin(angle) / scale.north,
                longitude: x > 180 ? x - 360 : x < -180 ? x + 360 : x))
        asked.follow(to: here)
        let view = PolygonOutline.Viewpoint(here, EarthPoint(here), reach: 30)
        let expected = plain.distance(from: here)
        let isInside = asked.contains(0, view)
        #expect(isInside == (expected < 0))
        for isInside in [true, false] {
            var question = PolygonSet.Question(
                isInside: isInside, isUndisputed: true, margin: 10, most: 1000, isParked: false)
            if let found = asked.measure(0, from: view, question) {
                #expect((found < 0) == (expected < 0))
                // Of a fence that is left, everything is asked.
                if isInside { #expect(abs(found - expected) < 1e-6 && found > 9.9) }
            } else {
                // Nothing may have changed: on the same side, or outside and within the margin.
                #expect(isInside ? expected < 10 : expected > 0, "\(expected)")
            }
            question = .init(isInside: nil, isUndisputed: false, margin: 10, isParked: false)
            let metres = asked.measure(0, from: view, question)
            let found = try #require(metres)
            #expect((found < 0) == (expected < 0) && (found > 10) == (expected > 10))
        }
    }
}

@Test("a path that is told to change nothing touches no edge, or leads no deeper inside than counts")
func clearWays() throws {
    let fence = try jagged(13.4, 52.5, radius: 300, inner: 0.8)
    let polygon = try #require(fence.polygon)
    let outline = PolygonOutline(polygon)
    let scale = LocalScale(latitude: 52.5)
    var random = SeededGenerator(seed: testSeed(13))
    var (clear, told, shallow) = (0, 0, 0)
    for step in 0..<6000 {
        let (angle, far) = (
            Double.random(in: 0...(2 * .pi), using: &random), Double.random(in: 220...330, using: &random)
        )
        func point(_ reach: Double) throws -> Coordinate {
            let (east, north) = (
                far * cos(angle) + .random(in: -reach...reach, using: &random),
                far * sin(angle) + .random(in: -reach...reach, using: &random)
            )
            return try #require(
                Coordinate(latitude: 52.5 + north / scale.north, longitude: 13.4 + east / scale.east))
        }
        let way = try [point(20), point(20), point(0)]
        var set = PolygonSet([polygon])
        // What is known of the way begins with its first fix.
        for place in [way[0]] + way {
            set.follow(to: place)
            _ = set.contains(0, .init(place, EarthPoint(place)))
        }
        guard outline.distance(from: way[2]) > 0 else { continue }
        let passages = zip(way, way.dropFirst()).compactMap { outline.passage(from: $0, to: $1, depth: 5) }
        let longest = zip(way, way.dropFirst()).map { EarthPoint($0).distance(to: EarthPoint($1)) }.max() ?? 0
        clear += passages.isEmpty ? 1 : 0
        let view = PolygonOutline.Viewpoint(
            way[2], EarthPoint(way[2]), reach: 60, isShallow: step % 2 == 0 && longest < 9.9)
        let question = PolygonSet.Question(
            isInside: false, isUndisputed: true, margin: 10, isParked: false)
        guard set.measure(0, from: view, question) == nil else { continue }
        told += 1
        shallow += passages.isEmpty ? 0 : 1
        let isDeep = passages.contains { $0.isDeep }
        #expect(view.isShallow ? !isDeep : passages.isEmpty)
    }
    // All that are clear are known to be: it is what makes it cheap.
    #expect(told == clear + shallow && shallow > 0, "\(told) of \(clear) and \(shallow)")
}

@Test("of many polygons, the tree of their edges tells the same as each edge by itself")
func manyEdges() throws {
    let seed = testSeed(31)
    var random = SeededGenerator(seed: seed)
    let polygons = try (0..<40).map { index -> PolygonOutline in
        let longitude = 179.99 + Double.random(in: 0...0.02, using: &random)
        let fence = try jagged(
            longitude > 180 ? longitude - 360 : longitude, 52.5 + .random(in: 0...0.01, using: &random),
            radius: exp(.random(in: log(5)...log(5000), using: &random)),
            inner: .random(in: 0.3...1, using: &random))
        return PolygonOutline(try #require(fence.polygon))
    }
    let tree = EdgeTree(polygons)
    var (crossed, least) = ([Int](), 0)
    for step in 0..<2000 {
        let reach = [1e-6, 1e-4, 1e-2][step % 3]
        let (x, y) = (
            180 + Double.random(in: -0.04...0.04, using: &random),
            Double.random(in: 52.47...52.54, using: &random)
        )
        let piece = EdgeTree.Edge(
            x: x, y: y, endX: x + .random(in: -reach...reach, using: &random),
            endY: y + .random(in: -reach...reach, using: &random))
        var turned = piece
        if step % 2 == 0 { (turned.x, turned.endX) = (piece.x - 360, piece.endX - 360) }
        var found: [EdgeTree.Meeting] = []
        tree.meet(turned, &found)
        let areSure = found.allSatisfy { $0.isCrossed }
        #expect(areSure, "chance does not come that close")
        let expected = polygons.indices.flatMap { owner in
            polygons[owner].edges.filter { edge in
                [0.0, 360].contains { crosses(piece, edge, turn: $0) }
            }.map { _ in owner }
        }
        #expect(found.map(\.owner).sorted() == expected, "BEEKOND_SEED=\(seed), step \(step)")
        crossed += expected
        least = max(least, expected.count)
    }
    #expect(Set(crossed).count > 20 && least > 10)
}

/// Whether the piece crosses the edge, or the same a turn further east.
private func crosses(_ piece: EdgeTree.Edge, _ edge: EdgeTree.Edge, turn: Double) -> Bool {
    func side(_ a: (Double, Double), _ b: (Double, Double), _ c: (Double, Double)) -> Bool {
        (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) > 0
    }
    let (start, end) = ((piece.x, piece.y), (piece.endX, piece.endY))
    let (first, second) = ((edge.x + turn, edge.y), (edge.endX + turn, edge.endY))
    return side(start, end, first) != side(start, end, second)
        && side(first, second, start) != side(first, second, end)
}

/// A horseshoe around 100 m by 100 m that is open to the north; its legs are 100 m wide.
private func horseshoe() throws -> Geofence {
    let corners = [
        (-100, -150), (-100, 150), (100, 150), (100, 50), (0, 50), (0, -50), (100, -50), (100, -150),
    ]
    return try Geofence(
        id: "home",
        ring: corners.map { place(north: Double($0.0), east: Double($0.1)) }.map {
            [$0.longitude, $0.latitude]
        })
}

@Test(
    "within the bay of a horseshoe is outside, and a path may pass through both legs",
    arguments: [
        ([(0, 50, 0), (1, 50, 0), (2, 50, 0)], []),
        ([(0, 50, 100), (1, 50, 100)], ["enter 0"]),
        ([(0, -50, 0), (1, -50, 0)], ["enter 0"]),
        // From the west to the east through the legs: in at −150 m, out at +150 m.
        ([(0, 50, -250), (4, 50, 250)], ["enter 1", "exit 3"]),
        // Through the bay alone, and past a leg with less room than the accuracy.
        ([(0, 300, 0), (4, 20, 0)], []), ([(0, 200, -147), (4, -200, -147)], []),
        ([(0, 200, -140), (4, -200, -140)], ["enter 1", "exit 3"]),
    ] as [([(Double, Double, Double)], [String])])
func bay(path: [(Double, Double, Double)], expected: [String]) throws {
    var fences = Geofences([.init(key: 1, fence: try horseshoe(), isInside: false)])
    var far = fix(at: -1, north: 3000)
    far.accuracy = 5
    _ = fences.judge(far)
    let found = path.flatMap { step in
        var fix = fix(at: step.0, north: step.1, east: step.2)
        fix.accuracy = 5
        return fences.judge(fix).crossings
    }
    let names = found.map { crossing in
        let seconds = crossing.time.seconds(since: Timestamp(milliseconds: start))
        return "\(crossing.kind.rawValue) \(Int(seconds.rounded()))"
    }
    #expect(names == expected)
}

@Test("beside a polygon is outside, also for a receiver that claims to be exact")
func exactReceiver() throws {
    for isInside in [nil, false, true] as [Bool?] {
        var fences = Geofences([.init(key: 1, fence: try horseshoe(), isInside: isInside)])
        for second in 0..<30 {
            var fix = fix(at: Double(second), north: 200, east: 10)
            fix.accuracy = 0
            let found = fences.judge(fix, isParked: second % 7 == 3).crossings
            #expect(found.allSatisfy { $0.kind == .exit })
        }
        #expect(fences.items.map(\.isInside) == [false])
    }
}

@Test("the same polygon again keeps its state, another does not, nor does the circle of the same area")
func samePolygon() throws {
    let fence = try horseshoe()
    var fences = Geofences([.init(key: 1, fence: fence, isInside: true)])
    #expect(fences.add([fence]) == nil)
    #expect(fences.items.map(\.isInside) == [true])
    let circle = try Geofence(
        id: "home", latitude: fence.centre.latitude, longitude: fence.centre.longitude, radius: fence.radius)
    #expect(fences.add([circle]) == nil)
    #expect(fences.items.map(\.isInside) == [nil])
    // Outlines follow the fences that are left.
    let far = try rounded("far", place(north: 9000), radius: 50, corners: 9)
    #expect(fences.add([try geofence("circle", north: 5000), fence, far]) == nil)
    #expect(fences.remove(["circle"]) == 1)
    #expect(fences.take([Seen(0, -50), Seen(1, -50)]) == ["enter 0"])
    #expect(fences.take([Seen(20, 9000), Seen(21, 9000)]) == ["exit 20", "enter 20"])
}

@Test("corners are limited in sum, and pages by them")
func cornerLimits() throws {
    var fences = Geofences()
    let many = try (0..<200).map { number in
        try rounded("f\(1000 + number)", place(north: Double(number) * 50), radius: 100, corners: 500)
    }
    #expect(fences.add(many) == nil)
    let more = try rounded("more", place(north: 0), radius: 100, corners: 3)
    #expect(fences.add([more])?.id == "more")
    #expect(fences.add([more])?.reason.contains("100000 corners") == true)
    // A replaced one makes room.
    #expect(fences.add([try geofence("f1000"), more]) == nil)
    let first = fences.page(after: nil, limit: 100, cornerLimit: 2000)
    #expect(first.items.map(\.fence.id) == ["f1000", "f1001", "f1002", "f1003", "f1004"] && !first.isLast)
    #expect(fences.page(after: "f1000", limit: 100, cornerLimit: 1).items.map(\.fence.id) == ["f1001"])
    #expect(fences.page(after: "f1199", limit: 100, cornerLimit: 1).isLast)
}

@Test(
    "a polygon is the same to the last digit when it is read back, whichever way round its corners were given"
)
func polygonReadBack() throws {
    for ring in [
        [[-73.6, 45.5], [-73.52, 45.5], [-73.5, 45.6]], [[-73.6, 44.5], [-73.52, 45.5], [-73.5, 45.6]],
        square(13.4, 52.5, half: 0.1), square(-179.8, -12.3, half: 0.1),
    ] {
        for given in [ring, ring.reversed()] {
            let fence = try Geofence(id: "a", ring: given)
            let corners = try #require(fence.polygon).corners.map { [$0.longitude, $0.latitude] }
            #expect(try Geofence(id: "a", ring: corners) == fence)
        }
    }
}
