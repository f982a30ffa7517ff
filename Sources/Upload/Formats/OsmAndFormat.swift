internal import Base
internal import DaemonConfiguration
package import Tracking

/// The format `osmand`: one location a request, in the parameters of the url, as the app OsmAnd and Traccar's own clients
/// send it, for Traccar, PhoneTrack and Home Assistant. What is unknown is left out.
///
/// Geofence events are not carried: a server would take one for a position of the vehicle, without speed, and older than
/// the last. A location that a crossing has admitted says so in `event`.
package struct OsmAndFormat: Equatable, Sendable {
    /// What `speed` is in: nothing in the request says so.
    package enum SpeedUnit: String, CaseIterable, Sendable {
        /// Traccar, and PhoneTrack's address for Traccar's clients.
        case knots
        /// Metres per second: PhoneTrack's other addresses.
        case mps
    }

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

    /// How the server knows this vehicle.
    package var deviceID: String
    package var speedUnit: SpeedUnit

    package init(deviceID: String, speedUnit: SpeedUnit = .knots) {
        self.deviceID = deviceID
        self.speedUnit = speedUnit
    }

    /// - Parameter extras: a JSON object, as it was stored; nil when there are none, or they are not to be sent.
    package func request(_ location: Location, extras: String?) -> Request {
        var text = RequestText()
        text.put("id=")
        text.put(escaped: deviceID.utf8)
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
        switch speedUnit {
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
