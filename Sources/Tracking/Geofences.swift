/// All geofences, with what is known of each: takes every settled fix and tells what was crossed. Pure: no clock, no I/O.
///
/// Every fence is looked at with every fix, and for nearly all of them that is one squared distance in a flat array: a
/// thousand cost 6 µs, ten thousand 35 µs (release build). A spatial index would save nothing that could be noticed.
public struct Geofences: Sendable {
    /// Fences at most.
    public static let limit = 10_000
    /// Metres; what an unknown accuracy counts as.
    public static let assumedAccuracy = 10.0

    /// One fence, as it is kept and listed.
    public struct Item: Equatable, Sendable {
        /// Never used for another circle: what was once known under it can be mistaken for nothing else.
        public var key: Int64
        /// What the user asked for.
        public var fence: Geofence
        /// nil while undecided.
        public var isInside: Bool?

        /// As read from where it was kept.
        public init(key: Int64, fence: Geofence, isInside: Bool? = nil) {
            self.key = key
            self.fence = fence
            self.isInside = isInside
        }
    }

    /// A fence's state that has changed and wants to be kept.
    public struct Change: Equatable, Sendable {
        /// The fence's.
        public var key: Int64
        /// From now on.
        public var isInside: Bool

        /// Decided by `judge`, or to be kept as it is.
        public init(key: Int64, isInside: Bool) {
            self.key = key
            self.isInside = isInside
        }
    }

    /// What a fix has decided.
    public struct Verdict: Equatable, Sendable {
        /// To be recorded, in the order in which they happened at each fence.
        public var crossings: [Crossing] = []
        /// To be kept, in the same transaction.
        public var changes: [Change] = []

        /// Nothing was crossed and nothing decided.
        public var isEmpty: Bool { crossings.isEmpty && changes.isEmpty }
    }

    /// What every fix is held against: kept apart from the rest, so that it is read in one go.
    private struct Circle {
        var centre: EarthPoint
        /// Metres along the ground.
        var radius: Double
        var isAtRest: Bool
    }

    /// The key of the next new fence.
    public private(set) var nextKey: Int64
    private var circles: [Circle] = []
    private var watches: [GeofenceWatch] = []
    private var keys: [Int64] = []
    private var fences: [Geofence] = []
    private var indices: [String: Int] = [:]
    private var trail = GeofenceTrail()
    /// Indices ascending by id: made for the first page of a list, and kept until fences come or go.
    private var order: [Int]?

    /// - Parameters:
    ///   - items: as `items` gave them; of those with the same id the last counts.
    ///   - nextKey: as it was when they were kept.
    public init(_ items: [Item] = [], nextKey: Int64 = 1) {
        self.nextKey = max(nextKey, (items.map(\.key).max() ?? 0) + 1)
        for item in items.prefix(Self.limit) { set(item) }
    }

    /// How many there are.
    public var count: Int { fences.count }
    /// There is none.
    public var isEmpty: Bool { fences.isEmpty }

    /// All of them with their state, ascending by id.
    public var items: [Item] {
        fences.indices.map { item(at: $0) }
            .sorted { $0.fence.id < $1.fence.id }
    }

    /// The next so many of them with their state, ascending by id. Fences that come or go between two pages are no matter.
    ///
    /// - Parameter id: the last of the page before; nil for the first page.
    /// - Returns: them, and whether there are no more.
    public mutating func page(after id: String?, limit: Int) -> (items: [Item], isLast: Bool) {
        let sorted = order ?? fences.indices.sorted { fences[$0].id < fences[$1].id }
        order = sorted
        var (first, end) = (0, sorted.count)
        while let id, first < end {
            let middle = (first + end) / 2
            if fences[sorted[middle]].id <= id { first = middle + 1 } else { end = middle }
        }
        let page = sorted[first...].prefix(max(limit, 1))
        return (page.map { item(at: $0) }, first + page.count == sorted.count)
    }

    /// The keys of those that the vehicle is in.
    public var insideKeys: Set<Int64> {
        Set(keys.indices.filter { watches[$0].isInside == true }.map { keys[$0] })
    }

    /// Adds fences, or replaces those of the same id. The same circle again keeps its state; another one starts
    /// undecided.
    ///
    /// - Returns: nil, or, when there would be too many, the id of the first that has no place; nothing is added then.
    public mutating func add(_ new: [Geofence]) -> String? {
        var known = Set(indices.keys)
        for fence in new where known.insert(fence.id).inserted && known.count > Self.limit {
            return fence.id
        }
        for fence in new {
            if let index = indices[fence.id], fences[index].hasGeometry(of: fence) {
                fences[index] = fence
            } else {
                set(Item(key: nextKey, fence: fence))
                nextKey += 1
            }
        }
        return nil
    }

