package import Base

/// A circle or a polygon whose crossings are recorded.
public struct Geofence: Equatable, Sendable {
    /// Why a fence is none.
    public struct Invalid: Error, Equatable, Sendable {
        /// A short explanation for the operator, without a full stop.
        public let reason: String

        /// For what is found wrong before there is a fence.
        public init(reason: String) {
            self.reason = reason
        }
    }

    /// Maximum length of an id, in Unicode scalars.
    package static let idLimit = 100
    /// Metres. Beyond this, distances are accurate to half a per cent only, and so large a circle says little.
    package static let largestRadius = 10_000_000.0
    /// Seconds; the longest stay that can be asked for: a year.
    package static let longestDwell = 31_536_000.0

    /// 1…100 printable characters, chosen by the user.
    package let id: String
    package let centre: Coordinate
    /// Metres, more than 0 and at most `largestRadius`; of a polygon, that of the circle of the same area.
    package let radius: Double
    /// nil for a circle.
    package let polygon: Polygon?
    /// Seconds inside after which a stay is recorded, more than 0 and at most `longestDwell`; nil: none is.
    package let dwell: Double?
    /// Whether entries are recorded.
    package let notifiesOnEntry: Bool
    /// Whether exits are recorded.
    package let notifiesOnExit: Bool

    /// A circle.
    ///
    /// - Throws: `Invalid`, describing the first value that is wrong.
    public init(
        id: String, latitude: Double, longitude: Double, radius: Double, notifiesOnEntry: Bool = true,
        notifiesOnExit: Bool = true, dwell: Double? = nil
    ) throws(Invalid) {
        try Self.check(id)
        try Self.check(dwell: dwell)
        let centre = try Self.coordinate(latitude: latitude, longitude: longitude)
        guard radius > 0, radius <= Self.largestRadius else {
            throw Invalid(reason: "radius_meters must be more than 0 and at most 10000000")
        }
        self.id = id
        self.centre = centre
        self.radius = radius
        polygon = nil
        self.notifiesOnEntry = notifiesOnEntry
        self.notifiesOnExit = notifiesOnExit
        self.dwell = dwell
    }

    /// A polygon.
    ///
    /// - Parameter ring: longitude and latitude of each corner, in degrees, in the order of GeoJSON.
    /// - Throws: `Invalid`, describing the first value that is wrong.
    public init(
        id: String, ring: [[Double]], notifiesOnEntry: Bool = true, notifiesOnExit: Bool = true,
        dwell: Double? = nil
    ) throws(Invalid) {
        try Self.check(id)
        try Self.check(dwell: dwell)
        guard ring.count <= 2 * Polygon.cornerRange.upperBound else { throw Polygon.wrongCount }
        var corners: [Coordinate] = []
        for (index, position) in ring.enumerated() {
            guard position.count == 2 else {
                throw Invalid(reason: "corner \(index + 1) of the polygon must be [longitude, latitude]")
            }
            do {
                corners.append(try Self.coordinate(latitude: position[1], longitude: position[0]))
            } catch {
                throw Invalid(reason: "corner \(index + 1) of the polygon: \(error.reason)")
            }
        }
        let polygon = try Polygon(corners)
        self.id = id
        centre = polygon.centre
        radius = polygon.radius
        self.polygon = polygon
        self.notifiesOnEntry = notifiesOnEntry
        self.notifiesOnExit = notifiesOnExit
        self.dwell = dwell
    }

    /// Whether both are the same circle or polygon, so that the known state carries over.
    func hasGeometry(of other: Geofence) -> Bool {
        centre == other.centre && radius == other.radius && polygon == other.polygon
    }

    private static func check(_ id: String) throws(Invalid) {
        guard (1...idLimit).contains(id.unicodeScalars.count) else {
            throw Invalid(reason: "an id has 1 to \(idLimit) characters")
        }
        guard id.unicodeScalars.allSatisfy(isPrintable) else {
            throw Invalid(reason: "an id has printable characters only")
        }
    }

    private static func check(dwell: Double?) throws(Invalid) {
        guard let dwell else { return }
        guard dwell > 0, dwell <= longestDwell else {
            throw Invalid(reason: "dwell_seconds must be more than 0 and at most 31536000, a year")
        }
    }

    private static func coordinate(latitude: Double, longitude: Double) throws(Invalid) -> Coordinate {
        guard (-90...90).contains(latitude) else {
            throw Invalid(reason: "latitude must be from -90 to 90 degrees")
        }
        guard let coordinate = Coordinate(latitude: latitude, longitude: longitude) else {
            throw Invalid(reason: "longitude must be from -180 to 180 degrees")
        }
        return coordinate
    }

    /// 0 for a circle.
    var cornerCount: Int { polygon?.corners.count ?? 0 }

    /// Excludes control characters, unassigned code points, and invisible characters that would make two ids look
    /// alike.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }
}

/// An entry into a geofence or an exit from it.
package struct Crossing: Equatable, Sendable {
    /// The raw values are those of the wire format.
    package enum Kind: String, CaseIterable, Sendable { case enter, exit }

    /// The id of the geofence.
    package var geofence: String
    package var kind: Kind
    /// Fix time of the first fix that showed the crossing, or interpolated between two fixes.
    package var time: Timestamp

    package init(geofence: String, kind: Kind, time: Timestamp) {
        self.geofence = geofence
        self.kind = kind
        self.time = time
    }
}

/// A recorded crossing, as it is stored, streamed and uploaded.
package struct GeofenceEvent: Equatable, Sendable {
    /// Why an exit is recorded although no fix has shown one: nobody would ever hear of it otherwise. The raw values are
    /// those of the wire format.
    package enum Reason: String, CaseIterable, Sendable {
        /// The fence was removed or replaced while the vehicle was inside, or reports no exits.
        case removed
        /// A person has stopped tracking, and it is a server's: those do not count until somebody starts.
        case stopped
    }

    /// Minted once; its time part is the crossing's time.
    package var id: UUIDv7
    /// The session in progress, or the one that collects the events between two sessions.
    package var session: UUIDv7
    package var crossing: Crossing
    /// Where the fix was that showed it; nil for an event that was stored without.
    package var coordinate: Coordinate?
    /// Metres, of that fix; nil when it is not known.
    package var accuracy: Double?
    /// When the geofence was added; nil for an event that was stored without.
    package var fenceAddedAt: Timestamp?
    /// nil for a crossing that a fix has shown.
    package var reason: Reason?

    /// The id is minted by the caller.
    package init(
        id: UUIDv7, session: UUIDv7, crossing: Crossing, coordinate: Coordinate? = nil,
        accuracy: Double? = nil, fenceAddedAt: Timestamp? = nil, reason: Reason? = nil
    ) {
        self.id = id
        self.session = session
        self.crossing = crossing
        self.coordinate = coordinate
        self.accuracy = accuracy
        self.fenceAddedAt = fenceAddedAt
        self.reason = reason
    }
}
