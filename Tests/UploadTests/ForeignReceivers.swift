import Base
import Foundation

@testable import Upload

/// A location as a foreign server understands it, in our units.
struct Understood: Equatable {
    var device: String
    var time: Timestamp
    var latitude: Double
    var longitude: Double
    /// Metres per second.
    var speed: Double?
}

/// How foreign servers read requests, after their sources. nil where they refuse, or drop the connection.
enum ForeignReceiver: String, CaseIterable {
    /// `OsmAndProtocolDecoder.decodeQuery`.
    case traccar
    /// `LogController::logTraccar`, which takes knots.
    case phoneTrackTraccar
    /// `LogController::logGpsloggerPost`, which takes metres per second.
    case phoneTrackLogger
    /// The webhook of the integration `traccar`, in which the unit of the speed is nobody's concern.
    case homeAssistant
    /// `OwnTracksProtocolDecoder`.
    case traccarOwnTracks
    /// `OwnTracks::Params`.
    case dawarichOwnTracks
    /// `OwnTracksContext.async_valid_accuracy` and `_parse_topic`.
    case homeAssistantOwnTracks
    /// `handle_message` of the recorder.
    case recorder
    /// `Overland::Params`.
    case dawarichOverland
    /// `LogController::logOverland`.
    case phoneTrackOverland

    func read(_ request: Request) -> [Understood]? {
        switch self {
        case .traccar: query(request).flatMap(traccar).map { [$0] }
        case .phoneTrackTraccar: query(request).flatMap { phoneTrack($0, knots: true) }.map { [$0] }
        case .phoneTrackLogger: query(request).flatMap { phoneTrack($0, knots: false) }.map { [$0] }
        case .homeAssistant: query(request).flatMap(homeAssistant).map { [$0] }
        case .traccarOwnTracks, .dawarichOwnTracks, .homeAssistantOwnTracks, .recorder:
            object(request).flatMap { ownTracks($0, headers: request.headers) }.map { [$0] }
        case .dawarichOverland, .phoneTrackOverland:
            (object(request)?["locations"] as? [[String: Any]]).flatMap { features in
                let read = features.compactMap(overland)
                return read.count == features.count ? read : nil
            }
        }
    }

    // MARK: Parameters

    /// Netty's QueryStringDecoder and PHP agree: a plus sign is a space, `;` separates like `&`.
    private func query(_ request: Request) -> [String: String]? {
        var values: [String: String] = [:]
        for pair in request.query.split(whereSeparator: { $0 == "&" || $0 == ";" }) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.replacingOccurrences(of: "+", with: " ").removingPercentEncoding
            }
            guard parts.count == 2, let name = parts[0], let value = parts[1], values[name] == nil else {
                return nil
            }
            values[name] = value
        }
        return values
    }

    private func traccar(_ values: [String: String]) -> Understood? {
        guard let device = values["id"], values["deviceid"] == nil, values["location"] == nil,
            values["valid"] == "true", let stamp = values["timestamp"].flatMap({ Int64($0) }),
            let latitude = values["lat"].flatMap({ Double($0) }),
            let longitude = values["lon"].flatMap({ Double($0) }),
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else { return nil }
        for name in ["speed", "bearing", "altitude", "accuracy", "hdop", "batt"] {
            if let value = values[name], Double(value) == nil { return nil }
        }
        let milliseconds = stamp < Int64(Int32.max) ? stamp * 1000 : stamp
        return Understood(
            device: device, time: Timestamp(milliseconds: milliseconds), latitude: latitude,
            longitude: longitude,
            speed: values["speed"].flatMap { Double($0) }.map { $0 / 1.94384 })
    }

    private func phoneTrack(_ values: [String: String], knots: Bool) -> Understood? {
        guard let stamp = values["timestamp"].flatMap({ Int64($0) }),
            let latitude = values["lat"].flatMap({ Double($0) }),
            let longitude = values["lon"].flatMap({ Double($0) })
        else { return nil }
        let seconds = stamp > 10_000_000_000 ? stamp / 1000 : stamp
        return Understood(
            device: values["id"] ?? "", time: Timestamp(milliseconds: seconds * 1000), latitude: latitude,
            longitude: longitude,
            speed: values["speed"].flatMap { Double($0) }.map { knots ? $0 / 1.943844 : $0 })
    }

    private func homeAssistant(_ values: [String: String]) -> Understood? {
        guard let id = values["id"], let stamp = values["timestamp"].flatMap({ Int64($0) }),
            let latitude = values["lat"].flatMap({ Double($0) }),
            let longitude = values["lon"].flatMap({ Double($0) })
        else { return nil }
        return Understood(
            device: id.replacingOccurrences(of: "-", with: ""), time: Timestamp(milliseconds: stamp * 1000),
            latitude: latitude, longitude: longitude)
    }

    // MARK: Bodies

    private func object(_ request: Request) -> [String: Any]? {
        guard request.encoding == nil, request.contentType == "application/json" else { return nil }
        return (try? JSONSerialization.jsonObject(with: Data(request.body))) as? [String: Any]
    }

    private func ownTracks(_ message: [String: Any], headers: [Request.Header]) -> Understood? {
        let isLocation = message["_type"] as? String == "location"
        // The recorder reads both without looking.
        if message["_type"] as? String == "transition" {
            guard self != .traccarOwnTracks, message["event"] is String, message["desc"] is String else {
                return nil
            }
        }
        guard let latitude = message["lat"] as? Double, let longitude = message["lon"] as? Double,
            let seconds = whole(message["tst"]), whole(message["acc"]).map({ $0 != 0 }) == true
        else { return nil }
        for name in ["alt", "vel", "cog"] where message[name] != nil {
            guard whole(message[name]) != nil else { return nil }
        }
        let user = headers.first { $0.name == .limitUser }?.value
        let device = headers.first { $0.name == .limitDevice }?.value
        let topic = message["topic"] as? String ?? "owntracks/\(user ?? "")/\(device ?? "")"
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        guard levels.count == 3, let last = levels.last, !isLocation || message["topic"] != nil else {
            return nil
        }
        let speed = whole(message["vel"]).map { speed in
            self == .traccarOwnTracks ? Double(speed) * 0.539957 / 1.94384 : Double(speed) * 1000 / 3600
        }
        return Understood(
            device: self == .traccarOwnTracks ? topic : String(last),
            time: Timestamp(milliseconds: seconds * 1000),
            latitude: latitude, longitude: longitude, speed: speed)
    }

    /// What Java's `getInt` reads without loss.
    private func whole(_ value: Any?) -> Int64? {
        guard let number = value as? NSNumber, number.doubleValue.rounded() == number.doubleValue else {
            return nil
        }
        return number.int64Value
    }

    private func overland(_ feature: [String: Any]) -> Understood? {
        guard feature["type"] as? String == "Feature", let geometry = feature["geometry"] as? [String: Any],
            geometry["type"] as? String == "Point", let place = geometry["coordinates"] as? [Double],
            place.count == 2,
            let properties = feature["properties"] as? [String: Any],
            let stamp = properties["timestamp"] as? String, let time = Timestamp(iso8601: stamp),
            let speed = properties["speed"] as? Double, properties["motion"] is [String]
        else { return nil }
        return Understood(
            device: properties["device_id"] as? String ?? "", time: time, latitude: place[1],
            longitude: place[0],
            speed: speed < 0 ? nil : speed)
    }
}
