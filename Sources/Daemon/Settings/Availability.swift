internal import DaemonConfiguration

extension Settings {
    /// A setting that the configuration knows and the daemon cannot carry out: not in this version, or not on this machine.
    /// It is refused, so that nobody relies on it. nil when there is none.
    var unavailable: (key: String, message: String)? {
        do {
            _ = try tracking.plan()
        } catch {
            return (error.key, error.message)
        }
        if store.unsentDays > 0 {
            return ("store.unsent_days", "is not available in this version; remove it")
        }
        return allDestinations.lazy.compactMap(\.unavailable).first
    }
}

extension Settings.Destination {
    fileprivate var unavailable: (key: String, message: String)? {
        let usesBroker: Bool = if case .owntracks(let own) = sync.format { own.mqtt != nil } else { false }
        let hasParams: Bool = if case .beekon(let own) = sync.format { !own.params.isEmpty } else { false }
        let missing: [(Bool, String, String)] = [
            (sync.format.name == .template, "format", "format template"),
            (usesBroker, "url", "MQTT"),
            (hasParams, "params", "params"),
            (sync.deliver == .latest, "deliver", "deliver = \"latest\""),
            (sync.format.order == .newest, "order", "order = \"newest\""),
            (sync.triggers.mode == .manual, "mode", "mode = \"manual\""),
            (sync.triggers.onMotionChange, "on_motion_change", "on_motion_change"),
            (sync.triggers.geofenceRetry, "geofence_retry", "geofence_retry"),
            (sync.triggers.metered != nil, "metered", "metered = \"avoid\""),
            (sharesMainTokens, "auth", "auth = \"main\""),
        ]
        let table = name == Self.main ? "sync" : "destination." + name
        return missing.first(where: \.0).map {
            ("\(table).\($0.1)", "\($0.2) is not available in this version; remove it")
        }
    }
}
