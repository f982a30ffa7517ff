package import Base
internal import SQLite
package import Tracking

/// A place in a range of locations, in ascending order of time.
package struct LocationCursor: HistoryCursor {
    private var last: RowKey
    private let end: Int64
    private let session: UUIDv7?
    package private(set) var isAtEnd = false

    /// A cursor over a range. Both ends are inclusive; nil is open.
    package init(from: Timestamp?, to: Timestamp?, session: UUIDv7? = nil) {
        last = RowKey(ts: from?.milliseconds ?? .min, seq: .min)
        end = to?.milliseconds ?? .max
        self.session = session
    }

    package mutating func next(
        limit: Int, in history: borrowing History
    ) throws(StorageError) -> [Location] {
        do {
            let ids = try history.sessionIDs()
            var values: [Value] = [.integer(last.ts), .integer(last.seq), .integer(end)]
            guard let session else {
                return try read(history.locations, values + [.integer(Int64(limit))], limit, ids)
            }
            guard let key = ids.first(where: { $0.value == session })?.key else {
                isAtEnd = true
                return []
            }
            values += [.integer(key), .integer(Int64(limit))]
            return try read(history.sessionLocations, values, limit, ids)
        } catch {
            throw StorageError(error)
        }
    }

    private mutating func read(
        _ statement: borrowing Statement, _ values: [Value], _ limit: Int, _ ids: [Int64: UUIDv7]
    ) throws(SQLiteError) -> [Location] {
        try statement.bind(values)
        defer { statement.reset() }
        var locations: [Location] = []
        var count = 0
        while try statement.step() {
            count += 1
            last = RowKey(ts: statement.integer(0), seq: statement.integer(1))
            if let row = LocationRow(statement, sessionID: { ids[$0] }) { locations.append(row.location) }
        }
        isAtEnd = count < limit
        return locations
    }
}
