package import ControlProtocol

/// Geofences as GeoJSON, in the form that `GeofenceFile` reads: a circle is a point with a radius.
package enum GeofenceGeoJSON {
    private struct Collection: Encodable {
        let type = "FeatureCollection"
        let features: [Feature]
    }

    private struct Feature: Encodable {
        let type = "Feature"
        let geometry: Geometry
        let properties: Properties
    }

    private struct Geometry: Encodable {
        enum Coordinates {
            case point([Double])
            case polygon([[Double]])
        }

        let coordinates: Coordinates

        private enum CodingKeys: String, CodingKey { case type, coordinates }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            switch coordinates {
            case .point(let position):
                try container.encode("Point", forKey: .type)
                try container.encode(position, forKey: .coordinates)
            case .polygon(let ring):
                try container.encode("Polygon", forKey: .type)
                try container.encode([ring], forKey: .coordinates)
            }
        }
    }

    private struct Properties: Encodable {
        let id: String
        /// Metres; of circles.
        let radius: Double?
        let notifyOnEntry: Bool
        let notifyOnExit: Bool
        /// Seconds; absent where no stay is recorded.
        let dwellSeconds: Double?

        private enum CodingKeys: String, CodingKey {
            case id, radius
            case notifyOnEntry = "notify_on_entry"
            case notifyOnExit = "notify_on_exit"
            case dwellSeconds = "dwell_seconds"
        }
    }

    /// One collection.
    package static func lines(_ fences: [Wire.Geofence]) throws -> [String] {
        [try JSONLine.encode(Collection(features: fences.map(feature)))]
    }

    private static func feature(_ fence: Wire.Geofence) -> Feature {
        let geometry: Geometry =
            if let ring = fence.polygon {
                // GeoJSON repeats the first corner.
                Geometry(coordinates: .polygon(ring + ring.prefix(1)))
            } else {
                Geometry(coordinates: .point([fence.longitude ?? 0, fence.latitude ?? 0]))
            }
        return Feature(
            geometry: geometry,
            properties: Properties(
                id: fence.id, radius: fence.polygon == nil ? fence.radiusMeters : nil,
                notifyOnEntry: fence.notifyOnEntry ?? true, notifyOnExit: fence.notifyOnExit ?? true,
                dwellSeconds: fence.dwellSeconds))
    }

}
