internal import Base
internal import DaemonConfiguration
internal import Envelope

/// Settings of Transistorsoft's Config, in terms of ours; any other is refused by name. The manual has the same table.
enum GuideSettings {
    /// One row of the table.
    struct Row {
        /// In the guide's words.
        let name: String
        /// In ours; of the destination that asks where it begins with `sync.`.
        let setting: String
        /// How the value is made, for the manual: the guide's unit, and ours where it differs.
        let unit: String
        let value: @Sendable (JSON) -> SettingValue?
    }

    /// In the order of the manual. `extras` has a rule of its own.
    static let rows: [Row] = [
        Row("distanceFilter", "tracking.distance_meters", "metres") { number($0) },
        Row("locationUpdateInterval", "tracking.interval_seconds", "milliseconds, seconds") {
            number($0) { $0 / 1000 }
        },
        Row("stationaryRadius", "tracking.stationary_radius_meters", "metres") { number($0) },
        Row("stopTimeout", "tracking.stationary_after_seconds", "minutes, seconds") {
            number($0) { $0 * 60 }
        },
        Row("disableStopDetection", "tracking.stationary_mode", "true: keep_tracking, false: pause") {
            value in
            guard case .bool(let isDisabled) = value else { return nil }
            return .string(
                (isDisabled ? Settings.StationaryMode.keepTracking : .pause).rawValue)
        },
        Row("heartbeatInterval", "tracking.check_in_interval_seconds", "seconds") { number($0) },
        Row("trackingAccuracyThreshold", "tracking.low_accuracy_meters", "metres") { number($0) },
        Row("maxImpliedSpeed", "tracking.implausible_speed_mps", "metres per second") { number($0) },
        Row("speedJumpFilter", "tracking.implausible_speed_mps", "metres per second") { number($0) },
        Row("schedule", "tracking.schedule", "days by number, days by name") { GuideSchedule.windows($0) },
        Row("autoSyncThreshold", "sync.sync_threshold", "locations") { whole($0, from: 0) },
        // Its -1 is “no limit”, which would be made 1 here.
        Row("maxBatchSize", "sync.batch_size", "locations") { whole($0, from: 1) },
    ]

    /// Groups of the later form of Config, which stand around the same names.
    static let groups = ["geolocation", "filter", "activity", "app", "http", "persistence"]

    /// - Throws: the first name that is not known, or whose value cannot be translated.
    static func translated(
        _ config: [String: JSON], for destination: DestinationName
    ) throws(CommandError) -> [String: SettingValue] {
        var settings: [String: SettingValue] = [:]
        try translate(config, for: destination, into: &settings)
        guard !settings.isEmpty else {
            throw CommandError(.invalidArguments, "setConfig must have at least one setting")
        }
        return settings
    }

    private static func translate(
        _ config: [String: JSON], for destination: DestinationName,
        into settings: inout [String: SettingValue]
    ) throws(CommandError) {
        for (name, value) in config.sorted(by: { $0.key < $1.key }) {
            if name == "extras" {
                try translate(extras: value, into: &settings)
            } else if let row = rows.first(where: { $0.name == name }) {
                guard let own = row.value(value) else {
                    throw CommandError(
                        .invalidSetting,
                        "\(name) cannot be translated into \(row.setting); see beekond.toml(5)")
                }
                try set(row.setting(of: destination), own, from: name, in: &settings)
            } else if groups.contains(name), case .object(let inner) = value {
                try translate(inner, for: destination, into: &settings)
            } else {
                throw CommandError(.unknownSetting, "\(name) has no counterpart that a server may set")
            }
        }
    }

    private static func translate(
        extras: JSON, into settings: inout [String: SettingValue]
    ) throws(CommandError) {
        guard case .object(let members) = extras else {
            throw CommandError(.invalidSetting, "extras must be an object of texts")
        }
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            guard case .string(let text) = value else {
                throw CommandError(.invalidSetting, "extras must be an object of texts, and \(name) is none")
            }
            try set("extras." + name, .string(text), from: "extras", in: &settings)
        }
    }

    private static func set(
        _ setting: String, _ value: SettingValue, from name: String, in settings: inout [String: SettingValue]
    ) throws(CommandError) {
        guard settings.updateValue(value, forKey: setting) == nil else {
            throw CommandError(.invalidArguments, "\(name) sets \(setting), which another name sets, too")
        }
    }

    private static func number(
        _ value: JSON, _ convert: (Double) -> Double = { $0 }
    ) -> SettingValue? {
        guard let number = value.double.map(convert), number.isFinite else { return nil }
        return .number(number)
    }

    private static func whole(_ value: JSON, from least: Int) -> SettingValue? {
        guard let number = value.double.flatMap({ Int(exactly: $0) }), number >= least else { return nil }
        return .integer(number)
    }
}

extension GuideSettings.Row {
    init(
        _ name: String, _ setting: String, _ unit: String,
        _ value: @escaping @Sendable (JSON) -> SettingValue?
    ) {
        self.init(name: name, setting: setting, unit: unit, value: value)
    }

    /// Our name for it at this destination.
    func setting(of destination: DestinationName) -> String {
        guard setting.hasPrefix("sync."), destination != .main else { return setting }
        return "destination.\(destination)" + setting.dropFirst("sync".count)
    }
}

/// Windows such as `2-6 09:00-17:00`, in which Sunday is 1.
enum GuideSchedule {
    private static let days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

    /// - Returns: nil for dates, for the mode `geofence`, and for anything else that no window here can be.
    static func windows(_ value: JSON) -> SettingValue? {
        guard case .array(let entries) = value else { return nil }
        let windows = entries.map { entry -> String? in
            if case .string(let text) = entry { window(text) } else { nil }
        }
        let known = windows.compactMap(\.self)
        return known.count == windows.count ? .list(known) : nil
    }

    private static func window(_ text: String) -> String? {
        var parts = text.split(separator: " ")
        // It is the guide's usual mode.
        if parts.count == 3, parts.last == "location" { parts.removeLast() }
        guard parts.count == 2, let days = names(parts[0]) else { return nil }
        return "\(days) \(parts[1])"
    }

    private static func names(_ text: Substring) -> String? {
        let items = text.split(separator: ",", omittingEmptySubsequences: false).map { item -> String? in
            let ends = item.split(separator: "-", omittingEmptySubsequences: false).map(name)
            let known = ends.compactMap(\.self)
            guard known.count == ends.count, (1...2).contains(ends.count) else { return nil }
            return known.joined(separator: "-")
        }
        let known = items.compactMap(\.self)
        return known.count == items.count ? known.joined(separator: ",") : nil
    }

    private static func name(_ digit: Substring) -> String? {
        guard let number = Int(digit), (1...7).contains(number) else { return nil }
        return days[number - 1]
    }
}
