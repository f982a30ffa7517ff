internal import Base

/// All polygons, and on which side of each of them the vehicle is. Pure: no clock, no I/O.
///
/// Whoever crosses no edge stays on the side where they were. So the tree of all edges is asked once which of them the piece of
/// the way to a fix meets, and only the polygons that they belong to have anything to do.
struct PolygonSet: Sendable {
    /// What is known of one polygon.
    fileprivate struct Side {
        /// nil: by counting all of its edges.
        var isInside: Bool?
        /// Numbers of pieces: the last one that met an edge, and the last one that may have begun inside.
        var met = 1
        var begunInside = 1
        /// An edge that was near.
        var near: EdgeTree.Edge?
        /// The number of one that was found to be near.
        var hint = 0
    }

    /// What a fence asks of a fix.
    struct Question {
        /// The fence's state; nil while undecided.
        var isInside: Bool?
        /// Whether there is no evidence against that state.
        var isUndisputed: Bool
        /// Metres beyond the edge that an exit takes.
        var margin: Double
        /// Metres: no other decision asks for more. nil: none asks for another than `margin`, nor how far inside the fix lies.
        var most: Double?
        /// No path is looked at then.
        var isParked: Bool
    }

    private(set) var shapes: [PolygonOutline] = []
    private var sides: [Side] = []
    /// Made for the first fix after polygons have come or gone.
    private var tree: EdgeTree?
    private var last: Coordinate?
    /// The number of the piece that led to the present fix; there is none before the first.
    private var number = 0
    private var found: [EdgeTree.Meeting] = []

    init(_ polygons: [Polygon] = []) {
        shapes = polygons.map { PolygonOutline($0) }
        sides = polygons.map { _ in Side() }
    }

    var isEmpty: Bool { shapes.isEmpty }

    /// To be called for each fix, before anything is asked of it.
    mutating func follow(to coordinate: Coordinate) {
        guard !isEmpty else { return }
        let tree = self.tree ?? EdgeTree(shapes)
        self.tree = tree
        number += 1
        guard let last else { return self.last = coordinate }
        let piece = EdgeTree.Edge(
            x: last.longitude, y: last.latitude,
            endX: last.longitude + PolygonRing.wrapped(coordinate.longitude - last.longitude),
            endY: coordinate.latitude)
        found.removeAll(keepingCapacity: true)
        tree.meet(piece, &found)
        for meeting in found { sides[meeting.owner].meet(meeting, number) }
        // A leap over everything may have met each edge there is.
        if found.capacity > Self.keptMeetings { found = [] }
        self.last = coordinate
    }

    private static let keptMeetings = 8192

    // MARK: What the fix says of a polygon

    /// Whether the fix says nothing about a state that is undisputed, as far as is known without measuring anything.
    ///
    /// - Parameter isPathKnown: no path that matters is longer than the last two pieces.
    @inline(__always)
    func isQuiet(_ index: Int, isInside: Bool, isPathKnown: Bool) -> Bool {
        let side = sides[index]
        guard side.isInside == isInside else { return false }
        return isInside || isPathKnown && side.met < number - 1
    }

    /// Whether the fix lies inside: exactly.
    mutating func contains(_ index: Int, _ view: PolygonOutline.Viewpoint) -> Bool {
        if let isInside = sides[index].isInside { return isInside }
        let isInside = shapes[index].contains(view.coordinate)
        sides[index].isInside = isInside
        return isInside
    }

    /// Metres to the edge, negative inside, as exactly as the fence has to know: where no decision depends on it, only the side
    /// is right, and whether an exit takes more.
    ///
    /// - Returns: nil where the fix changes nothing about the state: it lies on the same side, or no further outside than an exit
    ///   takes, and no path to it passes through.
    mutating func measure(_ index: Int, from view: PolygonOutline.Viewpoint, _ question: Question) -> Double?
    {
        guard !contains(index, view) else {
            if question.isUndisputed, question.isInside == true { return nil }
            return question.most.map { -distance(index, view, within: $0) } ?? -1
        }
        if question.isInside == false {
            // An enter asks for the side alone, and a path is looked at for itself.
            let mayPass = view.reach > 0 && !question.isParked && mayPassThrough(index, view)
            return mayPass ? min(1, view.reach) : question.isUndisputed ? nil : .infinity
        }
        // A plane differs from the ground by far less than a per cent.
        let near = 0.99 * question.margin
        // Mostly it is the same edge as before, or one that the way to here has met.
        if let edge = sides[index].near, edge.squaredDistance(to: view.coordinate, view.scale) <= near * near
        {
            return question.isUndisputed ? nil : near
        }
        let metres = distance(index, view, within: question.most ?? question.margin, enough: near)
        return metres <= near && question.isUndisputed ? nil : metres
    }

    /// Metres to the edge, on either side; some more than `most` where it is that far. It is no less than it was found to be,
    /// where that is `enough` at most.
    private mutating func distance(
        _ index: Int, _ view: PolygonOutline.Viewpoint, within most: Double, enough: Double = 0
    ) -> Double {
        let hint = sides[index].hint
        // Without copies of what a shape holds.
        let found = shapes.withUnsafeBufferPointer { shapes in
            shapes[index].nearest(to: view, within: most, hint: hint, enough: enough)
                .map { (edge: shapes[index].edge($0.edge), number: $0.edge, metres: $0.metres) }
        }
        // More than nothing, also where accuracies are said to be 0.
        guard let found else { return max(1.01 * most, .leastNormalMagnitude) }
        sides[index].near = found.edge
        sides[index].hint = found.number
        return found.metres
    }

    /// Whether a path may lead through a polygon that the vehicle is outside of, and so far inside that it
    /// counts.
    private func mayPassThrough(_ index: Int, _ view: PolygonOutline.Viewpoint) -> Bool {
        guard view.reach.isFinite else { return true }
        let side = sides[index]
        guard side.met >= number - 1 else { return false }
        return !(view.isShallow && side.begunInside < number - 1)
    }
}

extension PolygonSet.Side {
    @inline(__always)
    fileprivate mutating func meet(_ meeting: EdgeTree.Meeting, _ number: Int) {
        if met != number {
            met = number
            if isInside != false { begunInside = number }
        }
        near = meeting.edge
        isInside = meeting.isCrossed ? isInside.map { !$0 } : nil
    }
}
