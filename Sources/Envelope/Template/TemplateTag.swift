/// What a template may ask for: `<%= latitude %>`. Names, types and meanings are those of Transistorsoft's HTTP guide, so
/// that a template written for it can be used as it is; those that are not in it are beekond's own.
package enum TemplateTag: String, CaseIterable, Sendable {
    case latitude, longitude
    /// Metres per second.
    case speed
    /// Kilometres an hour, as the two after it with six decimals at most.
    case speedKmh = "speed.kmh"
    case speedKnots = "speed.knots"
    /// Miles an hour.
    case speedMph = "speed.mph"
    /// Degrees from true north.
    case heading
    /// Metres.
    case accuracy
    /// Metres above the ellipsoid.
    case altitude
    /// ISO 8601 in UTC, with milliseconds.
    case timestamp
    /// Whole seconds since 1970, never later than the moment itself.
    case timestampSeconds = "timestamp.seconds"
    /// Since 1970.
    case timestampMilliseconds = "timestamp.milliseconds"
    /// The id of the location, or of the geofence event.
    case uuid
    /// `motionchange`, `heartbeat`, `geofence`, or nothing.
    case event
    case isMoving = "is_moving"
    case mock
    /// Metres.
    case odometer
    /// `still`, `on_foot`, `running`, `on_bicycle`, `in_vehicle` or `unknown`.
    case activityType = "activity.type"
    /// Per cent.
    case activityConfidence = "activity.confidence"
    /// 0 to 1.
    case batteryLevel = "battery.level"
    case batteryIsCharging = "battery.is_charging"
    case geofenceIdentifier = "geofence.identifier"
    /// `ENTER` or `EXIT`.
    case geofenceAction = "geofence.action"
    /// `removed` for an exit that no fix has shown; otherwise nothing.
    case geofenceReason = "geofence.reason"
    case deviceID = "device_id"
    case installID = "install_id"
    case sessionID = "session_id"
    /// Whether the ignition was on.
    case ignition

    enum Kind { case number, boolean, text }

    /// Text has no quotation marks of its own, so its tag stands only inside a string.
    var kind: Kind {
        switch self {
        case .latitude, .longitude, .speed, .speedKmh, .speedKnots, .speedMph, .heading, .accuracy, .altitude,
            .timestampSeconds, .timestampMilliseconds, .odometer, .activityConfidence, .batteryLevel:
            .number
        case .isMoving, .mock, .batteryIsCharging, .ignition: .boolean
        case .timestamp, .uuid, .event, .activityType, .geofenceIdentifier, .geofenceAction,
            .geofenceReason, .deviceID, .installID, .sessionID:
            .text
        }
    }

    /// Whether records of this kind have the value.
    func isKnown(in record: Template.Kind) -> Bool {
        switch record {
        case .geofence: true
        case .location: ![.geofenceIdentifier, .geofenceAction, .geofenceReason].contains(self)
        }
    }

    /// Whether a record of this kind may be without a value.
    func canBeUnknown(in record: Template.Kind) -> Bool {
        switch self {
        case .timestamp, .timestampSeconds, .timestampMilliseconds, .uuid, .activityConfidence,
            .geofenceIdentifier, .geofenceAction, .deviceID, .installID, .sessionID:
            false
        case .latitude, .longitude, .mock: record == .geofence
        case .speed, .speedKmh, .speedKnots, .speedMph, .heading, .accuracy, .altitude, .event, .isMoving,
            .odometer, .activityType, .batteryLevel, .batteryIsCharging, .geofenceReason, .ignition:
            true
        }
    }

    /// Unknown, it is left out of JSON, where it is all that a member has: the guide has no value for it, or, for motion, one
    /// that says something else.
    var isLeftOutOfJSON: Bool {
        switch self {
        case .speedKmh, .speedKnots, .speedMph, .isMoving, .ignition: true
        case .latitude, .longitude, .speed, .heading, .accuracy, .altitude, .timestamp, .timestampSeconds,
            .timestampMilliseconds, .uuid, .event, .mock, .odometer, .activityType, .activityConfidence,
            .batteryLevel, .batteryIsCharging, .geofenceIdentifier, .geofenceAction, .geofenceReason,
            .deviceID, .installID, .sessionID:
            false
        }
    }
}
