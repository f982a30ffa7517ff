internal import Base

// The parts of an envelope.
extension BatchReader {
    private static let deviceFields: [StaticString] = ["install_id", "platform", "sdk_version", "model"]

    mutating func device() throws(Cursor.Wrong) -> DeviceFacts {
        var installID: UUIDv7?
        var (platform, version, model): (String?, String?, String?)
        var seen = Seen()
        var count = 0
        while let name = try cursor.name(after: count) {
            count += 1
            guard let field = try enter(name, Self.deviceFields, &seen) else { continue }
            switch field {
            case 0: installID = try uuid()
            case 1: platform = try string(longest: 64)
            case 2: version = try string(longest: 64)
            default: model = try string(longest: 256)
            }
            place.field = nil
        }
        try demand([1, 2], of: Self.deviceFields, seen)
        guard let platform, let version else { throw Cursor.Wrong(reason: "is incomplete") }
        return DeviceFacts(installID: installID, platform: platform, version: version, model: model)
    }

    /// An object of strings, kept as it stands.
    mutating func extrasObject() throws(Cursor.Wrong) -> [UInt8]? {
        let start = cursor.position
        var count = 0
        while let name = try cursor.name(after: count) {
            count += 1
            guard count <= cursor.limits.extrasCount else {
                throw Cursor.Wrong(
                    kind: .tooLarge, reason: "has more than \(cursor.limits.extrasCount) members")
            }
            try bound(name, to: cursor.limits.extrasName, "a name")
            try bound(try cursor.text(), to: cursor.limits.extrasValue, "a value")
        }
        guard cursor.position - start <= cursor.limits.extras else {
            throw Cursor.Wrong(kind: .tooLarge, reason: "has more than \(cursor.limits.extras) bytes")
        }
        return count == 0 ? nil : [UInt8](cursor.bytes[start..<cursor.position])
    }

    /// - Parameter longest: bytes of what the text says, however it is written.
    private func bound(_ text: Cursor.Text, to longest: Int, _ what: String) throws(Cursor.Wrong) {
        guard text.bytes.count > longest else { return }
        // No byte has more than six in an escape; a long text is not even made.
        guard text.isEscaped, text.bytes.count <= longest * 6, text.value.utf8.count <= longest else {
            throw Cursor.Wrong(kind: .tooLarge, reason: "has \(what) of more than \(longest) bytes")
        }
    }

    private static let locationFields: [StaticString] = [
        "id", "timestamp", "trigger", "motion", "is_mock", "latitude", "longitude", "accuracy", "speed",
        "bearing",
        "altitude", "activity", "quality",
    ]

    mutating func locations() throws(Cursor.Wrong) -> [LocationRow] {
        var rows: [LocationRow] = []
        // A location is seldom shorter: one block of memory instead of many that grow.
        rows.reserveCapacity(min(cursor.limits.rows, (cursor.bytes.count - cursor.position) / 200))
        while try cursor.hasElement(after: rows.count) {
            guard rows.count < cursor.limits.rows else {
                throw Cursor.Wrong(kind: .tooLarge, reason: "has more than \(cursor.limits.rows) elements")
            }
            place.index = rows.count
            rows.append(try location())
            place.index = nil
        }
        return rows
    }

    private mutating func location() throws(Cursor.Wrong) -> LocationRow {
        var (id, time, latitude, longitude): (UUIDv7?, Timestamp?, Double?, Double?)
        var (accuracy, speed, bearing, altitude): (Double?, Double?, Double?, Double?)
        var codes = Codes()
        var seen = Seen()
        var count = 0
        while let name = try cursor.name(after: count) {
            count += 1
            guard let field = try enter(name, Self.locationFields, &seen) else { continue }
            switch field {
            case 0: id = try uuid()
            case 1: time = try moment()
            case 2: codes.set(trigger: try word(Codes.triggers))
            case 3: codes.set(motion: try word(Codes.motions))
            case 4: codes.set(isMock: try cursor.bool())
            case 5: latitude = try number(-90...90)
            case 6: longitude = try number(-180...180)
            case 7: accuracy = try number(0...Double.greatestFiniteMagnitude)
            case 8: speed = try number(0...Double.greatestFiniteMagnitude)
            case 9: bearing = try direction()
            case 10: altitude = try cursor.number()
            case 11: codes.set(activity: try word(Codes.activities))
            default: codes.set(quality: try word(Codes.qualities))
            }
            place.field = nil
        }
        try demand([0, 1, 2, 3, 4, 5, 6], of: Self.locationFields, seen)
        guard let id, let time, let latitude, let longitude else {
            throw Cursor.Wrong(reason: "is incomplete")
        }
        return LocationRow(
            id: id, time: time, latitude: latitude, longitude: longitude, accuracy: accuracy, speed: speed,
            bearing: bearing, altitude: altitude, codes: codes)
    }

    private static let eventFields: [StaticString] = ["id", "geofence_id", "type", "timestamp"]
    private static let kinds: [StaticString] = ["enter", "exit"]

    mutating func events() throws(Cursor.Wrong) -> [EventRow] {
        var rows: [EventRow] = []
        while try cursor.hasElement(after: rows.count) {
            guard rows.count < cursor.limits.rows else {
                throw Cursor.Wrong(kind: .tooLarge, reason: "has more than \(cursor.limits.rows) elements")
            }
            place.index = rows.count
            rows.append(try event())
            place.index = nil
        }
        return rows
    }

    private mutating func event() throws(Cursor.Wrong) -> EventRow {
        var (id, time, kind, geofence): (UUIDv7?, Timestamp?, EventRow.Kind?, String?)
        var seen = Seen()
        var count = 0
        while let name = try cursor.name(after: count) {
            count += 1
            guard let field = try enter(name, Self.eventFields, &seen) else { continue }
            switch field {
            case 0: id = try uuid()
            case 1: geofence = try string(longest: 100)
            case 2: kind = try word(Self.kinds) == 0 ? .enter : .exit
            default: time = try moment()
            }
            place.field = nil
        }
        try demand([0, 1, 2, 3], of: Self.eventFields, seen)
        guard let id, let time, let kind, let geofence else { throw Cursor.Wrong(reason: "is incomplete") }
        return EventRow(id: id, time: time, kind: kind, geofence: geofence)
    }
}
