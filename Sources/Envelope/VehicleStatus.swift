package import Base

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
    /// Of beekond.
    package var version: String
    /// Seconds since the daemon started.
    package var uptime: Int

    package init(
        state: String, motion: String, receiver: String, pending: Int, oldestPending: Timestamp? = nil,
        odometer: Double? = nil, ignition: Bool? = nil, version: String, uptime: Int
    ) {
        self.state = state
        self.motion = motion
        self.receiver = receiver
        self.pending = pending
        self.oldestPending = oldestPending
        self.odometer = odometer
        self.ignition = ignition
        self.version = version
        self.uptime = uptime
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
        if let odometer, odometer.isFinite {
            raw(",\"odometer_meters\":")
            withUnsafeTemporaryAllocation(byteCount: Self.numberRoom, alignment: 1) { room in
                var number = FixedBufferWriter(room)
                number.put(odometer)
                bytes.append(contentsOf: number.written)
            }
        }
        if let ignition { raw(",\"ignition\":\(ignition)") }
        raw(",")
        text("version", version)
        raw(",\"uptime_seconds\":\(uptime)}")
    }

    /// Bytes; the longest number has 24.
    private static let numberRoom = 48
}
