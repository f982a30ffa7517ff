extension Wire {
    /// Adds fences, replacing those with the same id. Atomic: if one entry is invalid, none is added.
    public enum AddGeofences: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".AddGeofences"
        /// No result.
        public typealias Result = Wire.Empty

        /// Parameters of AddGeofences.
        public struct Parameters: ControlParameters {
            /// The fences.
            public var geofences: [Geofence]

            /// Memberwise initialiser.
            public init(
                geofences: [Geofence]
            ) {
                self.geofences = geofences
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case geofences
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// Removes fences.
    public enum RemoveGeofences: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".RemoveGeofences"

        /// Parameters of RemoveGeofences.
        public struct Parameters: ControlParameters {
            /// Ids of the fences; unknown ones are ignored.
            public var ids: [String]

            /// Memberwise initialiser.
            public init(
                ids: [String]
            ) {
                self.ids = ids
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case ids
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of RemoveGeofences.
        public struct Result: Codable, Sendable, Equatable {
            /// Number of fences removed.
            public var removed: Int

            /// Memberwise initialiser.
            public init(
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
    public enum ListGeofences: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".ListGeofences"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of ListGeofences.
        public struct Result: Codable, Sendable, Equatable {
            /// In ascending order of id.
            public var geofences: [Geofence]

            /// Memberwise initialiser.
            public init(
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
    public enum GetExtras: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetExtras"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of GetExtras.
        public struct Result: Codable, Sendable, Equatable {
            /// Values by name.
            public var extras: [String: String]

            /// Memberwise initialiser.
            public init(
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
    public enum SetExtras: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".SetExtras"
        /// No result.
        public typealias Result = Wire.Empty

        /// Parameters of SetExtras.
        public struct Parameters: ControlParameters {
            /// The complete set; empty for none.
            public var extras: [String: String]

            /// Memberwise initialiser.
            public init(
                extras: [String: String]
            ) {
                self.extras = extras
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case extras
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// The configuration in effect.
    public enum GetConfig: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetConfig"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of GetConfig.
        public struct Result: Codable, Sendable, Equatable {
            /// In ascending order of key.
            public var settings: [Setting]

            /// Memberwise initialiser.
            public init(
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
    public enum Configure: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Configure"
        /// No result.
        public typealias Result = Wire.Empty

        /// Parameters of Configure.
        public struct Parameters: ControlParameters {
            /// Values by dotted key.
            public var settings: [String: JSONValue]

            /// Memberwise initialiser.
            public init(
                settings: [String: JSONValue]
            ) {
                self.settings = settings
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case settings
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// Reverts what Configure has set. All or nothing; an empty list reverts nothing.
    public enum ResetConfig: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".ResetConfig"
        /// No result.
        public typealias Result = Wire.Empty

        /// Parameters of ResetConfig.
        public struct Parameters: ControlParameters {
            /// Dotted keys.
            public var keys: [String]

            /// Memberwise initialiser.
            public init(
                keys: [String]
            ) {
                self.keys = keys
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case keys
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }
    }

    /// Rereads the configuration files.
    public enum Reload: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Reload"
        /// No parameters.
        public typealias Parameters = Wire.Empty
        /// No result.
        public typealias Result = Wire.Empty
    }
}
