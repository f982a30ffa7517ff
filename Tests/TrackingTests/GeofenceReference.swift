import Base

@testable import Tracking

#if canImport(Glibc)
    import Glibc
#endif

/// The rules for one geofence, one by one, remembering everything and optimising nothing. Also reports how close each
/// decision was to the opposite one, so that tests can leave out what rounding decides.
struct GeofenceReference {
    /// Metres east and north of the fence's centre.
    struct Offset {
        var east: Double
        var north: Double
        var length: Double { (east * east + north * north).squareRoot() }
    }

    struct Seen {
        var time: Timestamp
        var offset: Offset
        var accuracy: Double
        var isParked: Bool
    }

    let id: String
    let radius: Double
    var isInside: Bool?
    /// The fixes that count as evidence, oldest first.
    private var seen: [Seen] = []
    /// The number of fixes seen at the latest decision.
    private var decided = 0
    /// The smallest difference, in metres, between two quantities compared.
    private(set) var closeness = Double.infinity

    init(id: String, radius: Double, isInside: Bool? = nil) {
        self.id = id
        self.radius = radius
        self.isInside = isInside
    }

    /// - Parameter offset: position of the fix.
    mutating func process(_ fix: Fix, offset: Offset, isImplausible: Bool, isParked: Bool) -> [Crossing] {
        closeness = .infinity
        let accuracy = fix.accuracy ?? 10
        guard accuracy <= max(radius, 100), !isImplausible else { return [] }
        // After a step back in time, the age of the earlier fixes is unknown.
        if let last = seen.last, fix.time <= last.time { (seen, decided) = ([], 0) }
        seen.append(Seen(time: fix.time, offset: offset, accuracy: accuracy, isParked: isParked))
        if isParked { return parkedExit() }
        return enter() ?? exit() ?? afterGap() ?? passage()
    }

    private mutating func compare(_ left: Double, _ right: Double) -> Bool {
        closeness = min(closeness, abs(left - right))
        return left <= right
    }

    /// The latest consecutive fixes that satisfy the condition, since the last decision and without a change of
    /// parking state.
    private mutating func row(_ isParked: Bool, _ does: (inout Self, Seen) -> Bool) -> [Seen] {
        var row: [Seen] = []
        for fix in seen[decided...].reversed() {
            guard fix.isParked == isParked, does(&self, fix) else { break }
            row.insert(fix, at: 0)
        }
        return row
    }

    private func margin(_ fix: Seen) -> Double { min(1.5 * fix.accuracy, max(radius, 100)) }

    private mutating func enter() -> [Crossing]? {
        guard isInside != true else { return nil }
        let row = row(false) { $0.compare($1.offset.length, $0.radius) }
        guard row.count >= 2, seconds(row) >= 1 else { return nil }
        return decide(true, at: row[0].time)
    }

    private mutating func exit() -> [Crossing]? {
        guard isInside != false else { return nil }
        let row = row(false) { !$0.compare($1.offset.length, $0.radius + $0.margin($1)) }
        guard row.count >= 3, seconds(row) >= 10 else { return nil }
        return decide(false, at: row[0].time)
    }

    private mutating func afterGap() -> [Crossing]? {
        guard let fix = seen.last else { return nil }
        if seen.count > 1, fix.time.seconds(since: seen[seen.count - 2].time) < 10 { return nil }
        if isInside != true, compare(fix.offset.length + fix.accuracy, radius) {
            return decide(true, at: fix.time)
        }
        if isInside != false, !compare(fix.offset.length, radius + 2 * margin(fix)) {
            return decide(false, at: fix.time)
        }
        return nil
    }

    private mutating func parkedExit() -> [Crossing] {
        guard isInside == true else { return [] }
        let row = row(true) { !$0.compare($1.offset.length, $0.radius + 4 * $1.accuracy) }
        guard row.count >= 2, seconds(row) >= 60 else { return [] }
        return decide(false, at: row[0].time)
    }

    private mutating func decide(_ inside: Bool, at time: Timestamp) -> [Crossing] {
        let was = isInside
        isInside = inside
        decided = seen.count
        if !inside, was == nil { return [] }
        return [Crossing(geofence: id, kind: inside ? .enter : .exit, time: time)]
    }

