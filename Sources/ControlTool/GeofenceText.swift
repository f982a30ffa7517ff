package import ControlProtocol

/// Geofences and their events as lines of text.
package enum GeofenceText {
    /// A table of fences. Ids come last, because they may be long; lines are truncated to `columns`, if given. Corners
    /// have a column if there are polygons.
    package static func table(
        _ fences: [Wire.Geofence], columns: Int? = nil, units: Units = .metric
    ) -> [String] {
        let hasPolygons = fences.contains { $0.polygon != nil }
        let header = row(
            "LATITUDE", "LONGITUDE", "RADIUS \(units.short.name)", hasPolygons ? "CORNERS" : nil, "STATE", "NOTIFIES", "ID")
        return [Text.cut(header, to: columns)]
            + fences.map { fence in
                let length = units.short.count(fence.radiusMeters ?? 0)
                let radius = Quantity.exact(length)
                let line = row(
                    Quantity.fitting(fence.latitude ?? 0, 6, 10),
                    Quantity.fitting(fence.longitude ?? 0, 6, 11),
                    radius.count > 9 ? Quantity.fitting(length, 2, 9) : radius,
                    hasPolygons ? fence.polygon.map { "\($0.count)" } ?? "circle" : nil,
                    state(fence.inside),
                    notifications(fence), Text.safe(fence.id))
                return Text.cut(line, to: columns)
            }
    }

    private static func row(
        _ latitude: String, _ longitude: String, _ radius: String, _ corners: String?, _ state: String,
        _ notifies: String, _ id: String
    ) -> String {
        [
            Text.right(latitude, 10), Text.right(longitude, 11), Text.right(radius, 9),
            corners.map { Text.right($0, 7) }, Text.left(state, 9), Text.left(notifies, 10), id,
        ].compactMap(\.self).joined(separator: " ")
    }

    private static func state(_ inside: Bool?) -> String {
        switch inside {
        case true?: "inside"
        case false?: "outside"
        case nil: "undecided"
        }
    }

    private static func notifications(_ fence: Wire.Geofence) -> String {
        let all = [
            (fence.notifyOnEntry ?? true, "enter"), (fence.notifyOnExit ?? true, "exit"),
            (fence.dwellSeconds != nil, "dwell"),
        ]
        let wanted = all.filter(\.0).map(\.1)
        return wanted.isEmpty ? "nothing" : wanted.joined(separator: ",")
    }

    package static func eventHeader(zone: Zone) -> String {
        "\(Text.left("TIME (\(zone.name))", 19)) EVENT GEOFENCE"
    }

    package static func event(_ event: Wire.GeofenceEvent, clock: Clock, columns: Int? = nil) -> String {
        let time = Text.fitted(clock.local(event.timestamp), 19)
        let type = Text.fitted(Text.safe(event.type), 5)
        return Text.cut("\(time) \(type) \(Text.safe(event.geofenceId))", to: columns)
    }
}
