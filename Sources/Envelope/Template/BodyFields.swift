/// Fields that the configuration adds to the root of each body (`params`), in an order that does not vary.
package struct BodyFields: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package enum Value: Equatable, Sendable {
        case text(String)
        case integer(Int64)
        /// Finite.
        case number(Double)
        case boolean(Bool)
    }

    /// Why a set of fields cannot be used.
    package struct Invalid: Error, Equatable, Sendable {
        /// A sentence for the operator. It never holds a value, which may be a secret.
        package let reason: String
    }

    package static let countLimit = 64
    /// Unicode scalars.
    package static let nameLimit = 100
    /// Bytes of UTF-8.
    package static let textLimit = 4096

    /// Names in the envelope of `beekon`, in which new fields may come but never one that takes the place of
    /// another.
    private static let beekonNames: Set<String> = [
        "schema_version", "batch_id", "session_id", "sent_at", "device", "extras", "locations",
        "geofence_events", "command_results", "events", "status",
    ]

    /// By code points of the names, ascending.
    package let fields: [(name: String, value: Value)]

    /// No fields.
    package init() {
        fields = []
    }

    /// - Throws: for the first name or value that is out of bounds.
    package init(_ values: [String: Value]) throws(Invalid) {
        guard values.count <= Self.countLimit else {
            throw Invalid(reason: "there are more than \(Self.countLimit) fields")
        }
        fields = values.map { (name: $0.key, value: $0.value) }
            .sorted { $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars) }
        for (name, value) in fields {
            if let complaint = Self.complaint(about: name, value) { throw Invalid(reason: complaint) }
        }
    }

    /// Why there can be no such field; nil when there can. It never holds the value.
    package static func complaint(about name: String, _ value: Value) -> String? {
        if let complaint = complaint(aboutName: name) { return complaint }
        return switch value {
        case .text(let text) where text.utf8.count > textLimit: "must be at most \(textLimit) bytes"
        case .number(let number) where !number.isFinite: "not a number that JSON knows; use a finite one"
        case .text, .number, .integer, .boolean: nil
        }
    }

    /// Why no field of an object can have this name; nil when one can.
    package static func complaint(aboutName name: String) -> String? {
        let isName =
            (1...nameLimit).contains(name.unicodeScalars.count)
            && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        return isName ? nil : "a name must have 1 to \(nameLimit) characters, without control characters"
    }

    package var isEmpty: Bool { fields.isEmpty }

    /// The values that are texts, any of which may be a secret.
    package var texts: [String] {
        fields.compactMap { if case .text(let text) = $0.value { text } else { nil } }
    }

    /// The first field that the format `beekon` cannot take, because it has one of that name; nil when there is none.
    ///
    /// Case does not make a name another one: some backends ignore it.
    package var reservedByBeekon: String? {
        fields.first { Self.beekonNames.contains($0.name.lowercased()) }?.name
    }

    /// The names in UTF-8.
    var names: Set<[UInt8]> { Set(fields.map { Array($0.name.utf8) }) }

    /// The text that `append` writes.
    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `,"name":value` for each.
    package func append(to buffer: inout [UInt8]) {
        for (name, value) in fields {
            buffer.append(UInt8(ascii: ","))
            JSONString.append(name, to: &buffer)
            buffer.append(UInt8(ascii: ":"))
            switch value {
            case .text(let text): JSONString.append(text, to: &buffer)
            case .integer(let integer): buffer.append(contentsOf: String(integer).utf8)
            case .number(let number): Self.append(number, to: &buffer)
            case .boolean(let flag): buffer.append(contentsOf: (flag ? "true" : "false").utf8)
            }
        }
    }

    private static func append(_ number: Double, to buffer: inout [UInt8]) {
        withUnsafeTemporaryAllocation(byteCount: 32, alignment: 1) { room in
            var text = FixedBufferWriter(room)
            text.put(number)
            buffer.append(contentsOf: text.written)
        }
    }

    /// Without the values, which may be secrets.
    package var description: String { "\(fields.map(\.name))" }
    /// The description without values, too.
    package var debugDescription: String { description }
    /// Without children, so that `dump` shows no value either.
    package var customMirror: Mirror { Mirror(self, children: []) }

    package static func == (left: BodyFields, right: BodyFields) -> Bool {
        left.fields.elementsEqual(right.fields) { $0.name == $1.name && $0.value == $1.value }
    }
}
