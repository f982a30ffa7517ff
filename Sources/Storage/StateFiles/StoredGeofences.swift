internal import Base
package import Tracking

/// The fences, without their states.
package struct StoredGeofences: SmallFileContent {
    private struct Entry: Codable {
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

        init(_ item: Geofences.Item) {
            key = item.key
            id = item.fence.id
            latitude = item.fence.centre.latitude
            longitude = item.fence.centre.longitude
            radius = item.fence.radius
            polygon = item.fence.polygon?.corners.map { [$0.longitude, $0.latitude] }
            notifiesOnEntry = item.fence.notifiesOnEntry
            notifiesOnExit = item.fence.notifiesOnExit
            addedAt = item.addedAt?.milliseconds
            dwell = item.fence.dwell
            origin = item.origin?.rawValue
        }

        /// nil when it is no fence.
        var item: Geofences.Item? {
            (try? fence()).map {
                Geofences.Item(
                    key: key, fence: $0, addedAt: addedAt.map { Timestamp(milliseconds: $0) },
                    origin: origin.flatMap { Geofences.Origin(rawValue: $0) })
            }
        }

        private func fence() throws(Geofence.Invalid) -> Geofence {
            if let polygon {
                return try Geofence(
                    id: id, ring: polygon, notifiesOnEntry: notifiesOnEntry, notifiesOnExit: notifiesOnExit,
                    dwell: dwell)
            }
            return try Geofence(
                id: id, latitude: latitude, longitude: longitude, radius: radius,
                notifiesOnEntry: notifiesOnEntry, notifiesOnExit: notifiesOnExit, dwell: dwell)
        }
    }

    private var nextKey: Int64
    private var geofences: [Entry]

    /// What is written of them.
    package init(_ geofences: Geofences) {
        nextKey = geofences.nextKey
        self.geofences = geofences.items.map { Entry($0) }
    }

    /// The fences; nil when they cannot be what was written.
    package var value: Geofences? {
        // New keys are numbered from here.
        guard geofences.count <= Geofences.limit,
            (geofences.map(\.key) + [nextKey]).allSatisfy({ (0...1 << 60).contains($0) })
        else { return nil }
        let items = geofences.compactMap(\.item)
        return items.count == geofences.count ? Geofences(items, nextKey: nextKey) : nil
    }

    package static var fileName: String { SmallFiles.Name.geofences }
    /// Bytes; 10,000 fences with the longest ids and 100,000 corners take less.
    package static var sizeLimit: Int { 16 << 20 }
    package static var isForPeople: Bool { false }

    package var isSound: Bool { value != nil }
}

/// The keys of the fences that the vehicle was in: what is believed when the database has been lost.
package struct StoredInside: SmallFileContent {
    /// Keys of fences.
    package let keys: Set<Int64>

    /// What is written of them.
    package init(_ keys: Set<Int64>) {
        self.keys = keys
    }

    package init(from decoder: any Decoder) throws {
        keys = try decoder.singleValueContainer().decode(Set<Int64>.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(keys.sorted())
    }

    package static var fileName: String { SmallFiles.Name.inside }
    /// As large as the file with the fences.
    package static var sizeLimit: Int { StoredGeofences.sizeLimit }
    package static var isForPeople: Bool { false }
}
