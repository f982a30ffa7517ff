internal import Base

/// What each fix says of each fence.
extension Geofences {
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
        // Where all fixes are that accurate, they are the same for every fence.
        let common = reach.isFinite ? trail.latest(within: GeofenceWatch.smallest) : nil
        polygons.follow(to: fix.coordinate)
        let view = PolygonOutline.Viewpoint(
            fix.coordinate, place, reach: reach, isShallow: trail.isShallow)
        for index in circles.indices {
            let circle = circles[index]
            if let polygon = circle.polygon, let isInside = circle.undisputed,
                polygons.isQuiet(polygon, isInside: isInside, isPathKnown: reach.isFinite)
            {
                continue
            }
            if circle.isServers, pausesServers { continue }
            let chord = circle.centre.squaredChord(to: place)
            let near = circle.radius + reach
            if circle.isAtRest, chord > near * near { continue }
            guard let distance = distance(index, chord, view, accuracy: accuracy, isParked) else { continue }
            judge(index, distance: distance, isParked, reach: reach, common, &outcome)
        }
        judgeStays(fix, place, isParked: isParked, &outcome)
        return outcome
    }

    /// Metres to the edge; negative inside.
    ///
    /// - Returns: nil when the fix says nothing of this fence, or nothing new.
    private mutating func distance(
        _ index: Int, _ chord: Double, _ view: PolygonOutline.Viewpoint, accuracy: Double, _ isParked: Bool
    ) -> Double? {
        let circle = circles[index]
        guard accuracy <= max(circle.size, GeofenceWatch.smallest) else { return nil }
        guard let polygon = circle.polygon else {
            return EarthPoint.arc(ofChord: chord.squareRoot()) - circle.radius
        }
        let margin = GeofenceWatch.margin(accuracy: accuracy, radius: circle.size)
        let most = isParked || !trail.isSteady ? GeofenceWatch.largestMargin * accuracy : nil
        // Beyond all of it, and of a path through it.
        let beyond = chord.squareRoot() - circle.radius
        if beyond > max(most ?? margin, view.reach) { return beyond }
        return polygons.measure(
            polygon, from: view,
            PolygonSet.Question(
                isInside: circle.undisputed ?? watches[index].isInside,
                isUndisputed: circle.undisputed != nil, margin: margin, most: most, isParked: isParked))
    }

    /// - Parameters:
    ///   - distance: metres to the edge; negative inside.
    ///   - reach: metres; no further can the path have passed by.
    ///   - common: the latest fixes, where they are the same for every fence.
    private mutating func judge(
        _ index: Int, distance: Double, _ isParked: Bool, reach: Double, _ common: GeofenceTrail.Latest?,
        _ outcome: inout Outcome
    ) {
        let radius = circles[index].size
        guard let trail = common ?? trail.latest(within: max(radius, GeofenceWatch.smallest)) else { return }
        let current = trail.current
        let pause = trail.before.map { current.time.seconds(since: $0.time) } ?? .infinity
        let decision = watches[index].judge(
            GeofenceWatch.Sighting(
                time: current.time, number: current.number, distance: distance, accuracy: current.accuracy,
                isAfterGap: pause >= GeofenceTrail.gap, isParked: isParked),
            radius: radius)
        circles[index].undisputed = watches[index].undisputed
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
            stays.enter(key, at: decision.since, asking: fences[index].dwell)
            record(.enter, index, at: decision.since, &outcome)
        } else {
            stays.leave(key)
            if decision.wasInside { record(.exit, index, at: decision.since, &outcome) }
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
        if let polygon = circle.polygon {
            return polygons.shapes[polygon].passage(from: start.coordinate, to: end.coordinate, depth: depth)
        }
        let segment = Segment(start: start.place, end: end.place)
        let chord = EarthPoint.chord(ofArc: circle.radius)
        return segment.passage(of: circle.centre, within: chord).map { passage in
            PolygonOutline.Passage(
                enters: passage.enters, leaves: passage.leaves,
                isDeep: segment.closestApproach(to: circle.centre) + depth <= circle.radius)
        }
    }

    // MARK: Stays

    /// After the fences have judged a fix.
    private mutating func judgeStays(
        _ fix: Fix, _ place: EarthPoint, isParked: Bool, _ outcome: inout Outcome
    ) {
        guard stays.isWaiting else { return }
        let accuracy = fix.accuracy ?? Self.assumedAccuracy
        var stays = self.stays
        let reached = stays.judge(at: fix.time) { key in
            keys.firstIndex(of: key).map { index in
                isParked || isWithin(index, fix.coordinate, place, accuracy: accuracy)
            } ?? false
        }
        self.stays = stays
        for stay in reached {
            guard let index = keys.firstIndex(of: stay.key) else { continue }
            outcome.stays.append(
                Stay(
                    geofence: fences[index].id, entered: stay.entered, seconds: stay.seconds, time: fix.time))
            outcome.changes.append(Change(key: stay.key, isInside: true))
        }
    }

    private func isWithin(
        _ index: Int, _ coordinate: Coordinate, _ place: EarthPoint, accuracy: Double
    ) -> Bool {
        let circle = circles[index]
        if circle.isServers, pausesServers { return false }
        if let polygon = circle.polygon {
            return accuracy <= max(circle.size, GeofenceWatch.smallest)
                && polygons.shapes[polygon].contains(coordinate)
        }
        let distance = EarthPoint.arc(ofChord: circle.centre.squaredChord(to: place).squareRoot())
        return accuracy <= max(circle.radius, GeofenceWatch.smallest) && distance <= circle.radius
    }
}
