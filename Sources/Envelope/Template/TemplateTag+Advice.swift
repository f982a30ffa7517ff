extension TemplateTag {
    /// What others call the same: this project, other trackers, and the guide in its other texts.
    private static let otherNames: [String: TemplateTag] = [
        "acc": .accuracy, "action": .geofenceAction, "activity": .activityType, "alt": .altitude,
        "battery": .batteryLevel, "bearing": .heading, "confidence": .activityConfidence, "course": .heading,
        "device": .deviceID, "ellipsoidal_altitude": .altitude, "epoch": .timestampSeconds,
        "geofence": .geofenceIdentifier,
        "geofence_id": .geofenceIdentifier, "id": .uuid, "identifier": .geofenceIdentifier,
        "is_charging": .batteryIsCharging, "is_mock": .mock, "km_h": .speedKmh, "kmh": .speedKmh,
        "knots": .speedKnots, "kph": .speedKmh, "lat": .latitude, "level": .batteryLevel, "lng": .longitude,
        "lon": .longitude, "milliseconds": .timestampMilliseconds, "motion": .isMoving, "mph": .speedMph,
        "seconds": .timestampSeconds, "session": .sessionID, "time": .timestamp, "trigger": .event,
        "tst": .timestampSeconds, "unix": .timestampSeconds,
    ]

    /// Tags of the guide whose values no receiver here reports, with what the guide's own SDK writes when unknown.
    private static let missing: [String: String] = [
        "age": "write 0 in its place", "altitude_accuracy": "write -1 in its place",
        "floor": "leave it out", "heading_accuracy": "write -1 in its place",
        "speed_accuracy": "write -1 in its place", "timestamp_meta": "leave it out",
    ]

    /// What to write instead of a tag that does not exist.
    static func advice(insteadOf name: String, in record: Template.Kind) -> String {
        let known = allCases.filter { $0.isKnown(in: record) }
        let plain = underscored(name.split(separator: ".").last.map(String.init) ?? name)
        if let value = missing[plain] { return "beekond does not know it: \(value)" }
        let other = [underscored(name), plain].lazy.compactMap { TemplateTag(rawValue: $0) ?? otherNames[$0] }
        if let tag = other.first(where: { known.contains($0) }) ?? nearest(to: name, among: known) {
            return "write \(tag.written)"
        }
        return "tags are " + known.map(\.rawValue).joined(separator: " ")
    }

    /// The tag as it stands in a template.
    var written: String { "<%= \(rawValue) %>" }

    /// `isMoving` becomes `is_moving`.
    private static func underscored(_ name: String) -> String {
        name.reduce(into: "") { result, character in
            if character.isUppercase, let last = result.last, last != "_", last != "." { result += "_" }
            result += character.lowercased()
        }
    }

    /// nil when none differs from it by a third of its letters or fewer.
    private static func nearest(to name: String, among tags: [TemplateTag]) -> TemplateTag? {
        let letters = Array(name.lowercased().utf8)
        let distances = tags.map { (tag: $0, distance: edits(letters, Array($0.rawValue.utf8))) }
        guard let best = distances.min(by: { $0.distance < $1.distance }),
            best.distance <= max(1, letters.count / 3)
        else { return nil }
        return best.tag
    }

    /// How many letters must be put in, left out, replaced, or swapped with the next one (optimal string alignment).
    private static func edits(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var before: [Int] = []
        var row = Array(0...right.count)
        for (i, letter) in left.enumerated() {
            var next = [i + 1]
            for (j, other) in right.enumerated() {
                var cost = min(row[j] + (letter == other ? 0 : 1), row[j + 1] + 1, next[j] + 1)
                if i > 0, j > 0, letter == right[j - 1], left[i - 1] == other {
                    cost = min(cost, before[j - 1] + 1)
                }
                next.append(cost)
            }
            (before, row) = (row, next)
        }
        return row[right.count]
    }
}
