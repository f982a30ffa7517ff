internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Sensors
internal import Tracking

/// What the battery says of the locations that are stored. Where no destination is told of it, it is never read.
///
/// Confined to the reader's thread.
struct BatteryKeeper {
    private var watch = BatteryWatch()
    private var isTold: Bool

    init(_ settings: Settings) {
        isTold = settings.tellsBattery
    }

    mutating func configure(_ settings: Settings) { isTold = settings.tellsBattery }

    /// To be stored with a location. Reads it where the last reading is a minute old.
    mutating func present(now: BootInstant) -> Battery? {
        guard isTold else { return nil }
        return watch.present(now: now) { BatteryReader.read(root: Machine.root) }
    }
}

extension Settings {
    /// Some destination has a place for the battery in what it is told of a location.
    var tellsBattery: Bool {
        allDestinations.contains { destination in
            switch destination.sync.format {
            case .beekon: false
            case .owntracks, .overland, .osmand: true
            case .template(let own):
                !own.shape.tags.isDisjoint(with: [.batteryLevel, .batteryIsCharging])
            }
        }
    }
}
