internal import Base
package import Tracking

/// What tags stand for in one record: a location, or a geofence event with what is known of the place and the moment.
package struct TemplateRecord: Equatable, Sendable {
    /// What the vehicle runs on, or carries.
    package struct Battery: Equatable, Sendable {
        /// From 0 to 1; nil when unknown.
        package var level: Double?
        /// nil when unknown.
        package var isCharging: Bool?

        package init(level: Double? = nil, isCharging: Bool? = nil) {
            self.level = level
            self.isCharging = isCharging
        }
    }

    /// What made this record, in the guide's words.
    enum Event: String, Sendable {
        case motionChange = "motionchange"
        case heartbeat
        case geofence
        /// Nothing but time or distance.
        case none = ""
    }

    /// Of the location or of the event: minted once, so a server can tell a repetition by it.
    let id: UUIDv7
    let fix: Fix
    let event: Event
    let motion: MotionState
    let activity: Activity?
    /// Metres.
    let odometer: Double?
    let battery: Battery
    /// nil for a location.
    let crossing: Crossing?

    /// A location. One that was admitted because a fence was crossed is like any other: the event is a record of its own.
    ///
    /// - Parameters:
    ///   - odometer: metres; nil when unknown.
    package init(_ location: Location, odometer: Double? = nil, battery: Battery = Battery()) {
        id = location.id
        fix = location.fix
        event =
            switch location.trigger {
            case .motion: .motionChange
            case .checkIn: .heartbeat
            case .interval, .geofence, .manual: .none
            }
        motion = location.motion
        activity = location.activity
        self.odometer = odometer
        self.battery = battery
        crossing = nil
    }

    /// A geofence event.
    ///
    /// - Parameters:
    ///   - fix: where it happened, and what else is known of that; its time is not used, the event has its own.
    ///   - odometer: metres; nil when unknown.
    package init(
        _ event: GeofenceEvent, at fix: Fix, motion: MotionState = .unknown, activity: Activity? = nil,
        odometer: Double? = nil, battery: Battery = Battery()
    ) {
        id = event.id
        self.fix = fix
        self.event = .geofence
        self.motion = motion
        self.activity = activity
        self.odometer = odometer
        self.battery = battery
        crossing = event.crossing
    }

    /// Of the fix, or of the crossing.
    var time: Timestamp { crossing?.time ?? fix.time }

    /// Records in the order in which they are sent: by time, and at the same time locations first.
    static func inOrder(_ records: [TemplateRecord]) -> [TemplateRecord] {
        func precedes(_ left: TemplateRecord, _ right: TemplateRecord) -> Bool {
            if left.time != right.time { return left.time < right.time }
            return left.crossing == nil && right.crossing != nil
        }
        guard zip(records, records.dropFirst()).contains(where: { precedes($1, $0) }) else { return records }
        return records.enumerated().sorted { left, right in
            if precedes(left.element, right.element) { return true }
            // Sorting need not be stable, and the bytes must not depend on that.
            return !precedes(right.element, left.element) && left.offset < right.offset
        }.map(\.element)
    }
}
