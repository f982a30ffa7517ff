package import Base
package import DaemonConfiguration
package import Tracking

/// The format `owntracks`: one JSON message a row, by HTTP for the OwnTracks recorder, Home Assistant, GeoPulse, Dawarich,
/// PhoneTrack and Traccar, or by MQTT for the recorder and Home Assistant. The message is the same both ways.
///
/// Fields and units are those of the booklet (owntracks.org/booklet/tech/json): whole metres, degrees, kilometres an hour and
/// seconds. What is unknown is left out, except accuracy.
package struct OwnTracksFormat: Equatable, Sendable {
    /// Metres, in place of an unknown accuracy. Home Assistant drops locations without one, or with 0.
    package static let assumedAccuracy: Int64 = 100
    /// Metres: the least that is written, for the same reason.
    private static let leastAccuracy = 1.0

    /// Where MQTT publishes locations, and the identifier by which Traccar knows the vehicle.
    package let topic: String
    private let headers: [Request.Header]
    /// At most two characters, by which maps label the vehicle.
    private let trackerID: String

    package init(_ settings: Settings.OwnTracks) {
        self.init(user: settings.username?.text, deviceID: settings.deviceID)
    }

    /// - Parameters:
    ///   - user: nil for `beekon`.
    ///   - deviceID: with `user`, how servers know this vehicle.
    package init(user: String?, deviceID: String) {
        // Both become levels of a topic, where a slash or a wildcard would make others of them.
        let user = RequestText.escaped(user ?? "beekon")
        let device = RequestText.escaped(deviceID)
        topic = "owntracks/\(user)/\(device)"
        headers = [
            Request.Header(name: .limitUser, value: user), Request.Header(name: .limitDevice, value: device),
        ]
        trackerID = String(deviceID.suffix(2))
    }

    /// - Parameters:
    ///   - sentAt: when the message is made, which may be long after the fix.
    ///   - isPing: it only says that the vehicle lives, and where it was last.
    package func request(_ location: Location, sentAt: Timestamp, isPing: Bool = false) -> Request {
        let fix = location.fix
        var text = RequestText()
        text.put("{\"_type\":\"location\"")
        put(fix.coordinate, in: &text)
        text.put(",\"tst\":")
        text.put(fix.time.wholeSeconds)
        put(accuracy: fix.accuracy, in: &text)
        if let altitude = fix.altitude?.ifFinite {
            text.put(",\"alt\":")
            text.put(altitude.whole())
        }
        if let speed = fix.speed?.ifFinite {
            text.put(",\"vel\":")
            text.put((speed * 3.6).whole())
        }
        if let bearing = fix.bearing?.ifFinite {
            text.put(",\"cog\":")
            text.put(bearing.whole() % 360)
        }
        if let mileage = location.mileage {
            // Kilometres, with the metres as decimals.
            text.put(",\"odometer\":")
            text.put(Double(mileage) / 1000)
        }
        put(location.ignition, location.motion, in: &text)
        if let battery = location.battery {
            text.put(",\"batt\":")
            text.put(Int64(battery.percent))
            text.put(",\"bs\":")
            text.put(Self.code(of: battery.state))
        }
        text.put(",\"tid\":")
        text.put(string: trackerID)
        text.put(",\"t\":\"")
        text.put(isPing ? Self.trigger(.checkIn) : Self.trigger(location.trigger))
        text.put("\",\"topic\":")
        text.put(string: topic)
        text.put(",\"_id\":\"")
        text.put(location.id)
        text.put("\",\"created_at\":")
        text.put(sentAt.wholeSeconds)
        text.put("}")
        return request(text, topic: topic)
    }

    /// An entry or an exit. `event` and `desc` are always there: the recorder reads them without looking whether they are.
    ///
    /// - Returns: nil for an event without a position, which no server could use. Accuracy 0 says that it is the centre of the
    ///   fence.
    package func request(_ event: GeofenceEvent) -> Request? {
        guard let coordinate = event.coordinate else { return nil }
        var text = RequestText()
        text.put("{\"_type\":\"transition\",\"event\":\"")
        switch event.crossing.kind {
        case .enter: text.put("enter")
        case .exit: text.put("leave")
        }
        text.put("\",\"desc\":")
        text.put(string: event.crossing.geofence)
        text.put(",\"tst\":")
        text.put(event.crossing.time.wholeSeconds)
        text.put(",\"wtst\":")
        text.put(event.fenceAddedAt?.wholeSeconds ?? 0)
        put(coordinate, in: &text)
        put(accuracy: event.accuracy, least: event.accuracy == 0 ? 0 : Self.leastAccuracy, in: &text)
        text.put(",\"tid\":")
        text.put(string: trackerID)
        text.put(",\"t\":\"c\",\"rid\":")
        text.put(string: event.crossing.geofence)
        text.put(",\"_id\":\"")
        text.put(event.id)
        text.put("\"}")
        return request(text, topic: topic + "/event")
    }

    private func request(_ text: RequestText, topic: String) -> Request {
        Request(
            format: .owntracks, contentType: "application/json", headers: headers, topic: topic,
            body: text.bytes)
    }

    /// What Traccar reads besides the booklet. Motion comes with the ignition only: without, messages are as they were.
    private func put(_ ignition: Bool?, _ motion: MotionState, in text: inout RequestText) {
        guard let ignition else { return }
        text.put(ignition ? ",\"ign\":true" : ",\"ign\":false")
        switch motion {
        case .moving: text.put(",\"motion\":true")
        case .stationary: text.put(",\"motion\":false")
        case .unknown: break
        }
    }

    /// `bs` of the booklet.
    private static func code(of state: Battery.State) -> Int64 {
        switch state {
        case .unknown: 0
        case .unplugged: 1
        case .charging: 2
        case .full: 3
        }
    }

    private func put(_ coordinate: Coordinate, in text: inout RequestText) {
        text.put(",\"lat\":")
        text.put(coordinate.latitude)
        text.put(",\"lon\":")
        text.put(coordinate.longitude)
    }

    private func put(accuracy: Double?, least: Double = leastAccuracy, in text: inout RequestText) {
        text.put(",\"acc\":")
        text.put(accuracy?.ifFinite.map { max($0, least).whole(.up) } ?? Self.assumedAccuracy)
    }

    /// What `t` says of a location's trigger:
    ///
    /// | trigger | `t` | in the booklet |
    /// |---|---|---|
    /// | interval, motion | `t` | published because the device moves |
    /// | check_in | `p` | ping |
    /// | geofence | `c` | a circular region was entered or left |
    /// | manual | `u` | asked for by the user |
    ///
    /// Not `v` for motion: some versions of Traccar make an alarm of that.
    private static func trigger(_ trigger: Trigger) -> StaticString {
        switch trigger {
        case .interval, .motion: "t"
        case .checkIn: "p"
        case .geofence: "c"
        case .manual: "u"
        }
    }
}

