package import ControlProtocol

/// Geofences and their events as lines of text.
package enum GeofenceText {
    /// A table of fences. Ids come last, because they may be long; lines are truncated to `columns`, if given. Corners
    /// have a column if there are polygons.
    package static func table(
        _ fences: [Wire.Geofence], columns: Int? = nil, units: Units = .metric
    ) -> [String] {
        let hasPolygons = fences.contains { $0.polygon != nil }
        var layout: [Table.Column] = [
            .init(title: "LATITUDE", width: 10, isRight: true, worth: 3),
            .init(title: "LONGITUDE", width: 11, isRight: true, worth: 3),
            .init(title: "RADIUS \(units.short.name)", width: 9, isRight: true, worth: 5),
        ]
        if hasPolygons { layout.append(.init(title: "CORNERS", width: 7, isRight: true, worth: 1)) }
        layout.append(.init(title: "STATE", width: 9, worth: 9))
        layout.append(.init(title: "NOTIFIES", width: 10, worth: 2))
        layout.append(.init(title: "ID", width: 10, worth: 9))
        let table = Table(layout, width: columns)
        return [Text.cut(table.header, to: columns)]
            + fences.map { fence in
                let length = units.short.count(fence.radiusMeters ?? 0)
                let radius = Quantity.exact(length)
                var cells = [
                    Quantity.fitting(fence.latitude ?? 0, 6, 10),
                    Quantity.fitting(fence.longitude ?? 0, 6, 11),
                    radius.count > 9 ? Quantity.fitting(length, 2, 9) : radius,
                ]
                if hasPolygons { cells.append(fence.polygon.map { "\($0.count)" } ?? "circle") }
                cells += [state(fence.inside), notifications(fence), Text.safe(fence.id)]
                return Text.cut(table.row(cells), to: columns)
            }
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

    package static func event(_ event: Wire.GeofenceEvent, clock: LocalClock, columns: Int? = nil) -> String {
        let time = Text.fitted(clock.local(event.timestamp), 19)
        let type = Text.fitted(Text.safe(event.type), 5)
        let reason = event.reason.map { " (\(Text.safe($0)))" } ?? ""
        return Text.cut("\(time) \(type) \(Text.safe(event.geofenceId))\(reason)", to: columns)
    }
}
