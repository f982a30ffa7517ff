package import Base

/// All geofences with their states: processes every settled fix and reports crossings. Pure: no clock, no I/O.
///
/// Every fix is checked against every fence. For nearly all of them this takes one squared distance in a flat array:
/// a thousand fences cost 6 µs, ten thousand 35 µs (release build), so a spatial index would save nothing worth
/// having. The edges of polygons have one: most fixes touch none of them.
package struct Geofences: Sendable {
    package static let limit = 10_000
    /// Corners of all polygons together: bounds memory, the file and the longest reply.
    package static let cornerLimit = 100_000
    /// Metres; stands in for an unknown accuracy.
    package static let assumedAccuracy = 10.0

    /// What every fix is compared with; kept contiguous for a fast scan.
    struct Circle {
        var centre: EarthPoint
        /// Metres along the ground; around a polygon it is wide enough for all of it.
        var radius: Double
        /// Metres: the radius, for a polygon that of the circle of the same area.
        var size: Double
        /// Whether the vehicle is inside, with no evidence to the contrary; nil while that is disputed, or undecided.
        var undisputed: Bool?
        /// A server has added it.
        var isServers = false
        /// The polygon's place among them; nil for a circle.
        var polygon: Int?

        /// A fix that is not near changes nothing.
        var isAtRest: Bool { undisputed == false }
    }

    package private(set) var nextKey: Int64
    var circles: [Circle] = []
    var polygons = PolygonSet()
    var watches: [GeofenceWatch] = []
    var keys: [Int64] = []
    var fences: [Geofence] = []
    private var times: [Timestamp?] = []
    private var origins: [Origin?] = []
    private var countOfServers = 0
    /// Geofences that servers have set count as none: fixes say nothing of them. Neither stored nor listed.
    package var pausesServers = false
    private var indices: [String: Int] = [:]
    var trail = GeofenceTrail()
    var stays = GeofenceStays()
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
        countServers()
        drawPolygons()
        stays = GeofenceStays(
            keys.indices.filter { watches[$0].isInside == true }.compactMap { index in
                entered[keys[index]].map { (key: keys[index], entered: $0, seconds: fences[index].dwell) }
            })
    }

    package var count: Int { fences.count }
    package var isEmpty: Bool { fences.isEmpty }
    /// Whether there are fences that are not paused.
    package var needFixes: Bool { count > (pausesServers ? countOfServers : 0) }
    /// The fences without their states, in no order.
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

    /// Fix times of the enter into those that the vehicle is in, by key; without those whose stay has been recorded.
    package var entered: [Int64: Timestamp] { stays.entered }

    package var insideKeys: Set<Int64> {
        Set(keys.indices.filter { watches[$0].isInside == true }.map { keys[$0] })
    }

    /// The fence with this id, with its state; nil when there is none.
    package func item(_ id: String) -> Item? { indices[id].map { item(at: $0) } }

    /// Fences that the vehicle is in and whose exit nobody would hear of after a change, although it was to
    /// be reported: they are removed or have another shape by then, or report no exits any more.
    package func left(by changed: Geofences) -> [Item] {
        items.filter { item in
            guard item.isInside == true, item.fence.notifiesOnExit else { return false }
            return changed.item(item.fence.id).map { $0.key != item.key || !$0.fence.notifiesOnExit } ?? true
        }
    }

    /// Not before the latest fix that they have judged, nor before the vehicle entered one of these.
    package func earliest(of keys: [Int64]) -> Timestamp? {
        (keys.compactMap { stays.entered[$0] } + [trail.points.last?.time].compactMap(\.self)).max()
    }

    /// Forgets whether the vehicle is in these fences.
    package mutating func forgetStates(of keys: [Int64]) {
        let keys = Set(keys)
        for index in self.keys.indices where keys.contains(self.keys[index]) {
            stays.leave(self.keys[index])
            watches[index] = GeofenceWatch(isInside: nil)
            circles[index].undisputed = watches[index].undisputed
        }
    }

    /// When the fence with this id was added; nil when there is none, or that is not known.
    package func addedAt(_ id: String) -> Timestamp? { indices[id].flatMap { times[$0] } }

    /// Adds fences, replacing those with the same id. An identical circle keeps its state, the time it was added, and whose
    /// it is; a different one starts undecided.
    ///
    /// - Returns: nil on success. If a limit would be exceeded nothing is added, and the first that does not fit is
    ///   returned.
    package mutating func add(
        _ new: [Geofence], by origin: Origin = .person, at time: Timestamp? = nil
    ) -> Excess? {
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
                if fence.dwell != former { stays.ask(keys[index], for: fence.dwell) }
            } else {
                if let index = indices[fence.id] { stays.leave(keys[index]) }
                set(Item(key: nextKey, fence: fence, addedAt: time, origin: origin))
                nextKey += 1
            }
        }
        countServers()
        drawPolygons()
        return nil
    }

    /// - Returns: how many of the ids existed.
    package mutating func remove(_ ids: some Sequence<String>) -> Int {
        let removed = Set(ids.compactMap { indices[$0] })
        guard !removed.isEmpty else { return 0 }
        for index in removed { stays.leave(keys[index]) }
        let kept = fences.indices.filter { !removed.contains($0) }
        circles = kept.map { circles[$0] }
        watches = kept.map { watches[$0] }
        keys = kept.map { keys[$0] }
        fences = kept.map { fences[$0] }
        times = kept.map { times[$0] }
        origins = kept.map { origins[$0] }
        indices = [:]
        order = nil
        for (index, fence) in fences.enumerated() { indices[fence.id] = index }
        countServers()
        drawPolygons()
        return removed.count
    }

    /// After fences have come or gone.
    private mutating func drawPolygons() {
        guard !polygons.isEmpty || fences.contains(where: { $0.polygon != nil }) else { return }
        polygons = PolygonSet(fences.compactMap(\.polygon))
        var count = 0
        for index in fences.indices where fences[index].polygon != nil {
            circles[index].polygon = count
            circles[index].radius = polygons.shapes[count].reach
            count += 1
        }
    }

    private func item(at index: Int) -> Item {
        Item(
            key: keys[index], fence: fences[index], isInside: watches[index].isInside, addedAt: times[index],
            origin: origins[index])
    }

    private mutating func countServers() { countOfServers = origins.count { $0 == .server } }

    private mutating func set(_ item: Item) {
        order = nil
        let watch = GeofenceWatch(isInside: item.isInside)
        let circle = Circle(
            centre: EarthPoint(item.fence.centre), radius: item.fence.radius, size: item.fence.radius,
            undisputed: watch.undisputed,
            isServers: item.origin == .server)
        if let index = indices[item.fence.id] {
            circles[index] = circle
            watches[index] = watch
            keys[index] = item.key
            fences[index] = item.fence
            times[index] = item.addedAt
            origins[index] = item.origin
        } else {
            indices[item.fence.id] = fences.count
            circles.append(circle)
            watches.append(watch)
            keys.append(item.key)
            fences.append(item.fence)
            times.append(item.addedAt)
            origins.append(item.origin)
        }
    }
}

