extension Wire {
    /// Adds fences, replacing those with the same id. Atomic: if one entry is invalid, none is added.
    package enum AddGeofences: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".AddGeofences"
        /// No result.
        package typealias Result = Wire.Empty

        /// Parameters of AddGeofences.
        package struct Parameters: ControlParameters {
            /// The fences.
            package var geofences: [Geofence]

            /// Memberwise initialiser.
            package init(
                geofences: [Geofence]
            ) {
                self.geofences = geofences
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case geofences
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// Removes fences.
    package enum RemoveGeofences: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".RemoveGeofences"

        /// Parameters of RemoveGeofences.
        package struct Parameters: ControlParameters {
            /// Ids of the fences; unknown ones are ignored.
            package var ids: [String]

            /// Memberwise initialiser.
            package init(
                ids: [String]
            ) {
                self.ids = ids
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case ids
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of RemoveGeofences.
        package struct Result: Codable, Sendable, Equatable {
            /// Number of fences removed.
            package var removed: Int

            /// Memberwise initialiser.
            package init(
                removed: Int
            ) {
                self.removed = removed
            }

            private enum CodingKeys: String, CodingKey {
                case removed
            }
        }
    }

    /// Lists all fences. With `more` in pages of up to `Limits.fencePage`, the last of which lacks `continues`;
    /// without `more`, all in one reply.
    package enum ListGeofences: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".ListGeofences"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of ListGeofences.
        package struct Result: Codable, Sendable, Equatable {
            /// In ascending order of id.
            package var geofences: [Geofence]

            /// Memberwise initialiser.
            package init(
                geofences: [Geofence]
            ) {
                self.geofences = geofences
            }

            private enum CodingKeys: String, CodingKey {
                case geofences
            }
        }
    }

    /// The extras attached to every row stored from now on.
    package enum GetExtras: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetExtras"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of GetExtras.
        package struct Result: Codable, Sendable, Equatable {
            /// Values by name.
            package var extras: [String: String]

            /// Memberwise initialiser.
            package init(
                extras: [String: String]
            ) {
                self.extras = extras
            }

            private enum CodingKeys: String, CodingKey {
                case extras
            }
        }
    }

    /// Replaces all extras. What differs from the configuration is stored and takes precedence over it.
    package enum SetExtras: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".SetExtras"
        /// No result.
        package typealias Result = Wire.Empty

        /// Parameters of SetExtras.
        package struct Parameters: ControlParameters {
            /// The complete set; empty for none.
            package var extras: [String: String]

            /// Memberwise initialiser.
            package init(
                extras: [String: String]
            ) {
                self.extras = extras
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case extras
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// The configuration in effect.
    package enum GetConfig: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetConfig"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of GetConfig.
        package struct Result: Codable, Sendable, Equatable {
            /// In ascending order of key.
            package var settings: [Setting]

            /// Memberwise initialiser.
            package init(
                settings: [Setting]
            ) {
                self.settings = settings
            }

            private enum CodingKeys: String, CodingKey {
                case settings
            }
        }
    }

    /// Changes settings immediately and persistently. All or nothing.
    package enum Configure: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Configure"
        /// No result.
        package typealias Result = Wire.Empty

        /// Parameters of Configure.
        package struct Parameters: ControlParameters {
            /// Values by dotted key.
            package var settings: [String: JSONValue]

            /// Memberwise initialiser.
            package init(
                settings: [String: JSONValue]
            ) {
                self.settings = settings
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case settings
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// Reverts what Configure has set. All or nothing; an empty list reverts nothing.
    package enum ResetConfig: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".ResetConfig"
        /// No result.
        package typealias Result = Wire.Empty

        /// Parameters of ResetConfig.
        package struct Parameters: ControlParameters {
            /// Dotted keys.
            package var keys: [String]

            /// Memberwise initialiser.
            package init(
                keys: [String]
            ) {
                self.keys = keys
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case keys
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// Rereads the configuration files.
    package enum Reload: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Reload"
        /// No parameters.
        package typealias Parameters = Wire.Empty
        /// No result.
        package typealias Result = Wire.Empty
    }
}
