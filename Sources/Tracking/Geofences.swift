package import Base

/// All geofences with their states: processes every settled fix and reports crossings. Pure: no clock, no I/O.
///
/// Every fix is checked against every fence. For nearly all of them this takes one squared distance in a flat array:
/// a thousand fences cost 6 µs, ten thousand 35 µs (release build), so a spatial index would save nothing worth
/// having. The edge of a polygon is measured only when the vehicle has moved half the way to it since.
package struct Geofences: Sendable {
    package static let limit = 10_000
    /// Of all polygons together: bounds memory, the file and the longest reply.
    package static let cornerLimit = 100_000
    /// Metres; stands in for an unknown accuracy.
    package static let assumedAccuracy = 10.0

    /// One fence as it is stored and listed.
    package struct Item: Equatable, Sendable {
        /// Never reused for another circle, so that stored state cannot be attributed to the wrong one.
        package var key: Int64
        /// The fence as defined by the user.
        package var fence: Geofence
        /// nil while undecided.
        package var isInside: Bool?
        /// When it was added; nil for one that was added before that was kept.
        package var addedAt: Timestamp?

        package init(key: Int64, fence: Geofence, isInside: Bool? = nil, addedAt: Timestamp? = nil) {
            self.key = key
            self.fence = fence
            self.isInside = isInside
            self.addedAt = addedAt
        }
    }

    /// A change of a fence's state, to be stored.
    package struct Change: Equatable, Sendable {
        package var key: Int64
        package var isInside: Bool
        /// Fix time of the enter while inside; nil where it is not known, and once the stay has been recorded.
        package var enteredAt: Timestamp?

        /// Made by `judge`, or to store a state unchanged.
        package init(key: Int64, isInside: Bool, enteredAt: Timestamp? = nil) {
            self.key = key
            self.isInside = isInside
            self.enteredAt = enteredAt
        }
    }

    /// The first fence for which there is no room.
    package struct Excess: Equatable, Sendable {
        package var id: String
        /// A short explanation for the operator.
        package var reason: String
    }

    package struct Outcome: Equatable, Sendable {
        /// To be recorded, in chronological order for each fence.
        package var crossings: [Crossing] = []
        /// The same; after the crossings of this fix.
        package var stays: [Stay] = []
        /// To be stored in the same transaction as these.
        package var changes: [Change] = []

        package var isEmpty: Bool { crossings.isEmpty && changes.isEmpty }
    }

    /// The vehicle has been in a fence for as long as that asks.
    package struct Stay: Equatable, Sendable {
        /// The id of the fence.
        package var geofence: String
        package var entered: Timestamp
        /// How long the fence asked for.
        package var seconds: Double
        /// Of the fix that showed it; later than it was due, if there was none then.
        package var time: Timestamp
    }

    /// What every fix is compared with; kept contiguous for a fast scan.
    private struct Circle {
        var centre: EarthPoint
        /// Metres along the ground; around a polygon it is wide enough for all of it.
        var radius: Double
        var isAtRest: Bool
        /// The polygon's place among the outlines; nil for a circle.
        var outline: Int?
    }

    package private(set) var nextKey: Int64
    private var circles: [Circle] = []
    private var outlines: [PolygonOutline] = []
    private var watches: [GeofenceWatch] = []
    private var keys: [Int64] = []
    private var fences: [Geofence] = []
    private var times: [Timestamp?] = []
    private var indices: [String: Int] = [:]
    private var trail = GeofenceTrail()
    /// Fix times of the enter into those that the vehicle is in, by key; without those whose stay has been recorded.
    package private(set) var entered: [Int64: Timestamp] = [:]
    private var dwell = Dwell()
    /// Indices in ascending order of id: computed for the first page of a list, and kept until fences are added or
    /// removed.
    private var order: [Int]?

    /// - Parameters:
    ///   - items: as returned by `items`; of several with the same id the last one wins.
    ///   - nextKey: as it was when they were stored.
    ///   - entered: by key, as far as it is known.
    package init(_ items: [Item] = [], nextKey: Int64 = 1, entered: [Int64: Timestamp] = [:]) {
        self.nextKey = max(nextKey, (items.map(\.key).max() ?? 0) + 1)
        for item in items.prefix(Self.limit) { set(item) }
        drawOutlines()
        for (key, watch) in zip(keys, watches) where watch.isInside == true {
            self.entered[key] = entered[key]
        }
        dwell = Dwell(keys.indices.compactMap { stay(at: $0) })
    }

    package var count: Int { fences.count }
    package var isEmpty: Bool { fences.isEmpty }
    /// As defined by the user, in no order.
    package var all: [Geofence] { fences }

    /// All fences with their states, in ascending order of id.
    package var items: [Item] {
        fences.indices.map { item(at: $0) }
            .sorted { $0.fence.id < $1.fence.id }
    }

    /// One page of fences with their states, in ascending order of id. Fences may come and go between two pages.
    ///
    /// - Parameters:
    ///   - id: the last id of the previous page; nil for the first page.
    ///   - cornerLimit: of the page's polygons together; a page has one fence at least.
    /// - Returns: the page, and whether it is the last one.
    package mutating func page(
        after id: String?, limit: Int, cornerLimit: Int = Self.cornerLimit
    ) -> (items: [Item], isLast: Bool) {
        let sorted = order ?? fences.indices.sorted { fences[$0].id < fences[$1].id }
        order = sorted
        var (first, end) = (0, sorted.count)
        while let id, first < end {
            let middle = (first + end) / 2
            if fences[sorted[middle]].id <= id { first = middle + 1 } else { end = middle }
        }
        var (page, corners) = (sorted[first...].prefix(max(limit, 1)), 0)
        for (count, index) in page.enumerated() {
            corners += fences[index].cornerCount
            guard corners > cornerLimit, count > 0 else { continue }
            page = page.prefix(count)
            break
        }
        return (page.map { item(at: $0) }, first + page.count == sorted.count)
    }

    package var insideKeys: Set<Int64> {
        Set(keys.indices.filter { watches[$0].isInside == true }.map { keys[$0] })
    }

    /// When the fence with this id was added; nil when there is none, or that is not known.
    package func addedAt(_ id: String) -> Timestamp? { indices[id].flatMap { times[$0] } }

    /// Adds fences, replacing those with the same id. An identical circle keeps its state, and the time it was added; a
    /// different one starts undecided.
    ///
    /// - Returns: nil on success. If a limit would be exceeded nothing is added, and the first that does not fit is
    ///   returned.
    package mutating func add(_ new: [Geofence], at time: Timestamp? = nil) -> Excess? {
        var known = indices.mapValues { fences[$0].cornerCount }
        var corners = known.values.reduce(0, +)
        for fence in new {
            corners += fence.cornerCount - (known.updateValue(fence.cornerCount, forKey: fence.id) ?? 0)
            if known.count > Self.limit {
                return Excess(id: fence.id, reason: "there can be \(Self.limit) geofences at most")
            }
            if corners > Self.cornerLimit {
                return Excess(
                    id: fence.id, reason: "all polygons together can have \(Self.cornerLimit) corners at most"
                )
            }
        }
        for fence in new {
            if let index = indices[fence.id], fences[index].hasGeometry(of: fence) {
                let former = fences[index].dwell
                fences[index] = fence
                if fence.dwell != former { renewStay(at: index) }
            } else {
                if let index = indices[fence.id] { leave(keys[index]) }
                set(Item(key: nextKey, fence: fence, addedAt: time))
                nextKey += 1
            }
        }
        drawOutlines()
        return nil
    }

    /// - Returns: how many of the ids existed.
    package mutating func remove(_ ids: some Sequence<String>) -> Int {
        let removed = Set(ids.compactMap { indices[$0] })
        guard !removed.isEmpty else { return 0 }
        for index in removed { leave(keys[index]) }
        let kept = fences.indices.filter { !removed.contains($0) }
        circles = kept.map { circles[$0] }
        watches = kept.map { watches[$0] }
        keys = kept.map { keys[$0] }
        fences = kept.map { fences[$0] }
        times = kept.map { times[$0] }
        indices = [:]
        order = nil
        for (index, fence) in fences.enumerated() { indices[fence.id] = index }
        drawOutlines()
        return removed.count
    }

    /// After fences have come or gone.
    private mutating func drawOutlines() {
        guard !outlines.isEmpty || fences.contains(where: { $0.polygon != nil }) else { return }
        outlines = []
        for (index, fence) in fences.enumerated() {
            guard let polygon = fence.polygon else { continue }
            let outline = PolygonOutline(polygon)
            circles[index].outline = outlines.count
            circles[index].radius = outline.reach
            outlines.append(outline)
        }
    }

    private func item(at index: Int) -> Item {
        Item(
            key: keys[index], fence: fences[index], isInside: watches[index].isInside, addedAt: times[index])
    }

    // MARK: Stays

    /// What the vehicle's stay in this fence comes to, if the fence asks and its enter is known.
    private func stay(at index: Int) -> Dwell.Stay? {
        guard let seconds = fences[index].dwell, watches[index].isInside == true else { return nil }
        return entered[keys[index]].map { Dwell.Stay(key: keys[index], entered: $0, seconds: seconds) }
    }

    /// The fence asks for another, or for none any more.
    private mutating func renewStay(at index: Int) {
        dwell.leave(keys[index])
        if let stay = stay(at: index) { dwell.enter(stay) }
    }

    private mutating func leave(_ key: Int64) {
        entered[key] = nil
        dwell.leave(key)
    }

    /// After the fences have judged a fix.
    private mutating func judgeStays(
        _ fix: Fix, _ place: EarthPoint, isParked: Bool, _ outcome: inout Outcome
    ) {
        guard dwell.isWaiting else { return }
        let accuracy = fix.accuracy ?? Self.assumedAccuracy
        let view = outlines.isEmpty ? nil : PolygonOutline.Viewpoint(fix.coordinate, place)
        var dwell = self.dwell
        let reached = dwell.judge(at: fix.time) { key in
            keys.firstIndex(of: key).map { index in
                isParked || isWithin(index, place, view, accuracy: accuracy)
            } ?? false
        }
        self.dwell = dwell
        for stay in reached {
            guard let index = keys.firstIndex(of: stay.key) else { continue }
            entered[stay.key] = nil
            outcome.stays.append(
                Stay(
                    geofence: fences[index].id, entered: stay.entered, seconds: stay.seconds, time: fix.time))
            outcome.changes.append(Change(key: stay.key, isInside: true))
        }
    }

    private func isWithin(
        _ index: Int, _ place: EarthPoint, _ view: PolygonOutline.Viewpoint?, accuracy: Double
    ) -> Bool {
        let circle = circles[index]
        if let outline = circle.outline, let view {
            var shape = outlines[outline]
            return accuracy <= max(shape.size, GeofenceWatch.smallest) && shape.measure(from: view) <= 0
        }
        let distance = EarthPoint.arc(ofChord: circle.centre.squaredChord(to: place).squareRoot())
        return accuracy <= max(circle.radius, GeofenceWatch.smallest) && distance <= circle.radius
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
            times[index] = item.addedAt
        } else {
            indices[item.fence.id] = fences.count
            circles.append(circle)
            watches.append(watch)
            keys.append(item.key)
            fences.append(item.fence)
            times.append(item.addedAt)
        }
    }

    /// Processes the next settled fix.
    ///
    /// - Parameters:
    ///   - isImplausible: its quality is `implausible_speed`; such a fix is ignored.
    ///   - isParked: stationary, as confirmed by a reported speed.
    package mutating func judge(_ fix: Fix, isImplausible: Bool = false, isParked: Bool = false) -> Outcome {
        var outcome = Outcome()
        guard !isImplausible, !fences.isEmpty else { return outcome }
        let accuracy = fix.accuracy ?? Self.assumedAccuracy
        let place = EarthPoint(fix.coordinate)
        trail.append(time: fix.time, coordinate: fix.coordinate, place: place, accuracy: accuracy)
        // A fence at rest is affected only by a fix inside it, or by a path that passes through it.
        let reach = trail.reach
        let view = outlines.isEmpty ? nil : PolygonOutline.Viewpoint(fix.coordinate, place)
        for index in circles.indices {
            let circle = circles[index]
            let chord = circle.centre.squaredChord(to: place)
            let near = circle.radius + reach
            if circle.isAtRest, chord > near * near { continue }
            var distance = 0.0
            if let outline = circle.outline, let view {
                guard accuracy <= max(outlines[outline].size, GeofenceWatch.smallest) else { continue }
                let watch = watches[index]
                if watch.isUndisputed, let isInside = watch.isInside,
                    outlines[outline].isClear(place, isInside: isInside, path: reach)
                {
                    continue
                }
                distance = outlines[outline].measure(from: view)
            } else {
                guard accuracy <= max(circle.radius, GeofenceWatch.smallest) else { continue }
                distance = EarthPoint.arc(ofChord: chord.squareRoot()) - circle.radius
            }
            judge(index, distance: distance, isParked, reach: reach, &outcome)
        }
        judgeStays(fix, place, isParked: isParked, &outcome)
        return outcome
    }

    /// - Parameters:
    ///   - distance: metres to the edge; negative inside.
    ///   - reach: metres; no further can the path have passed by.
    private mutating func judge(
        _ index: Int, distance: Double, _ isParked: Bool, reach: Double, _ outcome: inout Outcome
    ) {
        let radius = circles[index].outline.map { outlines[$0].size } ?? circles[index].radius
        guard let trail = trail.latest(within: max(radius, GeofenceWatch.smallest)) else { return }
        let current = trail.current
        let pause = trail.before.map { current.time.seconds(since: $0.time) } ?? .infinity
        let decision = watches[index].judge(
            GeofenceWatch.Sighting(
                time: current.time, number: current.number, distance: distance, accuracy: current.accuracy,
                isAfterGap: pause >= GeofenceTrail.gap, isParked: isParked),
            radius: radius)
        circles[index].isAtRest = watches[index].isAtRest
        guard let decision else {
            if watches[index].isInside == false, !isParked, distance > 0, distance <= reach {
                detectPassage(index, trail.path(since: watches[index].decidedAt ?? 0), &outcome)
            }
            return
        }
        let key = keys[index]
        outcome.changes.append(
            Change(
                key: key, isInside: decision.isInside, enteredAt: decision.isInside ? decision.since : nil))
        if decision.isInside {
            entered[key] = decision.since
            renewStay(at: index)
        } else {
            leave(key)
        }
        if decision.isInside {
            record(.enter, index, at: decision.since, &outcome)
        } else if decision.wasInside {
            record(.exit, index, at: decision.since, &outcome)
        }
    }

    private func record(_ kind: Crossing.Kind, _ index: Int, at time: Timestamp, _ outcome: inout Outcome) {
        let fence = fences[index]
        guard kind == .enter ? fence.notifiesOnEntry : fence.notifiesOnExit else { return }
        outcome.crossings.append(Crossing(geofence: fence.id, kind: kind, time: time))
    }

    /// Detects a fence passed through too fast for two fixes inside it, from the path between the latest fixes.
    private mutating func detectPassage(
        _ index: Int, _ points: [GeofenceTrail.Point], _ outcome: inout Outcome
    ) {
        var passesThrough = false
        var first: Timestamp?
        var last: Timestamp?
        for (start, end) in zip(points, points.dropFirst()) {
            let seconds = end.time.seconds(since: start.time)
            guard let passage = passage(index, from: start, to: end) else { continue }
            passesThrough = passesThrough || passage.isDeep
            first = first ?? start.time.advanced(bySeconds: passage.enters * seconds)
            last = start.time.advanced(bySeconds: passage.leaves * seconds)
        }
        guard passesThrough, let first, let last, let current = points.last else { return }
        watches[index].passed(at: current.number)
        record(.enter, index, at: first, &outcome)
        record(.exit, index, at: last, &outcome)
    }

    /// - Returns: nil when no point of the way from one to the other lies inside. It is deep if one lies so deep inside
    ///   that the accuracy of the two does not matter.
    private func passage(
        _ index: Int, from start: GeofenceTrail.Point, to end: GeofenceTrail.Point
    ) -> PolygonOutline.Passage? {
        let depth = max(start.accuracy, end.accuracy)
        let circle = circles[index]
        if let outline = circle.outline {
            return outlines[outline].passage(from: start.coordinate, to: end.coordinate, depth: depth)
        }
        let segment = Segment(start: start.place, end: end.place)
        let chord = EarthPoint.chord(ofArc: circle.radius)
        return segment.passage(of: circle.centre, within: chord).map { passage in
            PolygonOutline.Passage(
                enters: passage.enters, leaves: passage.leaves,
                isDeep: segment.closestApproach(to: circle.centre) + depth <= circle.radius)
        }
    }
}
