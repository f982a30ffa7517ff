internal import Base
internal import DaemonConfiguration
internal import Envelope
internal import Tracking

/// What the battery says of the locations that are stored. Where no destination is told of it, it is never read.
///
/// Confined to the reader's thread.
struct BatteryKeeper {
    /// Seconds for which a fix waits to be stored, once a minute at most: 20 times what a healthy controller takes.
    private static let patience = 0.1

    private let lookout: BatteryLookout
    private var isTold: Bool

    init(_ lookout: BatteryLookout, _ settings: Settings) {
        self.lookout = lookout
        isTold = settings.tellsBattery
    }

    mutating func configure(_ settings: Settings) { isTold = settings.tellsBattery }

    /// To be stored with a location.
    func present(now: BootInstant) -> Battery? {
        guard isTold else { return nil }
        return lookout.battery(notOlderThan: BatteryWatch.interval, patience: Self.patience, now: now)
    }
}

extension Settings {
    /// Whether some destination is told of the battery with a location.
    var tellsBattery: Bool {
        allDestinations.contains(where: \.sync.format.carriesBattery)
    }
}
