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

        /// The battery that was stored with a row.
        package init(_ stored: Tracking.Battery?) {
            self.init(level: stored?.level, isCharging: stored?.isCharging)
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

    private enum Row: Equatable, Sendable {
        case location(Location)
        case event(GeofenceEvent)
    }

    private let row: Row
    /// Metres.
    let odometer: Double?
    let battery: Battery
    /// Whether the ignition was on; nil when unknown.
    let ignition: Bool?

    /// A location. One that was admitted because a fence was crossed is like any other: the event is a record of its own.
    ///
    /// - Parameters:
    ///   - odometer: metres; by default those stored with the location.
    ///   - battery: by default as it was stored.
    package init(_ location: Location, odometer: Double? = nil, battery: Battery? = nil) {
        row = .location(location)
        self.odometer = odometer ?? location.mileage.map { Double($0) }
        self.battery = battery ?? Battery(location.battery)
        ignition = location.ignition
    }

    /// A geofence event. It is known where it happened, and not how fast.
    ///
    /// - Parameter odometer: metres; nil when unknown.
    package init(_ event: GeofenceEvent, odometer: Double? = nil, battery: Battery = Battery()) {
        row = .event(event)
        self.odometer = odometer
        self.battery = battery
        ignition = nil
    }

    /// An event, with what the location says that the crossing has admitted.
    package init(_ event: GeofenceEvent, at location: Location?) {
        row = .event(event)
        odometer = location?.mileage.map { Double($0) }
        battery = Battery(location?.battery)
        ignition = location?.ignition
    }

    /// The id of the location or the event: minted once, so a server can tell a repetition by it.
    var id: UUIDv7 {
        switch row {
        case .location(let location): location.id
        case .event(let event): event.id
        }
    }

    /// The time of the fix, or of the crossing.
    var time: Timestamp {
        switch row {
        case .location(let location): location.fix.time
        case .event(let event): event.crossing.time
        }
    }

    /// nil for an event that was stored before events had positions.
    var coordinate: Coordinate? {
        switch row {
        case .location(let location): location.fix.coordinate
        case .event(let event): event.coordinate
        }
    }

    /// Metres.
    var accuracy: Double? {
        switch row {
        case .location(let location): location.fix.accuracy
        case .event(let event): event.accuracy
        }
    }

    /// nil for an event.
    var location: Location? {
        if case .location(let location) = row { location } else { nil }
    }

    /// nil for a location.
    var crossing: Crossing? {
        if case .event(let event) = row { event.crossing } else { nil }
    }

    /// nil for a location, and for a crossing that a fix has shown.
    var reason: GeofenceEvent.Reason? {
        if case .event(let event) = row { event.reason } else { nil }
    }

    /// The number that a tag stands for; nil when it is unknown, and for what is none.
    func number(_ tag: TemplateTag) -> Double? {
        let fix = location?.fix
        let value: Double? =
            switch tag {
            case .latitude: coordinate?.latitude
            case .longitude: coordinate?.longitude
            case .speed: fix?.speed
            case .speedKmh: fix?.speed.map { Self.perHour($0, meters: 1000) }
            case .speedKnots: fix?.speed.map { Self.perHour($0, meters: 1852) }
            case .speedMph: fix?.speed.map { Self.perHour($0, meters: 1609.344) }
            case .heading: fix?.bearing
            case .accuracy: accuracy
            case .altitude: fix?.altitude
            case .timestampSeconds: Double(time.wholeSeconds)
            case .timestampMilliseconds: Double(time.milliseconds)
            case .odometer: odometer
            case .activityConfidence: 100
            case .batteryLevel: battery.level
            case .timestamp, .uuid, .event, .isMoving, .mock, .activityType, .batteryIsCharging,
                .geofenceIdentifier, .geofenceAction, .geofenceReason, .deviceID, .installID, .sessionID,
                .ignition:
                nil
            }
        return value.flatMap { $0.isFinite ? $0 : nil }
    }

    /// A speed in units of so many metres an hour. Decimals after the sixth are cut: less than half a micrometre a second.
    private static func perHour(_ speed: Double, meters: Double) -> Double {
        (speed * 3600 / meters * 1e6).rounded() / 1e6
    }

    /// nil when it is unknown.
    var isMoving: Bool? {
        switch location?.motion {
        case .moving: true
        case .stationary: false
        case .unknown, nil: nil
        }
    }

    /// Whether there is nothing to write for a tag.
    func isUnknown(_ tag: TemplateTag) -> Bool {
        switch tag {
        case .latitude, .longitude, .speed, .speedKmh, .speedKnots, .speedMph, .heading, .accuracy, .altitude,
            .timestampSeconds, .timestampMilliseconds, .odometer, .activityConfidence, .batteryLevel:
            number(tag) == nil
        case .event: event == .none
        case .isMoving: isMoving == nil
        case .mock: location == nil
        case .activityType: location?.activity == nil || location?.activity == .unknown
        case .batteryIsCharging: battery.isCharging == nil
        case .geofenceIdentifier: crossing?.geofence.isEmpty ?? true
        case .geofenceReason: reason == nil
        case .ignition: ignition == nil
        case .timestamp, .uuid, .geofenceAction, .deviceID, .installID, .sessionID: false
        }
    }

    var event: Event {
        switch location?.trigger {
        case nil: .geofence
        case .motion: .motionChange
        case .checkIn: .heartbeat
        case .interval, .geofence, .manual: Event.none
        }
    }

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
