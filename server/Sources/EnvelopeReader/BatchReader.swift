internal import Base

/// Reads an upload in the format `beekon` (`etc/envelope.schema.json`), from its bytes to checked rows, in one pass.
///
/// Written by hand: a general decoder takes thirteen times as long, and cannot say which field of which location is wrong.
/// Fields that the schema does not have are passed over, as it demands.
package struct BatchReader {
    var cursor: Cursor
    var times = TimeReader()
    /// Where the cursor is, for whoever reads of a fault.
    var place = Place()

    /// A field of the envelope.
    struct Place {
        var section: StaticString?
        var index: Int?
        var field: StaticString?

        var pointer: String {
            var pointer = section.map { "/\($0)" } ?? ""
            if let index { pointer += "/\(index)" }
            if let field { pointer += "/\(field)" }
            return pointer
        }
    }

    /// Which members of an object have been there, one bit for each name of a list.
    struct Seen {
        private var bits: UInt32 = 0
        /// The member that is likely to come next: beekond sends them in the order of the lists.
        private(set) var next = 0

        /// - Returns: false if it was there before.
        mutating func insert(_ index: Int) -> Bool {
            next = index + 1
            defer { bits |= 1 << UInt32(index) }
            return bits >> UInt32(index) & 1 == 0
        }

        func contains(_ index: Int) -> Bool {
            bits >> UInt32(index) & 1 == 1
        }
    }

    /// Reads a body that has been unpacked.
    package static func read(_ bytes: UnsafeRawBufferPointer, limits: Limits = Limits()) throws(Fault)
        -> Batch
    {
        guard bytes.count <= limits.unpacked else {
            throw Fault(.tooLarge, reason: "is longer than \(limits.unpacked) bytes")
        }
        guard isUTF8(bytes) else { throw Fault(reason: "is not UTF-8") }
        var reader = BatchReader(cursor: Cursor(bytes, limits: limits))
        do {
            return try reader.batch()
        } catch {
            throw Fault(
                error.kind, pointer: reader.place.pointer, index: reader.place.index, reason: error.reason)
        }
    }

    private static func isUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
        // Nearly all of it is ASCII, which is seen eight bytes at a time.
        var index = 0
        while index + 8 <= bytes.count,
            bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
            index += 8
        }
        return String(validating: UnsafeRawBufferPointer(rebasing: bytes[index...]), as: UTF8.self) != nil
    }

    private static let fields: [StaticString] = [
        "schema_version", "batch_id", "session_id", "sent_at", "device", "extras", "locations",
        "geofence_events", "status", "command_results", "events",
    ]
    private static let mandatory = [0, 1, 2, 3, 4, 6, 7]

    private mutating func batch() throws(Cursor.Wrong) -> Batch {
        var (id, session, sentAt): (UUIDv7?, UUIDv7?, Timestamp?)
        var device: DeviceFacts?
        var extras: [UInt8]?
        var (locations, events): ([LocationRow], [EventRow]) = ([], [])
        var remarks = Remarks()
        var seen = Seen()
        var count = 0
        cursor.skipSpace()
        guard cursor.next == UInt8(ascii: "{") else { throw Cursor.Wrong(reason: "is no JSON object") }
        while let name = try cursor.name(after: count) {
            count += 1
            guard let field = try enter(name, Self.fields, &seen) else { continue }
            switch field {
            case 0:
                guard try cursor.number() == 1 else {
                    throw Cursor.Wrong(reason: "is not 1, the only one that is known")
                }
            case 1: id = try version7()
            case 2: session = try uuid()
            case 3: sentAt = try moment()
            case 4: device = try section("device") { (reader) throws(Cursor.Wrong) in try reader.device() }
            case 5: extras = try extrasObject()
            case 6:
                locations = try section("locations") { (reader) throws(Cursor.Wrong) in try reader.locations()
                }
            case 7:
                events = try section("geofence_events") { (reader) throws(Cursor.Wrong) in try reader.events()
                }
            default: try remark(field, &remarks)
            }
            place.field = nil
        }
        try demand(Self.mandatory, of: Self.fields, seen)
        cursor.skipSpace()
        guard cursor.next == nil, let id, let session, let sentAt, let device else {
            throw Cursor.Wrong(reason: "has bytes behind its end, from byte \(cursor.position) on")
        }
        let isEmpty = locations.isEmpty && events.isEmpty && remarks == Remarks()
        guard device.installID != nil || isEmpty else {
            place = Place(section: "device", field: "install_id")
            throw Cursor.Wrong(reason: "is missing")
        }
        return Batch(
            id: id, session: session, sentAt: sentAt, device: device, extras: extras, locations: locations,
            events: events, remarks: remarks)
    }

    private mutating func remark(_ field: Int, _ remarks: inout Remarks) throws(Cursor.Wrong) {
        switch field {
        case 8: remarks.status = try object(depth: 1, longest: cursor.limits.status)
        case 9:
            remarks.results = try section("command_results") { (reader) throws(Cursor.Wrong) in
                try reader.results()
            }
        default:
            remarks.events = try section("events") { (reader) throws(Cursor.Wrong) in
                try reader.vehicleEvents()
            }
        }
    }

    private mutating func section<Value>(
        _ name: StaticString, _ read: (inout BatchReader) throws(Cursor.Wrong) -> Value
    ) throws(Cursor.Wrong) -> Value {
        place = Place(section: name)
        let value = try read(&self)
        place = Place()
        return value
    }

    /// - Returns: which of the fields this is; nil when it is none of them and has been passed over.
    @inline(__always) mutating func enter(
        _ name: Cursor.Text, _ fields: [StaticString], _ seen: inout Seen
    ) throws(Cursor.Wrong) -> Int? {
        guard let index = name.index(in: fields, likely: seen.next) else {
            try cursor.skip(depth: place.section == nil ? 1 : place.index == nil ? 2 : 3)
            return nil
        }
        place.field = fields[index]
        guard seen.insert(index) else { throw Cursor.Wrong(reason: "is there twice") }
        return index
    }

    @inline(__always) mutating func demand(
        _ indices: [Int], of fields: [StaticString], _ seen: Seen
    ) throws(Cursor.Wrong) {
        for index in indices where !seen.contains(index) {
            place.field = fields[index]
            throw Cursor.Wrong(reason: "is missing")
        }
    }

    // MARK: The parts of an envelope

    private static let deviceFields: [StaticString] = ["install_id", "platform", "sdk_version", "model"]

    private mutating func device() throws(Cursor.Wrong) -> DeviceFacts {
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
    private mutating func extrasObject() throws(Cursor.Wrong) -> [UInt8]? {
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

    private mutating func locations() throws(Cursor.Wrong) -> [LocationRow] {
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

    private mutating func events() throws(Cursor.Wrong) -> [EventRow] {
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

    // MARK: Single values, each with its range

    private mutating func uuid() throws(Cursor.Wrong) -> UUIDv7 {
        guard let id = try cursor.text().uuid else { throw Cursor.Wrong(reason: "is no UUID") }
        return id
    }

    /// A UUID whose time part says where it is stored.
    private mutating func version7() throws(Cursor.Wrong) -> UUIDv7 {
        let id = try uuid()
        guard id.withBytes({ $0[6] >> 4 == 7 }) else {
            throw Cursor.Wrong(reason: "is not a UUID of version 7")
        }
        return id
    }

    private mutating func moment() throws(Cursor.Wrong) -> Timestamp {
        guard let time = times.time(try cursor.text()) else {
            throw Cursor.Wrong(reason: "is not a time such as 2026-06-15T12:34:56.789Z")
        }
        return time
    }

    mutating func number(_ range: ClosedRange<Double>) throws(Cursor.Wrong) -> Double {
        let value = try cursor.number()
        guard range.contains(value) else {
            throw Cursor.Wrong(reason: "is not within \(range.lowerBound)…\(range.upperBound)")
        }
        return value
    }

    private mutating func direction() throws(Cursor.Wrong) -> Double {
        let value = try cursor.number()
        guard (0..<360).contains(value) else { throw Cursor.Wrong(reason: "is not at least 0 and below 360") }
        return value
    }

    mutating func word(_ words: [StaticString]) throws(Cursor.Wrong) -> Int {
        guard let index = try cursor.text().index(in: words) else {
            throw Cursor.Wrong(reason: "is none of " + words.map(\.description).joined(separator: ", "))
        }
        return index
    }

    /// A text of 1 to `longest` characters without NUL, which PostgreSQL cannot store.
    private mutating func string(longest: Int) throws(Cursor.Wrong) -> String {
        let text = try cursor.text()
        // No character has fewer than a byte, nor more than six in an escape; a long text is not even made.
        guard text.bytes.count <= longest * 12 else {
            throw Cursor.Wrong(reason: "has more than \(longest) characters")
        }
        let value = text.value
        guard !value.isEmpty else { throw Cursor.Wrong(reason: "is empty") }
        guard value.unicodeScalars.count <= longest else {
            throw Cursor.Wrong(reason: "has more than \(longest) characters")
        }
        guard !value.utf8.contains(0) else { throw Cursor.Wrong(reason: "has a NUL in it") }
        return value
    }

    // MARK: Beside the rows

    /// An object as it stands.
    ///
    /// - Parameters:
    ///   - depth: levels around it.
    ///   - longest: bytes.
    mutating func object(depth: Int, longest: Int) throws(Cursor.Wrong) -> [UInt8] {
        cursor.skipSpace()
        guard cursor.next == UInt8(ascii: "{") else { throw Cursor.Wrong(reason: "is no object") }
        let start = cursor.position
        try cursor.skip(depth: depth)
        return try slice(from: start, longest: longest)
    }

    private func slice(from start: Int, longest: Int) throws(Cursor.Wrong) -> [UInt8] {
        guard cursor.position - start <= longest else {
            throw Cursor.Wrong(kind: .tooLarge, reason: "has more than \(longest) bytes")
        }
        return [UInt8](cursor.bytes[start..<cursor.position])
    }

    private static let resultFields: [StaticString] = ["id", "ok"]

    private mutating func results() throws(Cursor.Wrong) -> [CommandResult] {
        var results: [CommandResult] = []
        var total = 0
        while try isNext(after: total) {
            total += 1
            cursor.skipSpace()
            let start = cursor.position
            var (id, isDone): (String?, Bool?)
            var seen = Seen()
            var count = 0
            while let name = try cursor.name(after: count) {
                count += 1
                guard let field = try enter(name, Self.resultFields, &seen) else { continue }
                if field == 0 { id = try string(longest: 200) } else { isDone = try cursor.bool() }
                place.field = nil
            }
            try demand([0, 1], of: Self.resultFields, seen)
            guard let id, let isDone else { throw Cursor.Wrong(reason: "is incomplete") }
            let object = try slice(from: start, longest: cursor.limits.object)
            if total <= cursor.limits.results {
                results.append(CommandResult(id: id, isDone: isDone, object: object))
            }
            place.index = nil
        }
        return results
    }

    private static let happeningFields: [StaticString] = ["id", "kind", "timestamp"]

    private mutating func vehicleEvents() throws(Cursor.Wrong) -> [VehicleEvent] {
        var events: [VehicleEvent] = []
        while try isNext(after: events.count) {
            cursor.skipSpace()
            let start = cursor.position
            var (id, kind, time): (UUIDv7?, String?, Timestamp?)
            var seen = Seen()
            var count = 0
            while let name = try cursor.name(after: count) {
                count += 1
                guard let field = try enter(name, Self.happeningFields, &seen) else { continue }
                switch field {
                case 0: id = try uuid()
                case 1: kind = try string(longest: 64)
                default: time = try moment()
                }
                place.field = nil
            }
            try demand([0, 1, 2], of: Self.happeningFields, seen)
            guard let id, let kind, let time else { throw Cursor.Wrong(reason: "is incomplete") }
            let object = try slice(from: start, longest: cursor.limits.event)
            events.append(VehicleEvent(id: id, time: time, kind: kind, object: object))
            place.index = nil
        }
        return events
    }

    /// Moves to the next element of an array of objects.
    private mutating func isNext(after count: Int) throws(Cursor.Wrong) -> Bool {
        guard try cursor.hasElement(after: count) else { return false }
        guard count < cursor.limits.rows else {
            throw Cursor.Wrong(kind: .tooLarge, reason: "has more than \(cursor.limits.rows) elements")
        }
        place.index = count
        return true
    }
}
