internal import Base
package import DaemonConfiguration
package import Tracking

/// The format `osmand`: one location a request, in the parameters of the url, as the app OsmAnd and Traccar's own clients
/// send it, for Traccar, PhoneTrack and Home Assistant. What is unknown is left out.
///
/// Geofence events are not carried: a server would take one for a position of the vehicle, without speed, and older than
/// the last. A location that a crossing has admitted says so in `event`.
package struct OsmAndFormat: Equatable, Sendable {
    /// Bytes of the parameters, extras included. Traccar reads 4,096 of method, path and parameters (Netty's
    /// `maxInitialLineLength`), and drops the connection over more.
    static let queryLimit = 3072
    /// One knot is a nautical mile (1,852 m) an hour.
    private static let knotsPerMeterPerSecond = 3600.0 / 1852.0
    /// Decimals of a speed in knots are cut after the sixth: half a micrometre a second, against ten bytes.
    private static let knotScale = 1e6
    /// Seconds since 1970: from 2038-01-19 on, Traccar takes a timestamp for milliseconds, so that is what it is given. The
    /// other servers understand both.
    private static let firstMillisecondTime: Int64 = 2_147_483_647

    private let settings: Settings.OsmAnd

    package init(_ settings: Settings.OsmAnd) {
        self.settings = settings
    }

    /// - Parameter extras: a JSON object, as it was stored; nil when there are none, or they are not to be sent.
    package func request(_ location: Location, extras: String?) -> Request {
        var text = RequestText()
        text.put("id=")
        text.put(escaped: settings.deviceID.utf8)
        text.put("&timestamp=")
        let seconds = location.fix.time.wholeSeconds
        text.put(seconds < Self.firstMillisecondTime ? seconds : location.fix.time.milliseconds)
        text.put(parameter: "&lat=", location.fix.coordinate.latitude)
        text.put(parameter: "&lon=", location.fix.coordinate.longitude)
        text.put(parameter: "&speed=", speed(location.fix.speed))
        text.put(parameter: "&bearing=", location.fix.bearing)
        text.put(parameter: "&altitude=", location.fix.altitude)
        text.put(parameter: "&accuracy=", location.fix.accuracy)
        text.put(Self.motion(location.motion))
        text.put("&valid=true")
        if let mileage = location.mileage {
            text.put("&odometer=")
            text.put(mileage)
        }
        if let ignition = location.ignition {
            text.put(ignition ? "&ignition=true" : "&ignition=false")
        }
        if let battery = location.battery {
            text.put("&batt=")
            text.put(Int64(battery.percent))
            if let isCharging = battery.isCharging {
                text.put(isCharging ? "&charge=true" : "&charge=false")
            }
        }
        text.put(Self.event(location.trigger))
        if let extras { OsmAndExtras.append(extras, to: &text, limit: Self.queryLimit) }
        return Request(format: .osmand, query: String(decoding: text.bytes, as: UTF8.self), body: [])
    }

    private func speed(_ metersPerSecond: Double?) -> Double? {
        switch settings.speedUnit {
        case .knots:
            metersPerSecond.map {
                ($0 * Self.knotsPerMeterPerSecond * Self.knotScale).rounded() / Self.knotScale
            }
        case .mps: metersPerSecond
        }
    }

    private static func motion(_ motion: MotionState) -> StaticString {
        switch motion {
        case .moving: "&motion=true"
        case .stationary: "&motion=false"
        // Traccar then judges by the speed.
        case .unknown: ""
        }
    }

    /// The words of Traccar's own client, for triggers that have one.
    private static func event(_ trigger: Trigger) -> StaticString {
        switch trigger {
        case .motion: "&event=motionchange"
        case .checkIn: "&event=heartbeat"
        case .geofence: "&event=geofence"
        case .interval, .manual: ""
        }
    }
}

extension OsmAndFormat {
    /// What this status most likely means at servers of this format, and what to do; nil where it means what it always does.
    static func advice(_ status: Int) -> String? {
        switch status {
        case 400:
            "The server does not know this vehicle (400): in Traccar, add a device whose identifier is device_id. PhoneTrack "
                + "answers 400 when its quota of points is used up or the device's name is reserved."
        case 403:
            "The server forbids it (403). PhoneTrack does when the token in url is wrong or the session is locked: copy the "
                + "url from the session's settings."
        case 404:
            "The server has nothing at this path (404): url is http://SERVER:5055 for Traccar, ends in /api/webhook/ID for "
                + "Home Assistant, in /apps/phonetrack/log/traccar/TOKEN/NAME for PhoneTrack."
        case 405:
            "The server takes no POST here (405): PhoneTrack does under /log/traccar/TOKEN/NAME, not under /log/osmand."
        case 414, 431:
            "The server finds the url too long (\(status)): send fewer extras."
        case 422:
            "Home Assistant cannot read the parameters (422): check that the webhook in url is that of Traccar, and that url "
                + "has no parameters of its own."
        default: nil
        }
    }

    /// What it most likely means that the server closes the connection without an answer, time and again.
    static let closedAdvice =
        "Traccar does when it cannot read a request: see tracker-server.log, check that the port in url is OsmAnd's (5055), and "
        + "that http or https is right."
}
