internal import Base
package import DaemonConfiguration
internal import Envelope
package import Tracking

/// The format `overland`: batches as the app Overland sends them, for Dawarich, GeoPulse, PhoneTrack and receivers of one's
/// own. GeoJSON features, not compressed. Geofence events are not carried.
///
/// An unknown speed, course or accuracy is −1, as with Core Location, from which the app takes them; an unknown altitude is
/// left out, because −1 is one. `battery_level` is left out where the machine has no battery; a time on the second has no
/// fraction, because some receivers read none.
package struct OverlandFormat: Equatable, Sendable {
    /// How the server tells vehicles apart; nil leaves that to the url. PhoneTrack prefers it to the name in the url.
    package var deviceID: String?
    /// `unique_id` of every location, as the app means it; nil: each has its own id there.
    package var uniqueID: String?

    package init(deviceID: String?, uniqueID: String? = nil) {
        self.deviceID = deviceID
        self.uniqueID = uniqueID
    }

    /// - Parameter installID: of this installation.
    package init(_ settings: Settings.Overland, installID: String) {
        self.init(
            deviceID: settings.deviceID, uniqueID: settings.uniqueID == .device ? installID : nil)
    }

    /// - Parameter locations: none make a request that every server of this format accepts, and that changes nothing there.
    package func request(_ locations: [Location]) -> Request {
        var text = RequestText()
        text.put("{\"locations\":[")
        for (index, location) in locations.enumerated() {
            if index > 0 { text.put(",") }
            append(location, to: &text)
        }
        text.put("]}")
        return Request(format: .overland, contentType: "application/json", body: text.bytes)
    }

    private func append(_ location: Location, to text: inout RequestText) {
        let fix = location.fix
        text.put("{\"type\":\"Feature\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[")
        text.put(fix.coordinate.longitude)
        text.put(",")
        text.put(fix.coordinate.latitude)
        text.put("]},\"properties\":{\"timestamp\":\"")
        text.put(brief: fix.time)
        text.put("\"")
        if let altitude = fix.altitude?.ifFinite {
            text.put(",\"altitude\":")
            text.put(altitude)
        }
        text.put(",\"speed\":")
        text.put(fix.speed?.ifFinite ?? -1)
        text.put(",\"course\":")
        text.put(fix.bearing?.ifFinite ?? -1)
        text.put(",\"horizontal_accuracy\":")
        text.put(fix.accuracy?.ifFinite ?? -1)
        text.put(",\"motion\":[")
        text.put(Self.motion(location))
        text.put("]")
        if let battery = location.battery {
            text.put(",\"battery_level\":")
            text.put(battery.level)
        }
        if let deviceID {
            text.put(",\"device_id\":")
            text.put(string: deviceID)
        }
        text.put(",\"id\":\"")
        text.put(location.id)
        text.put("\",\"unique_id\":")
        if let uniqueID {
            text.put(string: uniqueID)
        } else {
            text.put("\"")
            text.put(location.id)
            text.put("\"")
        }
        text.put("}}")
    }

    /// The element of `motion`, quoted; empty for none. The app knows five words, and servers no others:
    ///
    /// | activity | word |
    /// |---|---|
    /// | stationary, walking, running, cycling | the same |
    /// | automotive | `driving` |
    /// | unknown, or none | `stationary` when motion is, else none: no word says only that it moves |
    private static func motion(_ location: Location) -> StaticString {
        switch location.activity {
        case .stationary: "\"stationary\""
        case .walking: "\"walking\""
        case .running: "\"running\""
        case .cycling: "\"cycling\""
        case .automotive: "\"driving\""
        case .unknown, nil:
            switch location.motion {
            case .stationary: "\"stationary\""
            case .moving, .unknown: ""
            }
        }
    }

    /// What the app demands of every answer, but for one that is no JSON: a receiver of one's own may answer with nothing.
    static let acceptance = Acceptance(member: "result", values: ["ok"], isDemanded: false)

    /// How many locations the server says it has saved, as Compass does.
    static func saved(_ answer: Answer) -> Int? {
        guard case .object(let members)? = Acceptance.json(answer), case .number(let text)? = members["saved"]
        else { return nil }
        return Int(text)
    }
}
