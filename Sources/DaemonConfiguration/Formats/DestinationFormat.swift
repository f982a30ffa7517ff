/// How rows become requests: what is configured of one format, and what follows from that. Each format is a file in this folder,
/// and one in `Upload/Formats`, which writes its requests and reads its answers.
package protocol DestinationFormat: Sendable, Equatable {
    static var traits: FormatTraits { get }

    /// How the server knows this vehicle; nil where the format has no such name, or none was given.
    var vehicle: String? { get }
    /// Which pending rows the next batch holds.
    var order: Settings.Order { get }
    /// A request holds one location or one event.
    var isOneRow: Bool { get }
    /// Geofence events are part of it.
    var carriesGeofenceEvents: Bool { get }
    /// The battery is part of what is said of a location.
    var carriesBattery: Bool { get }
    /// What else decides the bytes of a batch, as a text; empty for `beekon` as it usually is. What is not set adds nothing:
    /// else an upgrade would look like another setting.
    var identity: String { get }
    /// What no message may show.
    var secretTexts: [String] { get }
}

extension DestinationFormat {
    package var vehicle: String? { nil }
    package var order: Settings.Order { .oldest }
    package var isOneRow: Bool { Self.traits.isOneRow }
    package var carriesGeofenceEvents: Bool { Self.traits.geofenceEvents == .always }
    package var carriesBattery: Bool { Self.traits.battery == .always }
    package var secretTexts: [String] { [] }
}

extension Settings {
    /// How rows become requests, with what that format alone can be told.
    package enum Format: Sendable, Equatable {
        case beekon(Beekon)
        case template(Template)
        case overland(Overland)
        case owntracks(OwnTracks)
        case osmand(OsmAnd)

        /// What `format` says, and what is remembered with a frozen batch.
        package enum Name: String, Sendable, CaseIterable {
            case beekon, template, overland, owntracks, osmand

            package var traits: FormatTraits {
                switch self {
                case .beekon: Beekon.traits
                case .template: Template.traits
                case .overland: Overland.traits
                case .owntracks: OwnTracks.traits
                case .osmand: OsmAnd.traits
                }
            }
        }

        package var name: Name {
            switch self {
            case .beekon: .beekon
            case .template: .template
            case .overland: .overland
            case .owntracks: .owntracks
            case .osmand: .osmand
            }
        }

        private var own: any DestinationFormat {
            switch self {
            case .beekon(let own): own
            case .template(let own): own
            case .overland(let own): own
            case .owntracks(let own): own
            case .osmand(let own): own
            }
        }

        /// How the server knows this vehicle; nil where the format has no such name, or none was given.
        package var deviceID: String? { own.vehicle }
        /// Which pending rows the next batch holds.
        package var order: Order { own.order }
        /// A request holds one location or one event.
        package var isOneRow: Bool { own.isOneRow }
        /// Events are part of it, of geofences at least.
        package var carriesEvents: Bool { own.carriesGeofenceEvents }
        /// Whether events of other kinds than geofences are sent to the destination.
        package var carriesVehicleEvents: Bool { name.traits.vehicleEvents == .always }
        /// The battery is part of what is said of a location.
        package var carriesBattery: Bool { own.carriesBattery }
        /// What decides the bytes of a batch beside url and batch size: see ``DestinationFormat``.
        package var identity: String { own.identity }
        /// What no message may show.
        var secretTexts: [String] { own.secretTexts }
    }

    /// Which pending rows a batch holds; within it they ascend in any case.
    package enum Order: String, Sendable, CaseIterable {
        case oldest, newest
    }
}