extension OwnTracksFormat {
    /// What this status most likely means at servers of this format, and what to do; nil where it means what it always does.
    static func advice(_ status: Int) -> String? {
        switch status {
        case 400:
            "The server does not know this vehicle (400): in Traccar, add a device with the identifier "
                + "owntracks/USER/DEVICE, which is username and device_id. PhoneTrack answers 400 when its quota of points is "
                + "used up."
        case 401:
            "The server refuses the credentials (401): correct username and password, or headers. Dawarich takes its API key "
                + "as ?api_key= in url or as a bearer token, and answers the same when the limit of points is reached."
        case 402: "Dawarich asks for a subscription (402): complete it in its account settings."
        case 403:
            "The server forbids it (403). PhoneTrack does when the token in url is wrong or the session is locked: copy the "
                + "url from the session's settings."
        case 404:
            "The server has nothing at this path (404): url must end in /pub for the OwnTracks recorder, in /api/webhook/ID "
                + "for Home Assistant, in /api/v1/owntracks/points for Dawarich, in /api/owntracks for GeoPulse, in "
                + "/apps/phonetrack/log/owntracks/TOKEN/NAME for PhoneTrack."
        case 422: "The server cannot read the message (422): check that url is its address for OwnTracks."
        case 500:
            "The server failed (500): see its log. Dawarich does when it cannot store the location. The row is tried again."
        default: nil
        }
    }

    /// What it most likely means that the server closes the connection without an answer, time and again.
    static let closedAdvice =
        "Traccar does when it cannot read a message: see tracker-server.log, check that the port in url is OwnTracks' (5144), and "
        + "that http or https is right."
}
