internal import Base
internal import FoundationEssentials
package import Linux
package import Tracking

extension SmallFiles {
    /// Bytes; 10,000 fences with the longest ids and 100,000 corners take less.
    private static let limit = 16 << 20

    private struct Definitions: Codable {
        struct Entry: Codable {
            var key: Int64
            var id: String
            var latitude: Double
            var longitude: Double
            var radius: Double
            /// Longitude and latitude of each corner; absent for a circle.
            var polygon: [[Double]]?
            var notifiesOnEntry: Bool
            var notifiesOnExit: Bool
            /// Unix milliseconds; an earlier version did not keep it.
            var addedAt: Int64?
            /// Seconds; absent where no stay is recorded.
            var dwell: Double?
            /// A raw value of `Geofences.Origin`; nil in a file of an earlier version.
            var origin: String?
        }

        var nextKey: Int64
        var geofences: [Entry]
    }

    /// The fences, without their states; nil when there never were any.
    package func readGeofences() -> Reading<Geofences> {
        let found = read(Name.geofences, limit: Self.limit) { Self.geofences($0) != nil }
        return Reading(content: found.content.flatMap(Self.geofences), trouble: found.trouble)
    }

    private static func geofences(_ found: Definitions) -> Geofences? {
        // New keys are numbered from here.
        guard found.geofences.count <= Geofences.limit,
            (found.geofences.map(\.key) + [found.nextKey])
                .allSatisfy({ (0...1 << 60).contains($0) })
        else { return nil }
        let items = found.geofences.compactMap { entry in
            (try? fence(entry)).map {
                Geofences.Item(
                    key: entry.key, fence: $0,
                    addedAt: entry.addedAt.map { Timestamp(milliseconds: $0) },
                    origin: entry.origin.flatMap { Geofences.Origin(rawValue: $0) })
            }
        }
        return items.count == found.geofences.count ? Geofences(items, nextKey: found.nextKey) : nil
    }

    private static func fence(_ entry: Definitions.Entry) throws(Geofence.Invalid) -> Geofence {
        if let ring = entry.polygon {
            return try Geofence(
                id: entry.id, ring: ring, notifiesOnEntry: entry.notifiesOnEntry,
                notifiesOnExit: entry.notifiesOnExit, dwell: entry.dwell)
        }
        return try Geofence(
            id: entry.id, latitude: entry.latitude, longitude: entry.longitude, radius: entry.radius,
            notifiesOnEntry: entry.notifiesOnEntry, notifiesOnExit: entry.notifiesOnExit, dwell: entry.dwell)
    }

    /// Durable when it returns.
    package func write(_ geofences: Geofences) throws(SystemError) {
        let entries = geofences.items.map { item in
            Definitions.Entry(
                key: item.key, id: item.fence.id, latitude: item.fence.centre.latitude,
                longitude: item.fence.centre.longitude, radius: item.fence.radius,
                polygon: item.fence.polygon?.corners.map { [$0.longitude, $0.latitude] },
                notifiesOnEntry: item.fence.notifiesOnEntry, notifiesOnExit: item.fence.notifiesOnExit,
                addedAt: item.addedAt?.milliseconds, dwell: item.fence.dwell,
                origin: item.origin?.rawValue)
        }
        try write(
            Name.geofences, Definitions(nextKey: geofences.nextKey, geofences: entries), isLarge: true)
    }

    /// The keys of the fences that the vehicle was in: what is believed when the database has been lost.
    package func readInside() -> Reading<Set<Int64>> {
        read(Name.inside, limit: Self.limit)
    }

    /// Durable when it returns.
    package func write(inside keys: Set<Int64>) throws(SystemError) {
        try write(Name.inside, keys.sorted(), isLarge: true)
    }
}
