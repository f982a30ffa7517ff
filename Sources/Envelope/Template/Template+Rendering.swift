internal import Base
internal import Tracking

extension Template {
    /// What is the same in all records of a batch; each part as it stands in JSON.
    struct Surroundings {
        var session: UUIDv7
        /// Escaped, without quotation marks; of a line as it is.
        var deviceID: [UInt8]
        /// Escaped, without quotation marks; of a line as it is.
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
        /// How often that id is in it: of JSON, and of a line.
        private let identifiers: (json: Int, line: Int)

        init(_ template: Template, in surroundings: Surroundings) {
            self.template = template
            self.surroundings = surroundings
            room = template.pieces.reduce(0) { $0 + Self.room(for: $1, in: surroundings) }
            identifiers = (
                template.pieces.count { $0 == .tag(.geofenceIdentifier) },
                template.pieces.count {
                    if case .escaped(.geofenceIdentifier, _) = $0 { true } else { false }
                }
            )
        }

        /// Appends the record as JSON, or as a line.
        func append(_ record: TemplateRecord, to buffer: inout [UInt8]) {
            let fence = record.crossing?.geofence ?? ""
            let identifier = identifiers.json > 0 ? JSONString.escaped(fence) : []
            let size = room + identifiers.json * identifier.count + identifiers.line * 2 * fence.utf8.count
            withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { room in
                var text = FixedBufferWriter(room)
                template.literals.withUnsafeBytes { put(record, identifier, literals: $0, into: &text) }
                buffer.append(contentsOf: text.written)
            }
        }

        /// What is left out takes a comma with it: the one before it, or, where it was the first, the one behind it.
        private func put(
            _ record: TemplateRecord, _ identifier: [UInt8], literals: UnsafeRawBufferPointer,
            into text: inout FixedBufferWriter
        ) {
            var skipsComma = false
            func put(_ bytes: UnsafeRawBufferPointer) {
                guard let first = bytes.first else { return }
                let rest = bytes.dropFirst(skipsComma && first == UInt8(ascii: ",") ? 1 : 0)
                skipsComma = false
                text.put(UnsafeRawBufferPointer(rebasing: rest))
            }
            var index = 0
            while index < template.pieces.count {
                let piece = template.pieces[index]
                index += 1
                switch piece {
                case .literal(let range): put(UnsafeRawBufferPointer(rebasing: literals[range]))
                case .optional(let tag, let count):
                    guard record.isUnknown(tag) else { continue }
                    index += count
                    skipsComma = !text.dropComma()
                case .tag(let tag): self.put(tag, of: record, identifier, into: &text)
                case .integer(let tag): text.put(whole: record.number(tag) ?? 0)
                case .time(let tag, let scale):
                    let unit = tag == .timestampSeconds ? record.time.wholeSeconds : record.time.milliseconds
                    text.put(word: Self.scaled(unit, by: scale).description)
                case .escaped(let tag, let place):
                    text.put(bytes: LineText.escaped(words(tag, of: record), in: place))
                case .extras: surroundings.extras.withUnsafeBytes { put($0) }
                case .end: surroundings.end.withUnsafeBytes { put($0) }
                }
            }
        }

        /// What the text of a tag in a line is before it is escaped.
        private func words(_ tag: TemplateTag, of record: TemplateRecord) -> [UInt8] {
            if tag == .deviceID { return surroundings.deviceID }
            if tag == .installID { return surroundings.installID }
            return Array((record.crossing?.geofence ?? "").utf8)
        }

        /// Kept within the times that InfluxDB has: from 1677 to 2262.
        private static func scaled(_ time: Int64, by scale: Int64) -> Int64 {
            let limit = Int64.max - 1
            let (product, hasOverflowed) = time.multipliedReportingOverflow(by: scale)
            return hasOverflowed ? (time < 0 ? -limit : limit) : min(max(product, -limit), limit)
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
            case .escaped(.deviceID, _): 2 * surroundings.deviceID.count
            case .escaped(.installID, _): 2 * surroundings.installID.count
            case .tag(.geofenceIdentifier), .escaped, .optional: 0
            case .tag, .integer, .time: shortRoom
            }
        }

        /// Unknown values are those that the guide's SDK writes: −1 for what cannot be negative, except that an altitude
        /// and an odometer are 0, and a certainty that nobody has measured is 100. What the SDK does not have is `null`: motion
        /// that is unknown, and the place of an event without a position.
        private func put(
            _ tag: TemplateTag, of record: TemplateRecord, _ identifier: [UInt8],
            into text: inout FixedBufferWriter
        ) {
            let fix = record.location?.fix
            switch tag {
            case .latitude: text.put(orNull: record.coordinate?.latitude)
            case .longitude: text.put(orNull: record.coordinate?.longitude)
            case .speed: text.put(fix?.speed, unknown: -1)
            case .speedKmh, .speedKnots, .speedMph: text.put(orNull: record.number(tag))
            case .heading: text.put(fix?.bearing, unknown: -1)
            case .accuracy: text.put(record.accuracy, unknown: -1)
            case .altitude: text.put(fix?.altitude, unknown: 0)
            case .timestamp: text.put(record.time)
            case .timestampSeconds: text.put(word: record.time.wholeSeconds.description)
            case .timestampMilliseconds: text.put(word: record.time.milliseconds.description)
            case .uuid: text.put(record.id)
            case .event: text.put(word: record.event.rawValue)
            case .isMoving: record.isMoving.map { text.put($0) } ?? text.put("null")
            case .mock: text.put(fix?.isMock ?? false)
            case .odometer: text.put(record.odometer, unknown: 0)
            case .activityType: text.put(Self.name(of: record.location?.activity))
            case .activityConfidence: text.put("100")
            case .batteryLevel: text.put(record.battery.level, unknown: -1)
            case .batteryIsCharging: text.put(record.battery.isCharging ?? false)
            case .geofenceIdentifier: text.put(bytes: identifier)
            case .geofenceAction: text.put(word: (record.crossing?.kind.rawValue ?? "").uppercased())
            case .geofenceReason: text.put(word: record.reason?.rawValue ?? "")
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

    /// The nearest whole number, within the 64 bits of InfluxDB; the value must be finite.
    fileprivate mutating func put(whole value: Double) {
        // 2⁶³ itself does not fit, and the largest Double below is 1,024 less.
        let bounded = Swift.min(Swift.max(value.rounded(), -9.2e18), 9.2e18)
        put(word: Int64(bounded).description)
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
