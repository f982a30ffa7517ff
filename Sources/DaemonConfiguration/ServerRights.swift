/// What the server may change of the settings, as the configuration files say. It is a member of group `beekon` and never
/// an administrator, whatever they say.
package struct ServerRights: Sendable, Equatable {
    /// Dotted names of settings; that of a table of the operator's own names stands for all of them: `extras`.
    package let settings: Set<String>
    /// Seconds between two signs of life: no interval between uploads that the server sets may be longer.
    package let heartbeat: Double

    package init(settings: Set<String>, heartbeat: Double) {
        self.settings = settings
        self.heartbeat = heartbeat
    }

    /// Whether the server may have a value for this setting.
    func allow(_ name: String) -> Bool {
        guard let (key, entry) = Key.named(name), !key.needsAdmin else { return false }
        return settings.contains(name) || entry != nil && settings.contains(key.name)
    }

    /// Why a value that the rules of its key allow is too much for the server; nil when it is not.
    ///
    /// - Parameter batchSize: what the files say, of the destination that the setting belongs to.
    func complaint(about name: String, _ value: SettingValue, batchSize: Int) -> String? {
        switch (Key.named(name)?.key.row, value) {
        case ("sync.interval_seconds"?, .number(let seconds)) where seconds > heartbeat:
            "is more than the heartbeat's \(heartbeat.plain) seconds, which is the most that the server may set"
        case ("sync.batch_size"?, .integer(let count)) where count > batchSize:
            "is more than the files' \(batchSize), which is the most that the server may set"
        default: nil
        }
    }
}

extension Key {
    /// Whether the setting says when tracking begins by itself: a stop that a person has made would not outlast it.
    package static func decidesWhenToTrack(_ name: String) -> Bool {
        ["tracking.schedule", "tracking.time_zone", "vehicle.on_ignition"].contains(name)
    }
}

extension Settings {
    /// Seconds: as if there were heartbeats, for a format that has none.
    private static let longestInterval = 3600.0

    /// What the server of a destination may change; nil while none may send commands.
    package var serverRights: ServerRights? {
        for destination in allDestinations {
            guard let commands = destination.sync.commands else { continue }
            let heartbeat = destination.sync.heartbeatSeconds
            return ServerRights(
                settings: Set(commands.settings), heartbeat: heartbeat > 0 ? heartbeat : Self.longestInterval)
        }
        return nil
    }

    /// A server that hears of the vehicle by its locations alone, since format template has no heartbeats, has set
    /// something: with an interval of a year it could never take that back.
    package var owesDailyLocation: Bool {
        hasServersSettings
            && allDestinations.contains { $0.sync.commands != nil && $0.sync.heartbeatSeconds == 0 }
    }
}
