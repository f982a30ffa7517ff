import Base
import Support
import Testing

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// A vehicle that parks, walks, drives and races among fences, and sometimes falls silent, jumps, or is switched off.
private struct Walk {
    struct Fix {
        var fix: Tracking.Fix
        var isImplausible: Bool
        var isParked: Bool
    }

    private let centre: Coordinate
    private var random: SeededGenerator
    private(set) var time = Timestamp(milliseconds: start)
    private var bearing = 0.0
    private var speed = 0.0
    private var steps = 0
    private var interval = 1.0
    private var accuracy: Double? = 5
    private var isParked = false
    private var place: Coordinate

    init(around centre: Coordinate, seed: UInt64) {
        self.centre = centre
        place = centre
        random = SeededGenerator(seed: seed)
    }

    /// Changes the kind of movement every now and then.
    private mutating func change() throws {
        steps = Int.random(in: 5...60, using: &random)
        speed = [0, 1.4, 8, 15, 35, 80].randomElement(using: &random) ?? 0
        isParked = speed == 0 && Bool.random(using: &random)
        interval = [0.2, 0.5, 1, 1, 1, 2, 5, 10, 30].randomElement(using: &random) ?? 1
        accuracy = [nil, 1, 3, 5, 10, 20, 60].randomElement(using: &random) ?? nil
        bearing = Double.random(in: 0...360, using: &random)
        guard GeofenceReference.Offset(of: place, from: centre).length > 1500 else { return }
        // Returned to the fences while switched off, so that there is something to cross.
        place = try TrackingTests.place(
            from: centre, metres: Double.random(in: 0...1400, using: &random), bearing: bearing)
        bearing = Double.random(in: 0...360, using: &random)
        time = time.advanced(bySeconds: Double.random(in: 0...30, using: &random))
    }

    mutating func next() throws -> Fix {
        if steps == 0 { try change() }
        steps -= 1
        var step = interval
        switch Int.random(in: 0..<200, using: &random) {
        case 0: step = Double.random(in: 10...4000, using: &random)
        case 1: step = -Double.random(in: 0...20, using: &random)
        case 2: step = 10
        default: break
        }
        time = time.advanced(bySeconds: step)
        bearing += Double.random(in: -20...20, using: &random)
        place = try TrackingTests.place(
            from: place, metres: speed * min(max(step, 0), 60), bearing: bearing)
        // Noise of roughly the accuracy.
        let noise = Double.random(in: 0...2, using: &random) * (accuracy ?? 10)
        let seen = try TrackingTests.place(
            from: place, metres: noise, bearing: Double.random(in: 0...360, using: &random))
        let isWild = Int.random(in: 0..<50, using: &random) == 0
        let wildAccuracy = Double.random(in: 90...600, using: &random)
        return Fix(
            fix: Tracking.Fix(
                time: time, mode: 3, coordinate: seen, accuracy: isWild ? wildAccuracy : accuracy),
            isImplausible: Int.random(in: 0..<100, using: &random) == 0, isParked: isParked)
    }
}

private struct Comparison {
    /// Metres: differences that rounding, two ways of measuring and, for polygons, corners may cause.
    let band: Double

    var walk: Walk
    var fences: Geofences
    var references: [GeofenceReference] = []
    var centres: [String: Coordinate] = [:]
    var random: SeededGenerator
    var latest: [String: Crossing.Kind] = [:]
    var (crossings, passages, restarts, leftOut) = (0, 0, 0, 0)

    /// - Parameter corners: nil for circles.
    init(around centre: Coordinate, seed: UInt64, corners: Int?) throws {
        random = SeededGenerator(seed: seed)
        band = corners == nil ? 0.01 : 0.15
        walk = Walk(around: centre, seed: seed &+ 1)
        var all: [Geofence] = []
        for (index, radius) in [5.0, 15, 30, 50, 80, 100, 120, 150, 200, 300, 500, 60].enumerated() {
            let place = try TrackingTests.place(
                from: centre, metres: Double.random(in: 0...1200, using: &random),
                bearing: Double.random(in: 0...360, using: &random))
            let id = "f\(index)"
            all.append(
                try corners.map { try rounded(id, place, radius: radius, corners: $0) }
                    ?? Geofence(
                        id: id, latitude: place.latitude, longitude: place.longitude, radius: radius))
            centres[id] = place
            references.append(GeofenceReference(id: "f\(index)", radius: radius))
        }
        fences = Geofences()
        try #require(fences.add(all) == nil)
    }

