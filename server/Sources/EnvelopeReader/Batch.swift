package import Base

/// An upload as it is stored: every value checked and in range.
package struct Batch: Sendable {
    package var id: UUIDv7
    package var session: UUIDv7
    package var sentAt: Timestamp
    package var device: DeviceFacts
    /// A JSON object of strings, as it was sent; nil when there were none.
    package var extras: [UInt8]?
    package var locations: [LocationRow]
    package var events: [EventRow]
    /// What the vehicle says beside its rows.
    package var remarks: Remarks

    package init(
        id: UUIDv7, session: UUIDv7, sentAt: Timestamp, device: DeviceFacts, extras: [UInt8]?,
        locations: [LocationRow], events: [EventRow], remarks: Remarks = Remarks()
    ) {
        self.id = id
        self.session = session
        self.sentAt = sentAt
        self.device = device
        self.extras = extras
        self.locations = locations
        self.events = events
        self.remarks = remarks
    }
}

extension Batch {
    /// Each with a time and an id.
    package var rowCount: Int { locations.count + events.count + remarks.events.count }

    /// Bytes that it holds in memory, about.
    package var footprint: Int {
        var bytes = 1024 + locations.count * MemoryLayout<LocationRow>.stride + (extras?.count ?? 0)
        for event in events { bytes += MemoryLayout<EventRow>.stride + event.geofence.utf8.count }
        bytes += remarks.status?.count ?? 0
        for result in remarks.results {
            bytes += MemoryLayout<CommandResult>.stride + result.id.utf8.count + result.object.count
        }
        for event in remarks.events {
            bytes += MemoryLayout<VehicleEvent>.stride + event.kind.utf8.count + event.object.count
        }
        return bytes
    }
}

/// What an envelope may hold beside locations and crossings of geofences. Objects are kept as they were sent: they may have
/// members that are not known here.
package struct Remarks: Equatable, Sendable {
    /// The state of the vehicle, a JSON object; nil when it did not say.
    package var status: [UInt8]?
    package var results: [CommandResult]
    package var events: [VehicleEvent]

    package init(status: [UInt8]? = nil, results: [CommandResult] = [], events: [VehicleEvent] = []) {
        self.status = status
        self.results = results
        self.events = events
    }
}

/// What became of a command.
package struct CommandResult: Equatable, Sendable {
    /// The id that the server has given it, 1…200 characters.
    package var id: String
    package var isDone: Bool
    /// The JSON object as it was sent.
    package var object: [UInt8]

    package init(id: String, isDone: Bool, object: [UInt8]) {
        self.id = id
        self.isDone = isDone
        self.object = object
    }
}

/// Something happened to the vehicle: its ignition, its power, a trip, a stay in a geofence.
package struct VehicleEvent: Equatable, Sendable {
    package var id: UUIDv7
    package var time: Timestamp
    /// 1…64 characters.
    package var kind: String
    /// The JSON object as it was sent.
    package var object: [UInt8]

    package init(id: UUIDv7, time: Timestamp, kind: String, object: [UInt8]) {
        self.id = id
        self.time = time
        self.kind = kind
        self.object = object
    }
}

/// What a vehicle says of itself with each batch.
package struct DeviceFacts: Equatable, Sendable {
    /// nil in an envelope without rows and status, of who has none yet.
    package var installID: UUIDv7?
    package var platform: String
    package var version: String
    /// nil when the machine does not say.
    package var model: String?

    package init(installID: UUIDv7?, platform: String, version: String, model: String?) {
        self.installID = installID
        self.platform = platform
        self.version = version
        self.model = model
    }
}

/// One location. No reference in it, so that a thousand are one block of memory.
package struct LocationRow: Equatable, Sendable {
    package var id: UUIDv7
    package var time: Timestamp
    /// Degrees, −90…90.
    package var latitude: Double
    /// Degrees, −180…180.
    package var longitude: Double
    /// Metres, at least 0.
    package var accuracy: Double?
    /// Metres per second, at least 0.
    package var speed: Double?
    /// Degrees, 0 ≤ bearing < 360.
    package var bearing: Double?
    /// Metres above the ellipsoid.
    package var altitude: Double?
    package var codes: Codes

    package init(
        id: UUIDv7, time: Timestamp, latitude: Double, longitude: Double, accuracy: Double? = nil,
        speed: Double? = nil, bearing: Double? = nil, altitude: Double? = nil, codes: Codes
    ) {
        self.id = id
        self.time = time
        self.latitude = latitude
        self.longitude = longitude
        self.accuracy = accuracy
        self.speed = speed
        self.bearing = bearing
        self.altitude = altitude
        self.codes = codes
    }
}

/// A geofence was entered or left.
package struct EventRow: Equatable, Sendable {
    /// The raw values are stored.
    package enum Kind: Int16, Sendable {
        case enter = 1
        case exit = 2
    }

    package var id: UUIDv7
    package var time: Timestamp
    package var kind: Kind
    /// 1…100 characters, none of them NUL.
    package var geofence: String

    package init(id: UUIDv7, time: Timestamp, kind: Kind, geofence: String) {
        self.id = id
        self.time = time
        self.kind = kind
        self.geofence = geofence
    }
}
