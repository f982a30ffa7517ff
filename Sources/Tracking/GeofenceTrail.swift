/// The fixes of the last seconds that may decide about fences.
///
/// Which of them count depends on the fence: a large one takes a less accurate fix.
struct GeofenceTrail {
    struct Point {
        var time: Timestamp
        /// Counts the fixes, also when time runs backwards.
        var number: Int
        var place: EarthPoint
        /// Metres.
        var accuracy: Double
    }

    /// The present fix and those before it that count for one fence.
    struct Latest {
        var present: Point
        var before: Point?
        var beforeThat: Point?

        /// Oldest first: as far back as the way from one to the next is known, and has not been judged by that number.
        func way(since number: Int) -> [Point] {
            var way = [present]
            for point in [before, beforeThat].compactMap(\.self) {
                guard point.number >= number, way[0].time.seconds(since: point.time) <= GeofenceTrail.gap
                else {
                    break
                }
                way.insert(point, at: 0)
            }
            return way
        }
    }

    /// Seconds without a fix after which a single one may decide, and beyond which no way is assumed between two.
    static let gap = 10.0
    /// Points kept at most. A receiver gives ten a second at best, and two gaps' worth is enough.
    private static let limit = 256

    /// Oldest first; the last is the present fix.
    private(set) var points: [Point] = []
    private var count = 0

    mutating func append(time: Timestamp, place: EarthPoint, accuracy: Double) {
        count += 1
        let point = Point(time: time, number: count, place: place, accuracy: accuracy)
        // Time that runs backwards says nothing about how long ago the others were.
        if let last = points.last, point.time <= last.time { points.removeAll() }
        let expired = points.prefix { point.time.seconds(since: $0.time) > 2 * Self.gap }.count
        points.removeFirst(max(expired, points.count + 1 - Self.limit))
        points.append(point)
    }

    /// The present fix and up to two before it, newest first, of those accurate enough.
    func latest(within accuracy: Double) -> Latest? {
        guard let present = points.last else { return nil }
        var before: Point?
        for point in points.dropLast().reversed() where point.accuracy <= accuracy {
            guard before != nil else {
                before = point
                continue
            }
            return Latest(present: present, before: before, beforeThat: point)
        }
        return Latest(present: present, before: before)
    }

    /// Metres of straight way between the last three fixes, whatever their accuracy: nothing passed lies further away.
    var reach: Double {
        guard points.count > 1 else { return 0 }
        // Less accurate fixes may lie between those that count for a small fence.
        guard points.allSatisfy({ $0.accuracy <= GeofenceWatch.smallest }) else { return .infinity }
        return zip(points.suffix(3), points.suffix(3).dropFirst()).reduce(0) {
            $0 + $1.0.place.squaredChord(to: $1.1.place).squareRoot()
        }
    }
}
