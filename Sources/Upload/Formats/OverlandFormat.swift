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

extension OverlandFormat {
    /// What this status most likely means at servers of this format, and what to do; nil where it means what it always does.
    static func advice(_ status: Int) -> String? {
        switch status {
        case 400:
            "The server refuses the batch (400). PhoneTrack does when the quota of points is used up or the device's name is "
                + "reserved: raise the quota in its settings, or use the name's token in url."
        case 401:
            "The server refuses the credentials (401): correct the API key in headers. Dawarich answers the same when the "
                + "account is not active or its limit of points is reached."
        case 402: "Dawarich asks for a subscription (402): complete it in its account settings."
        case 403:
            "The server forbids it (403). PhoneTrack does when the token in url is wrong or the session is locked: copy the "
                + "url from the session's settings."
        case 404:
            "The server has nothing at this path (404): url must end in /api/v1/overland/batches for Dawarich, in "
                + "/api/overland for GeoPulse, in /apps/phonetrack/log/overland/TOKEN/NAME for PhoneTrack."
        case 422:
            "The server cannot process the batch (422): check that url is its address for Overland, and see its log."
        case 429:
            "The server finds the requests too many (429): raise interval_seconds or batch_size. Dawarich's cloud takes "
                + "10,000 an hour."
        case 500:
            "The server failed (500). Dawarich does when it cannot store one location of a batch: see its log. The batch is "
                + "tried again."
        default: nil
        }
    }
}