    mutating func step() throws {
        let next = try walk.next()
        if Int.random(in: 0..<1000, using: &random) == 0 { try restart() }
        var candidates = references
        var expected: [Crossing] = []
        var closeness = Double.infinity
        for index in candidates.indices {
            let centre = try #require(centres[candidates[index].id])
            expected += candidates[index].process(
                next.fix, offset: GeofenceReference.Offset(of: next.fix.coordinate, from: centre),
                isImplausible: next.isImplausible, isParked: next.isParked)
            closeness = min(closeness, candidates[index].closeness)
        }
        // What rounding would decide is skipped by both.
        guard closeness > band else {
            leftOut += 1
            return
        }
        references = candidates
        let found = fences.judge(next.fix, isImplausible: next.isImplausible, isParked: next.isParked)
            .crossings
        try compare(found, expected)
    }

    private mutating func compare(_ found: [Crossing], _ expected: [Crossing]) throws {
        try #require(found.count == expected.count, "\(found) is not \(expected)")
        let order: (Crossing, Crossing) -> Bool = {
            ($0.geofence, $0.kind == .exit ? 1 : 0) < ($1.geofence, $1.kind == .exit ? 1 : 0)
        }
        for (found, expected) in zip(found.sorted(by: order), expected.sorted(by: order)) {
            try #require(found.geofence == expected.geofence && found.kind == expected.kind)
            let isPassage = expected.time != found.time
            try #require(abs(found.time.seconds(since: expected.time)) < 0.05, "\(found) is not \(expected)")
            passages += isPassage ? 1 : 0
        }
        for crossing in found {
            try #require(latest[crossing.geofence] != crossing.kind, "\(crossing) comes twice")
            try #require(
                latest[crossing.geofence] != nil || crossing.kind == .enter, "\(crossing) without an entry")
            latest[crossing.geofence] = crossing.kind
            crossings += 1
        }
        let states = fences.items.map { "\($0.fence.id) \(String(describing: $0.isInside))" }
        try #require(
            states
                == references.sorted { $0.id < $1.id }.map { "\($0.id) \(String(describing: $0.isInside))" })
    }

    /// Decided states survive, undecided ones start afresh. Nothing is recorded.
    private mutating func restart() throws {
        let kept = fences.items
        fences = Geofences(kept, nextKey: fences.nextKey)
        try #require(fences.items == kept)
        references = references.map {
            GeofenceReference(id: $0.id, radius: $0.radius, isInside: $0.isInside)
        }
        restarts += 1
    }
}

@Test(
    "random walks of thousands of fixes: events alternate, and are those of the rules written out plainly",
    arguments: sampled(
        [
            (52.5, 13.4, 35_000, nil), (0, 179.9999, 30_000, nil), (-33, -70, 20_000, nil),
            (89.999, 20, 20_000, nil),
        ] as [(Double, Double, Int, Int?)], 1)
        + sampled(
            [(52.5, 13.4, 10_000, 200), (0, 179.9999, 10_000, 200), (-80, -70, 10_000, 200)], 1))
func randomWalk(latitude: Double, longitude: Double, fixes: Int, corners: Int?) throws {
    let seed = testSeed(5)
    let centre = try #require(Coordinate(latitude: latitude, longitude: longitude))
    var comparison = try Comparison(around: centre, seed: seed, corners: corners)
    for index in 0..<fixes {
        do {
            try comparison.step()
        } catch {
            Issue.record(error, "BEEKOND_SEED=\(seed), fix \(index) around \(latitude), \(longitude)")
            return
        }
    }
    #expect(comparison.crossings > fixes / 100 && comparison.restarts > 5)
    #expect(comparison.leftOut < fixes / 50, "\(comparison.leftOut) of \(fixes) were too close to call")
    print(
        "random walk around \(latitude), \(longitude): seed \(seed), \(comparison.crossings) crossings, "
            + "\(comparison.restarts) restarts, \(comparison.leftOut) fixes left out")
}

/// Position noise of a stationary receiver: slow drift with a little jitter.
private struct Noise {
    private var random: SeededGenerator
    private var wander = (north: 0.0, east: 0.0)
    /// Standard deviation in metres, in each direction.
    let sigma: Double
    /// Time constant of the drift in seconds; 0 for none.
    let memory: Double

