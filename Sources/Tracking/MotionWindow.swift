#if canImport(Glibc)
    import Glibc
#endif

/// The fixes of the last `stationary_after_seconds`, in bounded memory.
///
/// The span may be a year, and a receiver may give ten fixes a second. Fixes nearer to each other than 1/4096 of the span
/// are therefore kept as one place, their mean, that counts as often as there were fixes. Up to 34 fixes a second and 120 s,
/// or one a second and 68 minutes, every fix is kept by itself, and the answer is exact.
struct MotionWindow: Sendable {
    /// Places kept for one span.
    static let places = 4096

    private struct Place: Sendable {
        /// Of its first fix.
        var time: Timestamp
        var sum: Direction
        var fixes: Int
        var slow: Int
        var fast: Int
        /// Metres; of the least accurate of its fixes.
        var accuracy: Double
    }

    /// A place on the sphere as a vector of length 1: means of it know neither poles nor an antimeridian.
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

        /// Its length does not matter. nil at the centre of the Earth.
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

        /// Metres, straight: for the distances at which it matters the same as along the ground.
        func distance(to other: Direction) -> Double {
            let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
            return 6_371_008.8 * (dx * dx + dy * dy + dz * dz).squareRoot()
        }
    }

    private var entries: [Place] = []
    /// The first that counts: those before it are dropped from time to time, all at once.
    private var head = 0
    private var fixes = 0
    private var slow = 0
    private var fast = 0
    private var latest: Timestamp?

    /// Places kept.
    var count: Int { entries.count - head }

    mutating func removeAll() {
        self = MotionWindow()
    }

    /// Takes the next fix, and lets those go that are older than the span; the one at its beginning stays.
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
        // A span that is being changed again and again must not fill the memory either.
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
    /// Looked for only when the speeds allow it, which costs nothing; then it is two passes over the places.
    func standing(_ thresholds: Motion.Thresholds) -> Coordinate? {
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
