internal import Base

// What an envelope may hold beside its rows. Of these objects only what is needed here is looked at; the rest is checked to
// be JSON, and kept.
extension BatchReader {
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

    mutating func results() throws(Cursor.Wrong) -> [CommandResult] {
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

    mutating func vehicleEvents() throws(Cursor.Wrong) -> [VehicleEvent] {
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
