internal import Base

/// The recent fixes that may count as evidence for a crossing.
///
/// Which of them count depends on the fence: a large one accepts less accurate fixes.
struct GeofenceTrail {
    struct Point {
        var time: Timestamp
        /// Sequence number; increases even when time runs backwards.
        var number: Int
        var coordinate: Coordinate
        var place: EarthPoint
        /// Metres.
        var accuracy: Double
    }

    /// The current fix and the ones before it that count for one fence.
    struct Latest {
        var current: Point
        var before: Point?
        var secondBefore: Point?

        /// The path to the current fix, oldest point first: only as far back as there is no gap, and not beyond the
        /// point `number`, up to which the path has been judged already.
        func path(since number: Int) -> [Point] {
            var path = [current]
            for point in [before, secondBefore].compactMap(\.self) {
                guard point.number >= number, path[0].time.seconds(since: point.time) <= GeofenceTrail.gap
                else {
                    break
                }
                path.insert(point, at: 0)
            }
            return path
        }
    }

    /// Seconds. After so long without a fix a single one may decide, and no path is assumed between the two.
    static let gap = 10.0
    /// Upper bound on the points kept. Receivers deliver at most ten a second, and two gaps' worth is enough.
    private static let limit = 256

    /// Oldest first; the last one is the current fix.
    private(set) var points: [Point] = []
    private var count = 0

    mutating func append(time: Timestamp, coordinate: Coordinate, place: EarthPoint, accuracy: Double) {
        count += 1
        let point = Point(
            time: time, number: count, coordinate: coordinate, place: place, accuracy: accuracy)
        // When time runs backwards, the age of the earlier points is unknown.
        if let last = points.last, point.time <= last.time { points.removeAll() }
        let expired = points.prefix { point.time.seconds(since: $0.time) > 2 * Self.gap }.count
        points.removeFirst(max(expired, points.count + 1 - Self.limit))
        points.append(point)
    }

    /// The current fix and up to two before it that are accurate enough.
    func latest(within accuracy: Double) -> Latest? {
        guard let current = points.last else { return nil }
        var before: Point?
        for point in points.dropLast().reversed() where point.accuracy <= accuracy {
            guard before != nil else {
                before = point
                continue
            }
            return Latest(current: current, before: before, secondBefore: point)
        }
        return Latest(current: current, before: before)
    }

    /// Whether no straight piece between the last three fixes is long enough to lead from outside a fence as deep inside as is
    /// more than their accuracy, and out again.
    var isShallow: Bool {
        zip(points.suffix(3), points.suffix(3).dropFirst()).allSatisfy { start, end in
            let most = 2 * Self.certainty * max(start.accuracy, end.accuracy)
            return start.place.squaredChord(to: end.place) < most * most
        }
    }

    /// Whether no fix before the last one counts as one after a gap, for any fence.
    var isSteady: Bool {
        guard points.count > 1, let current = points.last, let before = points.dropLast().last else {
            return false
        }
        return before.accuracy <= GeofenceWatch.smallest
            && current.time.seconds(since: before.time) < Self.gap
    }

    /// Chords, planes and the ground differ by far less, over so short a way.
    private static let certainty = 0.99

    /// Metres of straight path through the last three fixes, whatever their accuracy: no fence passed on the way lies
    /// further off.
    var reach: Double {
        guard points.count > 1 else { return 0 }
        // Less accurate fixes may lie between those that count for a small fence.
        guard points.allSatisfy({ $0.accuracy <= GeofenceWatch.smallest }) else { return .infinity }
        return zip(points.suffix(3), points.suffix(3).dropFirst()).reduce(0) {
            $0 + $1.0.place.squaredChord(to: $1.1.place).squareRoot()
        }
    }
}
