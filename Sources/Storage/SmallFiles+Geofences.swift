internal import FoundationEssentials
public import Linux
public import Tracking

extension SmallFiles {
    private static let definitions = "geofences.json"
    private static let inside = "geofences-inside.json"
    /// Bytes; 10,000 fences with the longest ids take less.
    private static let limit = 16 << 20

    private struct Definitions: Codable {
        struct Entry: Codable {
            var key: Int64
            var id: String
            var latitude: Double
            var longitude: Double
            var radius: Double
            var notifiesOnEntry: Bool
            var notifiesOnExit: Bool
        }

        var nextKey: Int64
        var geofences: [Entry]
    }

    /// The fences, without what is known of them; nil when there never were any.
    ///
    /// - Throws: also when the file does not hold what it should.
    public func readGeofences() throws(SystemError) -> Geofences? {
        guard let bytes = try directory.read(Self.definitions, limit: Self.limit) else { return nil }
        guard let found = try? JSONDecoder().decode(Definitions.self, from: Data(bytes)) else {
            throw SystemError("read " + Self.definitions, code: 22)
        }
        let items = found.geofences.compactMap { entry in
            let fence = try? Geofence(
                id: entry.id, latitude: entry.latitude, longitude: entry.longitude, radius: entry.radius,
                notifiesOnEntry: entry.notifiesOnEntry, notifiesOnExit: entry.notifiesOnExit)
            return fence.map { Geofences.Item(key: entry.key, fence: $0) }
        }
        guard items.count == found.geofences.count else {
            throw SystemError("read " + Self.definitions, code: 22)
        }
        return Geofences(items, nextKey: found.nextKey)
    }

    /// Durable when it returns.
    public func write(_ geofences: Geofences) throws(SystemError) {
        let entries = geofences.items.map { item in
            Definitions.Entry(
                key: item.key, id: item.fence.id, latitude: item.fence.centre.latitude,
                longitude: item.fence.centre.longitude, radius: item.fence.radius,
                notifiesOnEntry: item.fence.notifiesOnEntry, notifiesOnExit: item.fence.notifiesOnExit)
        }
        try write(
            Self.definitions, Definitions(nextKey: geofences.nextKey, geofences: entries), isLarge: true)
    }

    /// The keys of the fences that the vehicle was in: what is believed when the database has been lost.
    public func readInside() throws(SystemError) -> Set<Int64>? {
        guard let bytes = try directory.read(Self.inside, limit: Self.limit) else { return nil }
        return try? JSONDecoder().decode(Set<Int64>.self, from: Data(bytes))
    }

    /// Durable when it returns.
    public func write(inside keys: Set<Int64>) throws(SystemError) {
        try write(Self.inside, keys.sorted(), isLarge: true)
    }
}
