internal import Base
internal import EnvelopeReader
internal import ServerStore

/// What listeners are told, as server-sent events.
enum LiveText {
    /// A device of which something was heard.
    struct News {
        var device: DeviceState
        /// Whether only its position, and the time of its last contact, have changed.
        var isMoveAlone: Bool
    }

    static func events(_ news: [News], in form: LiveHub.Form) -> [UInt8] {
        switch form {
        case .full: news.flatMap { device($0.device) }
        case .compact:
            news.filter { !$0.isMoveAlone }.flatMap { device($0.device) }
                + moves(news.filter(\.isMoveAlone).map(\.device))
        }
    }

    private static func device(_ device: DeviceState) -> [UInt8] {
        Array("event: device\ndata: ".utf8) + DeviceText.object(device) + [10, 10]
    }

    /// `{"at":…,"moves":[[id,seen,time,latitude,longitude,speed,bearing,codes],…]}`: `at` in Unix milliseconds, the times in
    /// milliseconds after it, metres per second, degrees; null for what is not known.
    private static func moves(_ devices: [DeviceState]) -> [UInt8] {
        guard let at = devices.lazy.compactMap(\.seen).max()?.milliseconds else { return [] }
        let rows = devices.map { device -> String in
            let seen = device.seen.map { String($0.milliseconds - at) } ?? "null"
            guard let latest = device.latest else { return "[\(device.id),\(seen)]" }
            return "[\(device.id),\(seen),\(latest.time.milliseconds - at),\(number(latest.latitude, 1e6)),"
                + "\(number(latest.longitude, 1e6)),\(number(latest.speed, 10)),\(number(latest.bearing, 1)),"
                + "\(latest.codes.rawValue)]"
        }
        return Array(
            ("event: moves\ndata: {\"at\":\(at),\"moves\":[" + rows.joined(separator: ",") + "]}\n\n").utf8)
    }

    /// With no more digits than a map shows.
    private static func number(_ value: Double?, _ steps: Double) -> String {
        value.map { LocationText.number(($0 * steps).rounded() / steps) } ?? "null"
    }
}
