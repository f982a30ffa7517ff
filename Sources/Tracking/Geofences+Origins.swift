/// Whose geofences are, and what follows from it.
extension Geofences {
    /// The first fence that a server wants to add but a person owns with another shape: the server may not
    /// change it.
    package func personsAmong(_ new: [Geofence]) -> String? {
        new.first { fence in
            guard let known = item(fence.id), known.origin != .server else { return false }
            return !known.fence.hasGeometry(of: fence)
        }?.id
    }

    /// Geofences that servers have added.
    package var ofServers: [Item] { items.filter { $0.origin == .server } }

    /// Settles whose the geofences are whose origin was not known.
    ///
    /// - Parameter isServers: whether it is a server's; of the others a person is the origin.
    package mutating func settleOrigins(isServers: (Item) -> Bool) {
        let settled = items.map { item in
            var item = item
            if item.origin == nil { item.origin = isServers(item) ? .server : .person }
            return item
        }
        self = Geofences(settled, nextKey: nextKey, entered: entered)
    }
}