    init(sigma: Double, memory: Double, seed: UInt64) {
        self.sigma = sigma
        self.memory = memory
        random = SeededGenerator(seed: seed)
    }

    private mutating func normal() -> Double {
        let (u, v) = (
            Double.random(in: Double.leastNonzeroMagnitude...1, using: &random),
            Double.random(in: 0...1, using: &random)
        )
        return (-2 * log(u)).squareRoot() * cos(2 * .pi * v)
    }

    mutating func next() -> (north: Double, east: Double) {
        let keep = memory > 0 ? exp(-1 / memory) : 0
        let fresh = (1 - keep * keep).squareRoot() * sigma
        wander = (wander.north * keep + normal() * fresh, wander.east * keep + normal() * fresh)
        return wander
    }
}

/// Known to be inside, and with an edge 50 m north of the place where fixes are: a circle, and polygons with a bay that
/// ends there, with a spit only 30 m wide, and, if wanted, with a sharp corner, around which nearly everything is outside.
private func fencesAtEdge(withTip: Bool) throws -> [Geofences.Item] {
    let rings: [[(north: Double, east: Double)]] = [
        [(-100, -100), (-100, 100), (120, 100), (50, 0), (120, -100)],
        [(-300, -200), (-300, 200), (-60, 200), (-60, 15), (50, 15), (50, -15), (-60, -15), (-60, -200)],
        [(-50, -50), (-50, 50), (50, 0)],
    ]
    let polygons = try rings.prefix(withTip ? 3 : 2).enumerated().map { index, ring in
        let corners = ring.map { place(north: $0.north, east: $0.east) }
        return try Geofence(id: "polygon \(index)", ring: corners.map { [$0.longitude, $0.latitude] })
    }
    return ([try geofence(radius: 50)] + polygons).enumerated().map {
        Geofences.Item(key: Int64($0), fence: $1, isInside: true)
    }
}

/// - Returns: the most events of any fence, while a receiver stands at the edge of each.
private func standAtEdge(
    hours: Double, noise: inout Noise, accuracy: Double, isParked: Bool, withTip: Bool = false
) throws -> Int {
    var fences = Geofences(try fencesAtEdge(withTip: withTip))
    var counts: [String: Int] = [:]
    for second in 0..<Int(hours * 3600) {
        let (north, east) = noise.next()
        var fix = fix(at: Double(second), north: 50 + north, east: east, speed: 0.1)
        fix.accuracy = accuracy
        // Motion needs two minutes to become stationary.
        for crossing in fences.judge(fix, isParked: isParked && second >= 120).crossings {
            counts[crossing.geofence, default: 0] += 1
        }
    }
    return counts.values.max() ?? 0
}

@Test(
    "10 m of noise at the edge of a fence of 50 m: no event in an hour",
    arguments: sampled(Array(1...20 as ClosedRange<UInt64>), 7))
func noiseAtTheEdge(seed: UInt64) throws {
    // Also without the help of motion, as when no speed is reported.
    var jitter = Noise(sigma: 10, memory: 0, seed: seed)
    #expect(try standAtEdge(hours: 1, noise: &jitter, accuracy: 10, isParked: false) == 0, "seed \(seed)")
    var wander = Noise(sigma: 10, memory: 60, seed: seed)
    #expect(try standAtEdge(hours: 1, noise: &wander, accuracy: 20, isParked: true) == 0, "seed \(seed)")
}

@Test(
    "a car parked at the edge of a fence, a circle or a polygon: at most one event in twelve hours",
    arguments: sampled(
        [(5.0, 60.0), (10, 300), (10, 20)].flatMap { noise in
            ([1, 2, 3] as [UInt64]).map { (seed: $0, sigma: noise.0, memory: noise.1) }
        }, 3))
func parkedAtTheEdge(seed: UInt64, sigma: Double, memory: Double) throws {
    var noise = Noise(sigma: sigma, memory: memory, seed: seed)
    // Receivers report about twice the standard deviation: 95 % of the fixes lie within.
    let count = try standAtEdge(
        hours: 12, noise: &noise, accuracy: 2 * sigma, isParked: true, withTip: true)
    #expect(count <= 1, "seed \(seed), noise of \(sigma) m that lasts \(memory) s")
}
