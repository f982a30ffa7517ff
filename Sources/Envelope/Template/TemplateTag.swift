/// What a template may ask for: `<%= latitude %>`. Names, types and meanings are those of Transistorsoft's HTTP guide, so
/// that a template written for it can be used as it is; the last four are beekond's own.
package enum TemplateTag: String, CaseIterable, Sendable {
    case latitude, longitude
    /// Metres per second.
    case speed
    /// Degrees from true north.
    case heading
    /// Metres.
    case accuracy
    /// Metres above the ellipsoid.
    case altitude
    /// ISO 8601 in UTC, with milliseconds.
    case timestamp
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
    case deviceID = "device_id"
    case installID = "install_id"
    case sessionID = "session_id"
    /// Whether it was on.
    case ignition

    enum Kind { case number, boolean, text }

    /// Text has no quotation marks of its own, so its tag stands only inside a string.
    var kind: Kind {
        switch self {
        case .latitude, .longitude, .speed, .heading, .accuracy, .altitude, .odometer, .activityConfidence,
            .batteryLevel:
            .number
        case .isMoving, .mock, .batteryIsCharging, .ignition: .boolean
        case .timestamp, .uuid, .event, .activityType, .geofenceIdentifier, .geofenceAction, .deviceID,
            .installID, .sessionID:
            .text
        }
    }

    /// Whether records of this kind have the value.
    func isKnown(in record: Template.Kind) -> Bool {
        switch record {
        case .geofence: true
        case .location: self != .geofenceIdentifier && self != .geofenceAction
        }
    }
}
