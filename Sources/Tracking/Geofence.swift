/// A circle whose crossings are recorded.
public struct Geofence: Equatable, Sendable {
    /// Why a geofence cannot be one.
    public struct Invalid: Error, Equatable, Sendable {
        /// For the operator, in a few words.
        public let reason: String
    }

    /// Characters of an id at most.
    public static let idLimit = 100
    /// Metres. Beyond this the distances are good to half a per cent only, and a circle says little.
    public static let largestRadius = 10_000_000.0

    /// 1…100 printable characters, chosen by the user.
    public let id: String
    /// Its middle.
    public let centre: Coordinate
    /// Metres, more than 0, at most `largestRadius`.
    public let radius: Double
    /// Entries are recorded.
    public let notifiesOnEntry: Bool
    /// Exits are recorded.
    public let notifiesOnExit: Bool

    /// - Throws: `Invalid`, with what is wrong with the first value that is.
    public init(
        id: String, latitude: Double, longitude: Double, radius: Double, notifiesOnEntry: Bool = true,
        notifiesOnExit: Bool = true
    ) throws(Invalid) {
        guard (1...Self.idLimit).contains(id.unicodeScalars.count) else {
            throw Invalid(reason: "an id has 1 to \(Self.idLimit) characters")
        }
        guard id.unicodeScalars.allSatisfy(Self.isPrintable) else {
            throw Invalid(reason: "an id has printable characters only")
        }
        guard (-90...90).contains(latitude) else {
            throw Invalid(reason: "latitude must be from -90 to 90 degrees")
        }
        guard let centre = Coordinate(latitude: latitude, longitude: longitude) else {
            throw Invalid(reason: "longitude must be from -180 to 180 degrees")
        }
        guard radius > 0, radius <= Self.largestRadius else {
            throw Invalid(reason: "radius_meters must be more than 0 and at most 10000000")
        }
        self.id = id
        self.centre = centre
        self.radius = radius
        self.notifiesOnEntry = notifiesOnEntry
        self.notifiesOnExit = notifiesOnExit
    }

    /// The same circle: what was known of it still holds.
    func hasGeometry(of other: Geofence) -> Bool {
        centre == other.centre && radius == other.radius
    }

    /// Neither control characters nor invisible ones, which make two ids look alike, nor code points that mean nothing.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }
}

/// An entry into a geofence or an exit from it, as it is decided.
public struct Crossing: Equatable, Sendable {
    /// The names are the wire format's.
    public enum Kind: String, CaseIterable, Sendable { case enter, exit }

    /// The fence's.
    public var geofence: String
    /// In or out.
    public var kind: Kind
    /// The fix time of the first fix that decided it, or interpolated between two fixes.
    public var time: Timestamp

    /// Decided by `Geofences`, or read back.
    public init(geofence: String, kind: Kind, time: Timestamp) {
        self.geofence = geofence
        self.kind = kind
        self.time = time
    }
}

/// A recorded crossing, as it is stored, streamed and uploaded.
public struct GeofenceEvent: Equatable, Sendable {
    /// Minted once; its time part is the crossing's time.
    public var id: UUIDv7
    /// The session under way, or the one of the events between two sessions.
    public var session: UUIDv7
    /// What happened.
    public var crossing: Crossing

    /// Minted by whoever records it.
    public init(id: UUIDv7, session: UUIDv7, crossing: Crossing) {
        self.id = id
        self.session = session
        self.crossing = crossing
    }
}