    private func seconds(_ row: [Seen]) -> Double {
        row.last.flatMap { last in row.first.map { last.time.seconds(since: $0.time) } } ?? 0
    }

    /// The path up to the fix of the last decision has been judged already.
    private mutating func passage() -> [Crossing] {
        guard isInside == false, let latest = seen.last, !compare(latest.offset.length, radius) else {
            return []
        }
        // As far back as the path between consecutive fixes is known.
        var way = Array(seen[max(decided - 1, 0)...].suffix(3))
        for index in way.indices.dropFirst().reversed()
        where way[index].time.seconds(since: way[index - 1].time) > 10 {
            way.removeFirst(index)
            break
        }
        var isThrough = false
        var times: [Timestamp] = []
        for (start, end) in zip(way, way.dropFirst()) {
            let seconds = end.time.seconds(since: start.time)
            let nearest = closest(start.offset, end.offset)
            if compare(nearest + max(start.accuracy, end.accuracy), radius) { isThrough = true }
            // Where the distance equals the radius, by bisection on both sides of the nearest point.
            guard at(nearestPart(start.offset, end.offset), start, end) <= radius else { continue }
            let part = nearestPart(start.offset, end.offset)
            for edge in [bisect(0, part, start, end), bisect(1, part, start, end)] {
                times.append(start.time.advanced(bySeconds: edge * seconds))
            }
        }
        guard isThrough, let first = times.first, let last = times.last else { return [] }
        decided = seen.count
        return [
            Crossing(geofence: id, kind: .enter, time: first),
            Crossing(geofence: id, kind: .exit, time: last),
        ]
    }

    private func nearestPart(_ a: Offset, _ b: Offset) -> Double {
        let (east, north) = (b.east - a.east, b.north - a.north)
        let squared = east * east + north * north
        guard squared > 0 else { return 0 }
        return min(max(-(a.east * east + a.north * north) / squared, 0), 1)
    }

    private func closest(_ a: Offset, _ b: Offset) -> Double {
        let part = nearestPart(a, b)
        return Offset(east: a.east + part * (b.east - a.east), north: a.north + part * (b.north - a.north))
            .length
    }

    private func at(_ part: Double, _ start: Seen, _ end: Seen) -> Double {
        let (a, b) = (start.offset, end.offset)
        return Offset(east: a.east + part * (b.east - a.east), north: a.north + part * (b.north - a.north))
            .length
    }

    private func bisect(_ outer: Double, _ inner: Double, _ start: Seen, _ end: Seen) -> Double {
        if at(outer, start, end) <= radius { return outer }
        var (outer, inner) = (outer, inner)
        for _ in 0..<40 {
            let middle = (outer + inner) / 2
            if at(middle, start, end) <= radius { inner = middle } else { outer = middle }
        }
        return inner
    }
}

extension GeofenceReference.Offset {
    private static let (a, e2) = (6_378_137.0, 6.694_379_990_141_317e-3)

    /// Uses the radii of curvature of WGS-84 at the mean latitude; around a pole, the meridians.
    init(of place: Coordinate, from centre: Coordinate) {
        let radians = Double.pi / 180
        if abs(centre.latitude) > 89 {
            let (x1, y1) = Self.polar(centre)
            let (x2, y2) = Self.polar(place)
            self.init(east: x2 - x1, north: y2 - y1)
            return
        }
        let middle = (place.latitude + centre.latitude) / 2 * radians
        let w = (1 - Self.e2 * sin(middle) * sin(middle)).squareRoot()
        var turn = place.longitude - centre.longitude
        if turn > 180 { turn -= 360 }
        if turn < -180 { turn += 360 }
        self.init(
            east: Self.a / w * cos(middle) * turn * radians,
            north: Self.a * (1 - Self.e2) / (w * w * w) * (place.latitude - centre.latitude) * radians)
    }

    private static func polar(_ place: Coordinate) -> (Double, Double) {
        let curvature = a / (1 - e2).squareRoot()
        let radians = Double.pi / 180
        let away = curvature * (90 - abs(place.latitude)) * radians
        return (away * sin(place.longitude * radians), away * cos(place.longitude * radians))
    }
}
