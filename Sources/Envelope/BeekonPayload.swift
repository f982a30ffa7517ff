package import Base
package import Tracking

/// What uploads: the part of the envelope that is the same for every batch.
package struct Device: Equatable, Sendable {
    /// The id of this installation, for as long as it lives; nil before there is one, in an empty batch alone.
    package var installID: String?
    /// `linux`, unless the configuration says otherwise for backends that check the SDK's values.
    package var platform: String
    /// The version of beekond.
    package var version: String
    /// The maker's name for the machine; nil when it does not say.
    package var model: String?

    package init(installID: String?, platform: String, version: String, model: String?) {
        self.installID = installID
        self.platform = platform
        self.version = version
        self.model = model
    }
}

/// The bytes of a batch in the format `beekon`, before compression.
///
/// Written by hand: the order of the root fields is fixed, and a retry must be identical to the byte; JSONEncoder promises
/// neither. Absent optionals are left out; an integral number has no decimal point.
package struct BeekonPayload: Sendable {
    /// Part of every envelope.
    package let device: Device
    /// What the configuration adds at the end of every envelope.
    package let params: BodyFields
    /// One buffer for all batches.
    private var buffer: [UInt8] = []

    /// Makes bodies for one device, whose parameters stay the same for all batches.
    ///
    /// - Parameter params: none of them has the name of a field of the envelope.
    package init(device: Device, params: BodyFields = BodyFields()) {
        self.device = device
        self.params = params
    }

    /// - Parameter extras: a JSON object, as it was stored; nil when there are none.
    package mutating func encode(
        batch: UUIDv7, session: UUIDv7, sentAt: Timestamp, extras: String?, locations: [Location],
        events: [GeofenceEvent] = [], vehicleEvents: [VehicleEvent] = []
    ) -> [UInt8] {
        begin(batch: batch, session: session, sentAt: sentAt, extras: extras)
        raw(",\"locations\":[")
        for (index, location) in locations.enumerated() {
            if index > 0 { raw(",") }
            append(location)
        }
        raw("],\"geofence_events\":[")
        for (index, event) in events.enumerated() {
            if index > 0 { raw(",") }
            append(event)
        }
        raw("]")
        for (index, event) in vehicleEvents.enumerated() {
            raw(index > 0 ? "," : ",\"events\":[")
            append(event)
        }
        if !vehicleEvents.isEmpty { raw("]") }
        return end()
    }

    /// An envelope without rows.
    ///
    /// - Parameters:
    ///   - extras: a JSON object; nil when there are none.
    ///   - results: of commands, a JSON object each; left out when there are none.
    package mutating func encode(
        envelope: UUIDv7, session: UUIDv7, sentAt: Timestamp, extras: String?, status: VehicleStatus,
        results: [String]
    ) -> [UInt8] {
        begin(batch: envelope, session: session, sentAt: sentAt, extras: extras)
        raw(",\"locations\":[],\"geofence_events\":[],\"status\":")
        status.append(to: &buffer)
        if !results.isEmpty {
            raw(",\"command_results\":[")
            raw(results.joined(separator: ","))
            raw("]")
        }
        return end()
    }

    private mutating func begin(batch: UUIDv7, session: UUIDv7, sentAt: Timestamp, extras: String?) {
        buffer.removeAll(keepingCapacity: true)
        raw("{\"schema_version\":1,\"batch_id\":\"")
        batch.append(to: &buffer)
        raw("\",\"session_id\":\"")
        session.append(to: &buffer)
        raw("\",\"sent_at\":\"")
        sentAt.appendISO8601(to: &buffer)
        raw("\",\"device\":{")
        if let installID = device.installID {
            raw("\"install_id\":")
            string(installID)
            raw(",")
        }
        raw("\"platform\":")
        string(device.platform)
        raw(",\"sdk_version\":")
        string(device.version)
        if let model = device.model {
            raw(",\"model\":")
            string(model)
        }
        raw("}")
        if let extras {
            raw(",\"extras\":")
            raw(extras)
        }
    }

    private mutating func end() -> [UInt8] {
        params.append(to: &buffer)
        raw("}")
        return buffer
    }

    /// A location by itself, as it stands in a batch: a JSON object.
    package static func object(_ location: Location) -> String {
        var payload = BeekonPayload(device: Device(installID: "", platform: "", version: "", model: nil))
        payload.append(location)
        return String(decoding: payload.buffer, as: UTF8.self)
    }

    private mutating func append(_ event: GeofenceEvent) {
        raw("{\"id\":\"")
        event.id.append(to: &buffer)
        raw("\",\"geofence_id\":")
        string(event.crossing.geofence)
        raw(",\"type\":\"")
        raw(event.crossing.kind.rawValue)
        raw("\",\"timestamp\":\"")
        event.crossing.time.appendISO8601(to: &buffer)
        raw("\"")
        if let reason = event.reason { raw(",\"reason\":\"\(reason.rawValue)\"") }
        raw("}")
    }

    private mutating func append(_ event: VehicleEvent) {
        raw("{\"id\":\"")
        event.id.append(to: &buffer)
        raw("\",\"kind\":\"\(event.happening.kind.rawValue)\",\"type\":\"\(event.happening.type)\"")
        if let subject = event.subject {
            raw(",\"subject\":")
            string(subject)
        }
        if case .known(let time, let isEstimated) = event.time {
            raw(",\"timestamp\":\"")
            time.appendISO8601(to: &buffer)
            raw(isEstimated ? "\",\"time_estimated\":true" : "\"")
        }
        if let place = event.place {
            let numbers: KeyValuePairs<String, EventData.Value?> = [
                "latitude": .number(place.coordinate.latitude),
                "longitude": .number(place.coordinate.longitude),
                "accuracy": place.accuracy.map { .number($0) },
            ]
            raw(",")
            buffer += EventData.json(numbers)?.utf8.dropFirst().dropLast() ?? []
        }
        if let data = event.data {
            raw(",\"data\":")
            raw(data)
        }
        raw("}")
    }

    /// More bytes than any location takes: its fixed words and its longest texts come to 590.
    private static let locationRoom = 1024

    private mutating func append(_ location: Location) {
        let fix = location.fix
        withUnsafeTemporaryAllocation(byteCount: Self.locationRoom, alignment: 1) { room in
            var text = FixedBufferWriter(room)
            text.put("{\"id\":\"")
            text.put(location.id)
            text.put("\",\"timestamp\":\"")
            text.put(fix.time)
            text.put("\",\"trigger\":\"")
            text.put(word: location.trigger.rawValue)
            text.put("\",\"motion\":\"")
            text.put(word: location.motion.rawValue)
            text.put(fix.isMock ? "\",\"is_mock\":true,\"latitude\":" : "\",\"is_mock\":false,\"latitude\":")
            text.put(fix.coordinate.latitude)
            text.put(",\"longitude\":")
            text.put(fix.coordinate.longitude)
            text.put(",\"accuracy\":", fix.accuracy)
            text.put(",\"speed\":", fix.speed)
            text.put(",\"bearing\":", fix.bearing)
            text.put(",\"altitude\":", fix.altitude)
            text.put(",\"activity\":\"", word: location.activity?.rawValue)
            text.put(",\"quality\":\"", word: location.quality?.rawValue)
            if let ignition = location.ignition {
                text.put(ignition ? ",\"ignition\":true" : ",\"ignition\":false")
            }
            text.put("}")
            buffer.append(contentsOf: text.written)
        }
    }

    private mutating func raw(_ text: String) {
        buffer.append(contentsOf: text.utf8)
    }

    private mutating func string(_ text: String) {
        JSONString.append(text, to: &buffer)
    }
}
