internal import Base
internal import Tracking

extension Template {
    /// What is the same in all records of a batch; each part as it stands in JSON.
    struct Surroundings {
        var session: UUIDv7
        /// Escaped, without quotation marks.
        var deviceID: [UInt8]
        /// Escaped, without quotation marks.
        var installID: [UInt8]
        /// Fields for the end of the outermost object, each after a comma.
        var end: [UInt8] = []
        /// What goes where extras belong.
        var extras: [UInt8] = []
    }

    /// Records one after the other, in as much room as the longest needs.
    struct Renderer {
        private let template: Template
        private let surroundings: Surroundings
        /// Bytes for a record, but for its geofence's id.
        private let room: Int
        /// How often that id is in it.
        private let identifiers: Int

        init(_ template: Template, in surroundings: Surroundings) {
            self.template = template
            self.surroundings = surroundings
            room = template.pieces.reduce(0) { $0 + Self.room(for: $1, in: surroundings) }
            identifiers = template.pieces.count { $0 == .tag(.geofenceIdentifier) }
        }

        /// Appends the record as JSON.
        func append(_ record: TemplateRecord, to buffer: inout [UInt8]) {
            let identifier = record.crossing.map { JSONString.escaped($0.geofence) } ?? []
            let size = room + identifiers * identifier.count
            withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { room in
                var text = FixedBufferWriter(room)
                template.literals.withUnsafeBytes { literals in
                    for piece in template.pieces {
                        switch piece {
                        case .literal(let range): text.put(UnsafeRawBufferPointer(rebasing: literals[range]))
                        case .tag(let tag): put(tag, of: record, identifier, into: &text)
                        case .extras: text.put(bytes: surroundings.extras)
                        case .end: text.put(bytes: surroundings.end)
                        }
                    }
                }
                buffer.append(contentsOf: text.written)
            }
        }

        /// No finite Double takes more bytes, and neither does any word that a tag stands for.
        private static let shortRoom = 32

        private static func room(for piece: Piece, in surroundings: Surroundings) -> Int {
            switch piece {
            case .literal(let range): range.count
            case .extras: surroundings.extras.count
            case .end: surroundings.end.count
            case .tag(.uuid), .tag(.sessionID): UUIDv7.textSize
            case .tag(.deviceID): surroundings.deviceID.count
            case .tag(.installID): surroundings.installID.count
            case .tag(.geofenceIdentifier): 0
            case .tag: shortRoom
            }
        }

        /// Unknown values are those that the guide's SDK writes: −1 for what cannot be negative, except that an altitude
        /// and an odometer are 0, and a certainty that nobody has measured is 100. An event without a position, which the SDK
        /// does not have, is nowhere.
        private func put(
            _ tag: TemplateTag, of record: TemplateRecord, _ identifier: [UInt8],
            into text: inout FixedBufferWriter
        ) {
            let fix = record.location?.fix
            switch tag {
            case .latitude: text.put(orNull: record.coordinate?.latitude)
            case .longitude: text.put(orNull: record.coordinate?.longitude)
            case .speed: text.put(fix?.speed, unknown: -1)
            case .heading: text.put(fix?.bearing, unknown: -1)
            case .accuracy: text.put(record.accuracy, unknown: -1)
            case .altitude: text.put(fix?.altitude, unknown: 0)
            case .timestamp: text.put(record.time)
            case .uuid: text.put(record.id)
            case .event: text.put(word: record.event.rawValue)
            case .isMoving: text.put(record.location?.motion == .moving)
            case .mock: text.put(fix?.isMock ?? false)
            case .odometer: text.put(record.odometer, unknown: 0)
            case .activityType: text.put(Self.name(of: record.location?.activity))
            case .activityConfidence: text.put("100")
            case .batteryLevel: text.put(record.battery.level, unknown: -1)
            case .batteryIsCharging: text.put(record.battery.isCharging ?? false)
            case .geofenceIdentifier: text.put(bytes: identifier)
            case .geofenceAction: text.put(word: (record.crossing?.kind.rawValue ?? "").uppercased())
            case .deviceID: text.put(bytes: surroundings.deviceID)
            case .installID: text.put(bytes: surroundings.installID)
            case .sessionID: text.put(surroundings.session)
            case .ignition: record.ignition.map { text.put($0) } ?? text.put("null")
            }
        }

        /// `on_foot` and not `walking`: every version of the guide has it.
        private static func name(of activity: Activity?) -> StaticString {
            switch activity {
            case .stationary: "still"
            case .walking: "on_foot"
            case .running: "running"
            case .cycling: "on_bicycle"
            case .automotive: "in_vehicle"
            case .unknown, nil: "unknown"
            }
        }
    }
}

extension FixedBufferWriter {
    fileprivate mutating func put(_ flag: Bool) {
        put(flag ? "true" : "false")
    }

    /// JSON has no infinity: a damaged row may.
    fileprivate mutating func put(_ value: Double?, unknown: Double) {
        put(value.flatMap { $0.isFinite ? $0 : nil } ?? unknown)
    }

    fileprivate mutating func put(orNull value: Double?) {
        guard let value else { return put("null") }
        put(value)
    }

    fileprivate mutating func put(bytes: [UInt8]) {
        bytes.withUnsafeBytes { put($0) }
    }
}

extension JSONString {
    /// A text as it stands between quotation marks.
    static func escaped(_ text: String) -> [UInt8] {
        var string: [UInt8] = []
        append(text, to: &string)
        return Array(string.dropFirst().dropLast())
    }
}