    /// - Returns: how many of these ids there were.
    public mutating func remove(_ ids: some Sequence<String>) -> Int {
        let doomed = Set(ids.compactMap { indices[$0] })
        guard !doomed.isEmpty else { return 0 }
        let kept = fences.indices.filter { !doomed.contains($0) }
        circles = kept.map { circles[$0] }
        watches = kept.map { watches[$0] }
        keys = kept.map { keys[$0] }
        fences = kept.map { fences[$0] }
        indices = [:]
        order = nil
        for (index, fence) in fences.enumerated() { indices[fence.id] = index }
        return doomed.count
    }

    private func item(at index: Int) -> Item {
        Item(key: keys[index], fence: fences[index], isInside: watches[index].isInside)
    }

    private mutating func set(_ item: Item) {
        order = nil
        let watch = GeofenceWatch(isInside: item.isInside)
        let circle = Circle(
            centre: EarthPoint(item.fence.centre), radius: item.fence.radius, isAtRest: watch.isAtRest)
        if let index = indices[item.fence.id] {
            circles[index] = circle
            watches[index] = watch
            keys[index] = item.key
            fences[index] = item.fence
        } else {
            indices[item.fence.id] = fences.count
            circles.append(circle)
            watches.append(watch)
            keys.append(item.key)
            fences.append(item.fence)
        }
    }

    /// Takes the next settled fix.
    ///
    /// - Parameters:
    ///   - isImplausible: its quality is `implausible_speed`; it then decides nothing.
    ///   - isParked: motion is stationary by reported speed.
    public mutating func judge(_ fix: Fix, isImplausible: Bool = false, isParked: Bool = false) -> Verdict {
        var verdict = Verdict()
        guard !isImplausible, !fences.isEmpty else { return verdict }
        let accuracy = fix.accuracy ?? Self.assumedAccuracy
        let place = EarthPoint(fix.coordinate)
        trail.append(time: fix.time, place: place, accuracy: accuracy)
        // A fence at rest can only be told anything by a fix inside it, or by a way that leads through it.
        let reach = trail.reach
        for index in circles.indices {
            let circle = circles[index]
            let chord = circle.centre.squaredChord(to: place)
            let near = circle.radius + reach
            if circle.isAtRest, chord > near * near { continue }
            guard accuracy <= max(circle.radius, GeofenceWatch.smallest) else { continue }
            judge(index, distance: EarthPoint.arc(ofChord: chord.squareRoot()), isParked, &verdict)
        }
        return verdict
    }

    private mutating func judge(
        _ index: Int, distance: Double, _ isParked: Bool, _ verdict: inout Verdict
    ) {
        let radius = circles[index].radius
        guard let trail = trail.latest(within: max(radius, GeofenceWatch.smallest)) else { return }
        let present = trail.present
        let pause = trail.before.map { present.time.seconds(since: $0.time) } ?? .infinity
        let decision = watches[index].judge(
            GeofenceWatch.Sighting(
                time: present.time, number: present.number, distance: distance, accuracy: present.accuracy,
                isAfterGap: pause >= GeofenceTrail.gap, isParked: isParked),
            radius: radius)
        circles[index].isAtRest = watches[index].isAtRest
        guard let decision else {
            if watches[index].isInside == false, !isParked, distance > radius {
                lookForPassage(index, trail.way(since: watches[index].decidedAt ?? 0), &verdict)
            }
            return
        }
        verdict.changes.append(Change(key: keys[index], isInside: decision.isInside))
        if decision.isInside {
            record(.enter, index, at: decision.since, &verdict)
        } else if decision.wasInside {
            record(.exit, index, at: decision.since, &verdict)
        }
    }

    private func record(_ kind: Crossing.Kind, _ index: Int, at time: Timestamp, _ verdict: inout Verdict) {
        let fence = fences[index]
        guard kind == .enter ? fence.notifiesOnEntry : fence.notifiesOnExit else { return }
        verdict.crossings.append(Crossing(geofence: fence.id, kind: kind, time: time))
    }

    /// A fence passed through too fast for two fixes inside it: the way between the last ones tells.
    private mutating func lookForPassage(
        _ index: Int, _ points: [GeofenceTrail.Point], _ verdict: inout Verdict
    ) {
        let circle = circles[index]
        let chord = EarthPoint.chord(ofArc: circle.radius)
        var isThrough = false
        var first: Timestamp?
        var last: Timestamp?
        for (start, end) in zip(points, points.dropFirst()) {
            let seconds = end.time.seconds(since: start.time)
            let segment = Segment(start: start.place, end: end.place)
            guard let passage = segment.passage(of: circle.centre, within: chord) else { continue }
            let closest = segment.closestApproach(to: circle.centre)
            isThrough = isThrough || closest + max(start.accuracy, end.accuracy) <= circle.radius
            first = first ?? start.time.advanced(bySeconds: passage.enters * seconds)
            last = start.time.advanced(bySeconds: passage.leaves * seconds)
        }
        guard isThrough, let first, let last, let present = points.last else { return }
        watches[index].passed(at: present.number)
        record(.enter, index, at: first, &verdict)
        record(.exit, index, at: last, &verdict)
    }
}
