/// A command as somebody orders it for a vehicle.
package struct CommandOrder: Equatable, Sendable {
    /// One of those that beekond knows.
    package var name: String
    /// A JSON object, as it was sent.
    package var arguments: [UInt8]
    /// Seconds after which it is not to be run any more.
    package var lifetime: Double

    package init(name: String, arguments: [UInt8] = Array("{}".utf8), lifetime: Double = Self.longest) {
        self.name = name
        self.arguments = arguments
        self.lifetime = lifetime
    }

    /// Seconds that a command waits for a vehicle which nobody switches on.
    package static let longest = 30 * 86_400.0
    /// Bytes of the arguments. The list of a vehicle's commands has to fit into the 64 KiB that it reads of an answer.
    package static let longestArguments = 16 << 10
    /// The commands of beekond.
    package static let names: [StaticString] = [
        "start", "stop", "set_config", "unset_config", "add_geofences", "remove_geofences",
        "remove_all_geofences", "set_motion", "sync", "locate", "upload_log",
    ]
}

/// Reads `{"command":…,"arguments":{…},"expires_in":…}`. The arguments are checked to be JSON, and kept as they stand: what
/// they mean is for the vehicle to say.
package enum CommandReader {
    private static let fields: [StaticString] = ["command", "arguments", "expires_in"]

    package static func read(_ bytes: UnsafeRawBufferPointer) throws(Fault) -> CommandOrder {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Fault(reason: "is not UTF-8") }
        let limits = Limits(unpacked: 32 << 10, depth: 12, members: 200)
        var reader = BatchReader(cursor: Cursor(bytes, limits: limits))
        do {
            return try order(&reader)
        } catch {
            throw Fault(error.kind, pointer: reader.place.pointer, reason: error.reason)
        }
    }

    private static func order(_ reader: inout BatchReader) throws(Cursor.Wrong) -> CommandOrder {
        var order = CommandOrder(name: "")
        var seen = BatchReader.Seen()
        var count = 0
        reader.cursor.skipSpace()
        guard reader.cursor.next == UInt8(ascii: "{") else { throw Cursor.Wrong(reason: "is no JSON object") }
        while let name = try reader.cursor.name(after: count) {
            count += 1
            guard let field = try reader.enter(name, fields, &seen) else {
                throw Cursor.Wrong(reason: "has a field other than command, arguments and expires_in")
            }
            switch field {
            case 0: order.name = CommandOrder.names[try reader.word(CommandOrder.names)].description
            case 1: order.arguments = try reader.object(depth: 1, longest: CommandOrder.longestArguments)
            default: order.lifetime = try reader.number(60...CommandOrder.longest)
            }
            reader.place.field = nil
        }
        try reader.demand([0], of: fields, seen)
        reader.cursor.skipSpace()
        guard reader.cursor.next == nil else {
            throw Cursor.Wrong(reason: "has bytes behind its end, from byte \(reader.cursor.position) on")
        }
        return order
    }
}