/// Whose geofences are, and what follows from it.
extension Geofences {
    /// The first fence that a server wants to add but a person owns with another shape: the server may not
    /// change it.
    package func personsAmong(_ new: [Geofence]) -> String? {
        new.first { fence in
            guard let known = item(fence.id), known.origin != .server else { return false }
            return !known.fence.hasGeometry(of: fence)
        }?.id
    }

    /// Geofences that servers have added.
    package var ofServers: [Item] { items.filter { $0.origin == .server } }

    /// Settles whose the geofences are whose origin was not known.
    ///
    /// - Parameter isServers: whether it is a server's; of the others a person is the origin.
    package mutating func settleOrigins(isServers: (Item) -> Bool) {
        let settled = items.map { item in
            var item = item
            if item.origin == nil { item.origin = isServers(item) ? .server : .person }
            return item
        }
        self = Geofences(settled, nextKey: nextKey, entered: entered)
    }
}

/// What geofences are made of, and what they report.
extension Geofences {
    /// Who has added a fence. Raw values are persisted.
    package enum Origin: String, CaseIterable, Sendable {
        case person
        /// In an answer to an upload. While a person's stop holds such a fence counts as none.
        case server
    }

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
        /// Who has added the fence; nil for one of an earlier version, which counts as a person's.
        package var origin: Origin?

        package init(
            key: Int64, fence: Geofence, isInside: Bool? = nil, addedAt: Timestamp? = nil,
            origin: Origin? = nil
        ) {
            self.key = key
            self.fence = fence
            self.isInside = isInside
            self.addedAt = addedAt
            self.origin = origin
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
        /// Stays to be recorded, in chronological order; after the crossings of this fix.
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
        /// Time of the fix that showed it; later than it was due, if there was none then.
        package var time: Timestamp
    }
}
