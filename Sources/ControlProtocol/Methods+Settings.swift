extension Wire {
    /// Adds fences, or replaces those of the same id. Atomic: one invalid entry and none is added.
    public enum AddGeofences: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".AddGeofences"
        /// Nothing.
        public typealias Result = Wire.Empty

        /// What AddGeofences takes.
        public struct Parameters: ControlParameters {
            /// The fences.
            public var geofences: [Geofence]

            /// Makes the value.
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

        /// What RemoveGeofences takes.
        public struct Parameters: ControlParameters {
            /// Their ids.
            public var ids: [String]

            /// Makes the value.
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

        /// What RemoveGeofences answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Fences removed.
            public var removed: Int

            /// Makes the value.
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

    /// All fences. With `more` in pages of up to `Limits.fencePage`, the last one without `continues`; without,
    /// all in one.
    public enum ListGeofences: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".ListGeofences"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What ListGeofences answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Ascending by id.
            public var geofences: [Geofence]

            /// Makes the value.
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

    /// The extras that go with every row stored from now on.
    public enum GetExtras: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetExtras"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What GetExtras answers.
        public struct Result: Codable, Sendable, Equatable {
            /// The values.
            public var extras: [String: String]

            /// Makes the value.
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

    /// Replaces the extras as a whole. What differs from the configuration is kept, and wins over it.
    public enum SetExtras: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".SetExtras"
        /// Nothing.
        public typealias Result = Wire.Empty

        /// What SetExtras takes.
        public struct Parameters: ControlParameters {
            /// All of them; empty: none.
            public var extras: [String: String]

            /// Makes the value.
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

    /// The configuration in force.
    public enum GetConfig: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetConfig"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What GetConfig answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Ascending by key.
            public var settings: [Setting]

            /// Makes the value.
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

    /// Changes values, at once and over restarts. All or nothing.
    public enum Configure: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Configure"
        /// Nothing.
        public typealias Result = Wire.Empty

        /// What Configure takes.
        public struct Parameters: ControlParameters {
            /// Values by dotted key.
            public var settings: [String: JSONValue]

            /// Makes the value.
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

    /// Takes back what Configure has set. All or nothing; an empty list takes nothing back.
    public enum ResetConfig: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".ResetConfig"
        /// Nothing.
        public typealias Result = Wire.Empty

        /// What ResetConfig takes.
        public struct Parameters: ControlParameters {
            /// Dotted keys.
            public var keys: [String]

            /// Makes the value.
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

    /// Reads the configuration files again.
    public enum Reload: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Reload"
        /// Nothing.
        public typealias Parameters = Wire.Empty
        /// Nothing.
        public typealias Result = Wire.Empty
    }
}
