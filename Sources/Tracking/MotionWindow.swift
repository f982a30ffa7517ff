internal import Base

#if canImport(Glibc)
    import Glibc
#endif

/// The fixes of the last `stationary_after_seconds`, in bounded memory.
///
/// The span may be as long as a year, and a receiver may deliver ten fixes a second. Fixes closer together than
/// 1/4096 of the span are therefore merged into one place: their mean, weighted by their number. Up to 34 fixes a
/// second with a span of 120 s, or one a second with 68 minutes, every fix is kept separately and the result is
/// exact.
struct MotionWindow: Sendable {
    /// Number of places kept per span.
    static let places = 4096

    private struct Place: Sendable {
        /// Time of its first fix.
        var time: Timestamp
        var sum: Direction
        var fixes: Int
        var slow: Int
        var fast: Int
        /// Metres; the worst of its fixes.
        var accuracy: Double
    }

    /// A direction from the Earth's centre. Means of such vectors are well-behaved at the poles and the antimeridian.
    private struct Direction: Sendable {
        var x = 0.0
        var y = 0.0
        var z = 0.0

        init() {}

        init(_ coordinate: Coordinate) {
            let latitude = coordinate.latitude * .pi / 180
            let longitude = coordinate.longitude * .pi / 180
            x = cos(latitude) * cos(longitude)
            y = cos(latitude) * sin(longitude)
            z = sin(latitude)
        }

        /// Independent of the vector's length; nil for the zero vector.
        var coordinate: Coordinate? {
            guard x * x + y * y + z * z > 0 else { return nil }
            return Coordinate(
                latitude: atan2(z, (x * x + y * y).squareRoot()) * 180 / .pi,
                longitude: atan2(y, x) * 180 / .pi)
        }

        mutating func add(_ other: Direction) {
            x += other.x
            y += other.y
            z += other.z
        }

        func divided(by count: Int) -> Direction {
            var part = self
            part.x /= Double(count)
            part.y /= Double(count)
            part.z /= Double(count)
            return part
        }

        /// Straight-line metres; at the distances that matter here indistinguishable from those along the ground.
        func distance(to other: Direction) -> Double {
            let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
            return 6_371_008.8 * (dx * dx + dy * dy + dz * dz).squareRoot()
        }
    }

    private var entries: [Place] = []
    /// Index of the first place that counts; those before it are removed in bulk from time to time.
    private var head = 0
    private var fixes = 0
    private var slow = 0
    private var fast = 0
    private var latest: Timestamp?

    var count: Int { entries.count - head }

    mutating func removeAll() {
        self = MotionWindow()
    }

    /// Appends a fix and drops those older than the span, except for the one at its start.
    mutating func append(_ fix: Fix, duration: Double) {
        let isSlow = (fix.speed ?? 0) < Motion.slowSpeed
        let isFast = (fix.speed ?? 0) >= Motion.fastSpeed
        let new = Place(
            time: fix.time, sum: Direction(fix.coordinate), fixes: 1, slow: isSlow ? 1 : 0,
            fast: isFast ? 1 : 0, accuracy: fix.accuracy ?? Motion.assumedAccuracy)
        fixes += 1
        slow += new.slow
        fast += new.fast
        latest = fix.time
        let grain = duration / Double(Self.places)
        // Repeated changes of the span must not exhaust memory either.
        let isFull = count >= 2 * Self.places
        if let last = entries.last, isFull || fix.time.seconds(since: last.time) < grain {
            merge(new)
        } else {
            entries.append(new)
        }
        expire(fix.time, duration)
    }

    private mutating func merge(_ new: Place) {
        let index = entries.count - 1
        entries[index].sum.add(new.sum)
        entries[index].fixes += new.fixes
        entries[index].slow += new.slow
        entries[index].fast += new.fast
        entries[index].accuracy = max(entries[index].accuracy, new.accuracy)
    }

    private mutating func expire(_ time: Timestamp, _ duration: Double) {
        while head + 1 < entries.count, time.seconds(since: entries[head + 1].time) >= duration {
            fixes -= entries[head].fixes
            slow -= entries[head].slow
            fast -= entries[head].fast
            head += 1
        }
        guard head > Self.places else { return }
        entries.removeFirst(head)
        head = 0
    }

    /// The mean position, if the vehicle has been standing for the whole span.
    ///
    /// The speed criteria are checked first and cost nothing; only then two passes over the places follow.
    func standingPosition(_ thresholds: Motion.Thresholds) -> Coordinate? {
        guard let latest, head < entries.count, fast == 0, slow * 20 >= fixes * 19,
            latest.seconds(since: entries[head].time) >= thresholds.duration
        else { return nil }
        var sum = Direction()
        for place in entries[head...] { sum.add(place.sum) }
        let mean = sum.divided(by: fixes)
        var near = 0
        for place in entries[head...] {
            let distance = place.sum.divided(by: place.fixes).distance(to: mean)
            if distance <= max(thresholds.radius, 2 * place.accuracy) { near += place.fixes }
        }
        return near * 20 >= fixes * 19 ? sum.coordinate : nil
    }
}
