package import ControlProtocol

/// The units in which lengths and speeds are shown to people. Files, `--json` and the wire have metres and metres per second
/// always.
package enum Units: String, CaseIterable, Sendable {
    case metric, imperial, nautical

    /// Name of the setting.
    package static let key = "display.units"

    /// The units that the daemon's setting names; metric where it has none, or one of another version.
    package init(_ settings: [Wire.Setting]) {
        self.init(setting: settings.first { $0.key == Self.key }?.value)
    }

    /// - Parameter value: of the setting; nil: not known.
    package init(setting value: JSONValue?) {
        self = value?.stringValue.flatMap(Units.init(rawValue:)) ?? .metric
    }

    /// A unit: its name, and how many metres it has.
    package struct Length: Encodable, Equatable, Sendable {
        package let name: String
        package let meters: Double

        /// A number of them.
        package func count(_ meters: Double) -> Double { meters / self.meters }
    }

    /// For roads.
    package var long: Length {
        switch self {
        case .metric: Length(name: "km", meters: 1000)
        case .imperial: Length(name: "mi", meters: 1609.344)
        case .nautical: Length(name: "nmi", meters: 1852)
        }
    }

    /// For what is near, and for heights: charts have metres.
    package var short: Length {
        switch self {
        case .metric, .nautical: Length(name: "m", meters: 1)
        case .imperial: Length(name: "ft", meters: 0.3048)
        }
    }

    package var speedName: String {
        switch self {
        case .metric: "km/h"
        case .imperial: "mph"
        case .nautical: "kn"
        }
    }

    /// From metres per second.
    package func speed(_ metersPerSecond: Double) -> Double { long.count(metersPerSecond * 3600) }

    /// `72.0 km/h`, the number in at most six characters.
    package func speedText(_ metersPerSecond: Double) -> String {
        Quantity.fitting(speed(metersPerSecond), 1, 6) + " " + speedName
    }

    /// `345 m`, `12.3 km`, `1234 km`; feet up to a thousand of them.
    package func distance(_ meters: Double) -> String {
        let near = short.count(meters)
        // A mile has more feet than a reader wants to count.
        guard abs(near) >= 1000 else { return Quantity.fixed(near, 0) + " " + short.name }
        let far = long.count(meters)
        return Quantity.fixed(far, abs(far) < 100 ? 1 : 0) + " " + long.name
    }

    /// `±5 m`, `±12 km`.
    package func accuracy(_ meters: Double) -> String {
        meters < 10_000
            ? "±\(Quantity.fixed(short.count(meters), 0)) \(short.name)"
            : "±\(Quantity.fitting(long.count(meters), 0, 6)) \(long.name)"
    }
}
