internal import Base

// Single values, each with its range.
extension BatchReader {
    mutating func uuid() throws(Cursor.Wrong) -> UUIDv7 {
        guard let id = try cursor.text().uuid else { throw Cursor.Wrong(reason: "is no UUID") }
        return id
    }

    /// A UUID whose time part says where it is stored.
    mutating func version7() throws(Cursor.Wrong) -> UUIDv7 {
        let id = try uuid()
        guard id.withBytes({ $0[6] >> 4 == 7 }) else {
            throw Cursor.Wrong(reason: "is not a UUID of version 7")
        }
        return id
    }

    mutating func moment() throws(Cursor.Wrong) -> Timestamp {
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

    mutating func direction() throws(Cursor.Wrong) -> Double {
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
    mutating func string(longest: Int) throws(Cursor.Wrong) -> String {
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
}
