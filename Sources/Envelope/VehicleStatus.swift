package import Base
package import Tracking

/// How the vehicle and its daemon are doing: the field `status` of an envelope without rows. Absent values are left out.
package struct VehicleStatus: Equatable, Sendable {
    /// `idle`, `tracking` or `stopped`.
    package var state: String
    /// `moving`, `stationary` or `unknown`.
    package var motion: String
    /// The health of the receiver: `ok`, `no_fix` …
    package var receiver: String
    /// Locations and events that the destination has yet to accept.
    package var pending: Int
    /// The time of the oldest of them.
    package var oldestPending: Timestamp?
    /// Metres since the installation; nil where none are counted.
    package var odometer: Double?
    /// nil where nothing tells.
    package var ignition: Bool?
    /// nil where there is none.
    package var battery: Battery?
    /// Version of beekond.
    package var version: String
    /// Seconds since the daemon started.
    package var uptime: Int
    /// Seconds between heartbeats, 0: there are none; nil: nothing is said of it.
    package var heartbeat: Int?
    /// Names of the commands that the destination's server may ask for; nil: nothing is said of them.
    package var commands: [String]?
    /// A summary of the geofences that servers have added; nil: nothing is said of them.
    package var fences: Geofences.Summary?

    package init(
        state: String, motion: String, receiver: String, pending: Int, oldestPending: Timestamp? = nil,
        odometer: Double? = nil, ignition: Bool? = nil, battery: Battery? = nil, version: String, uptime: Int,
        heartbeat: Int? = nil, commands: [String]? = nil, fences: Geofences.Summary? = nil
    ) {
        self.state = state
        self.motion = motion
        self.receiver = receiver
        self.pending = pending
        self.oldestPending = oldestPending
        self.odometer = odometer
        self.ignition = ignition
        self.battery = battery
        self.version = version
        self.uptime = uptime
        self.heartbeat = heartbeat
        self.commands = commands
        self.fences = fences
    }

    /// A JSON object.
    func append(to bytes: inout [UInt8]) {
        func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }
        func text(_ name: String, _ value: String) {
            raw("\"\(name)\":")
            JSONString.append(value, to: &bytes)
        }
        raw("{")
        text("state", state)
        raw(",")
        text("motion", motion)
        raw(",")
        text("receiver", receiver)
        raw(",\"pending\":\(pending)")
        if let oldestPending {
            raw(",\"oldest_pending\":\"")
            oldestPending.appendISO8601(to: &bytes)
            raw("\"")
        }
        func number(_ name: String, _ value: Double) {
            raw(",\"\(name)\":")
            withUnsafeTemporaryAllocation(byteCount: Self.numberRoom, alignment: 1) { room in
                var number = FixedBufferWriter(room)
                number.put(value)
                bytes.append(contentsOf: number.written)
            }
        }
        if let odometer, odometer.isFinite { number("odometer_meters", odometer) }
        if let ignition { raw(",\"ignition\":\(ignition)") }
        if let battery {
            number("battery_level", battery.level)
            raw(",")
            text("battery_state", battery.state.rawValue)
        }
        raw(",")
        text("version", version)
        raw(",\"uptime_seconds\":\(uptime)")
        if let heartbeat { raw(",\"heartbeat_seconds\":\(heartbeat)") }
        if let commands {
            raw(",\"commands\":[")
            for (index, name) in commands.enumerated() {
                if index > 0 { raw(",") }
                JSONString.append(name, to: &bytes)
            }
            raw("]")
        }
        if let fences {
            let digits = String(fences.digest, radix: 16)
            let digest = String(repeating: "0", count: 16 - digits.count) + digits
            raw(",\"fences\":{\"count\":\(fences.count),\"digest\":\"\(digest)\"}")
        }
        raw("}")
    }

    /// Bytes; the longest number has 24.
    private static let numberRoom = 48
}
