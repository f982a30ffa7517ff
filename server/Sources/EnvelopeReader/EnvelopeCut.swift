/// An envelope with some of its rows alone; everything else of it stays as it was sent.
package enum EnvelopeCut {
    /// Which rows stay, by their places in the lists.
    package struct Rows: Sendable {
        package var locations: [Bool]
        package var crossings: [Bool]
        package var events: [Bool]

        package init(locations: [Bool], crossings: [Bool], events: [Bool]) {
            self.locations = locations
            self.crossings = crossings
            self.events = events
        }
    }

    private static let lists: [StaticString] = ["locations", "geofence_events", "events"]

    /// - Parameters:
    ///   - bytes: an envelope that `BatchReader` has read.
    ///   - rows: of the batch that it has read.
    /// - Returns: nil when it is no such envelope.
    package static func cut(_ bytes: [UInt8], to rows: Rows, limits: Limits = Limits()) -> [UInt8]? {
        bytes.withUnsafeBytes { bytes in
            do {
                return try cut(bytes, to: rows, limits)
            } catch {
                return nil
            }
        }
    }

    private static func cut(
        _ bytes: UnsafeRawBufferPointer, to rows: Rows, _ limits: Limits
    ) throws(Cursor.Wrong) -> [UInt8] {
        var cursor = Cursor(bytes, limits: limits)
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        // What stands before it has been copied.
        var copied = 0
        var members = 0
        cursor.skipSpace()
        while let name = try cursor.name(after: members) {
            members += 1
            guard let list = name.index(in: lists) else {
                try cursor.skip(depth: 1)
                continue
            }
            output.append(contentsOf: bytes[copied..<cursor.position])
            let stays = [rows.locations, rows.crossings, rows.events][list]
            try copy(&cursor, where: stays, to: &output)
            copied = cursor.position
        }
        output.append(contentsOf: bytes[copied...])
        return output
    }

    private static func copy(
        _ cursor: inout Cursor, where stays: [Bool], to output: inout [UInt8]
    ) throws(Cursor.Wrong) {
        output.append(UInt8(ascii: "["))
        var (count, left) = (0, 0)
        while try cursor.hasElement(after: count) {
            cursor.skipSpace()
            let start = cursor.position
            try cursor.skip(depth: 2)
            if stays.indices.contains(count), stays[count] {
                if left > 0 { output.append(UInt8(ascii: ",")) }
                output.append(contentsOf: cursor.bytes[start..<cursor.position])
                left += 1
            }
            count += 1
        }
        output.append(UInt8(ascii: "]"))
    }
}
