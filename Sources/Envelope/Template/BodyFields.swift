/// Fields that the configuration adds to the root of each body (`params`), in an order that does not vary.
package struct BodyFields: Equatable, Sendable {
    package enum Value: Equatable, Sendable {
        case text(String)
        case integer(Int64)
        /// Finite.
        case number(Double)
        case boolean(Bool)
    }

    /// Why a set of fields cannot be used.
    package struct Invalid: Error, Equatable, Sendable {
        /// As a sentence for the operator. It never holds a value: that may be a secret.
        package let reason: String
    }

    package static let countLimit = 64
    /// Unicode scalars.
    package static let nameLimit = 100
    /// Bytes of UTF-8.
    package static let textLimit = 4096

    /// Of the envelope of `beekon`, in which new fields may come but never one that takes the place of another.
    private static let beekonNames: Set<String> = [
        "schema_version", "batch_id", "session_id", "sent_at", "device", "extras", "locations",
        "geofence_events", "command_results", "events", "status",
    ]

    /// By code points of the names, ascending.
    let fields: [(name: String, value: Value)]

    /// - Throws: for the first name or value that is out of bounds.
    package init(_ values: [String: Value] = [:]) throws(Invalid) {
        guard values.count <= Self.countLimit else {
            throw Invalid(reason: "there are more than \(Self.countLimit) fields")
        }
        fields = values.map { (name: $0.key, value: $0.value) }
            .sorted { $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars) }
        for (name, value) in fields {
            guard Self.isName(name) else {
                throw Invalid(
                    reason: "a name has 1 to \(Self.nameLimit) characters, without control characters")
            }
            switch value {
            case .text(let text) where text.utf8.count > Self.textLimit:
                throw Invalid(reason: "\(name) has more than \(Self.textLimit) bytes")
            case .number(let number) where !number.isFinite:
                throw Invalid(reason: "\(name) is no number that JSON can hold")
            case .text, .number, .integer, .boolean: break
            }
        }
    }

    package var isEmpty: Bool { fields.isEmpty }

    /// Whether an object may have this name.
    static func isName(_ name: String) -> Bool {
        (1...nameLimit).contains(name.unicodeScalars.count)
            && name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// Whether the format `beekon` can take them.
    ///
    /// Case does not make a name another one: some backends ignore it.
    ///
    /// - Returns: why not; nil when it can.
    package var complaintOfBeekon: String? {
        fields.first { Self.beekonNames.contains($0.name.lowercased()) }
            .map { "\($0.name) is a field of the format beekon itself: choose another name" }
    }

    /// The names in UTF-8.
    var names: Set<[UInt8]> { Set(fields.map { Array($0.name.utf8) }) }

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

    package static func == (left: BodyFields, right: BodyFields) -> Bool {
        left.fields.elementsEqual(right.fields) { $0.name == $1.name && $0.value == $1.value }
    }
}
