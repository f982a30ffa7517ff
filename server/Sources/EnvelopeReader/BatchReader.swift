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
}
