/// Why a server's command was not carried out: a name that is documented and never changes, and words for people.
package struct CommandError: Error, Equatable, Sendable {
    /// The raw values are those of `error` in `command_results`.
    package enum Kind: String, Sendable, CaseIterable {
        /// There is no such command.
        case unknownCommand = "unknown_command"
        /// The command cannot be had here, whatever the configuration says, as `destroyLog`.
        case unsupported
        /// `allow` does not name it.
        case notAllowed = "not_allowed"
        /// An argument is missing, of the wrong type, out of its range or unknown.
        case invalidArguments = "invalid_arguments"
        /// There is no such setting.
        case unknownSetting = "unknown_setting"
        /// `settings` does not name it.
        case settingNotAllowed = "setting_not_allowed"
        /// A value is out of its range, or does not go with the other settings.
        case invalidSetting = "invalid_setting"
        /// A geofence is none, or there are too many.
        case invalidGeofence = "invalid_geofence"
        /// A geofence of that id has been added by a person, with another shape.
        case exists
        /// The id was seen with other content.
        case idReused = "id_reused"
        /// A person has stopped tracking, and the server may neither start nor find the vehicle.
        case stoppedByPerson = "stopped_by_person"
        /// A stop that had come before a person started tracking, or the ignition was switched on, and had not run by then.
        case superseded
        /// The command was signed, and its time was over before it could run.
        case expired
        /// The command was signed, and said to have been issued more than a day from when it could run.
        case counterAhead = "counter_ahead"
        /// Asked for again too soon.
        case tooSoon = "too_soon"
        /// No position came in time, or gpsd or its receiver is missing.
        case noLocation = "no_location"
        /// The disk, or something else here, failed.
        case failed
    }

    package let kind: Kind
    /// What was wrong with it, and never a position; nil when the name says it all. At most ``detailLimit`` characters.
    package let detail: String?

    /// Characters: texts of a server may be part of it, and go into the log.
    static let detailLimit = 200

    package init(_ kind: Kind, _ detail: String? = nil) {
        self.kind = kind
        self.detail = detail.map { Self.printable($0, limit: Self.detailLimit) }
    }

    /// The name, then a colon and the words, if there are any.
    package var text: String { kind.rawValue + (detail.map { ": " + $0 } ?? "") }

    /// A text of a server without what could upset a terminal, and no longer than `limit`.
    static func printable(_ text: String, limit: Int) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(limit) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
                result.append("?")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
