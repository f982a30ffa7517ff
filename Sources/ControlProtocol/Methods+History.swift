extension Wire {
    /// Stored locations, in chronological order. With `more`, in pages of up to `Limits.page`, the last one without
    /// `continues`; without `more`, `ControlError.tooMany` above that many.
    public enum GetLocations: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetLocations"

        /// Parameters of GetLocations.
        public struct Parameters: ControlParameters {
            /// Start of the range, inclusive; absent: unbounded.
            public var from: String?
            /// End of the range, inclusive; absent: unbounded.
            public var to: String?
            /// Only this session.
            public var sessionId: String?

            /// Optional members default to absent.
            public init(
                from: String? = nil, to: String? = nil, sessionId: String? = nil
            ) {
                self.from = from
                self.to = to
                self.sessionId = sessionId
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case from
                case to
                case sessionId = "session_id"
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetLocations.
        public struct Result: Codable, Sendable, Equatable {
            /// One page.
            public var locations: [Location]

            /// Memberwise initialiser.
            public init(
                locations: [Location]
            ) {
                self.locations = locations
            }

            private enum CodingKeys: String, CodingKey {
                case locations
            }
        }
    }

    /// The sessions that are still known.
    public enum GetSessions: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetSessions"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of GetSessions.
        public struct Result: Codable, Sendable, Equatable {
            /// In order of their start.
            public var sessions: [Session]

            /// Memberwise initialiser.
            public init(
                sessions: [Session]
            ) {
                self.sessions = sessions
            }

            private enum CodingKeys: String, CodingKey {
                case sessions
            }
        }
    }

    /// Deletes stored locations; requires admin rights.
    public enum DeleteLocations: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".DeleteLocations"

        /// Parameters of DeleteLocations.
        public struct Parameters: ControlParameters {
            /// Everything at or before this time; absent: everything.
            public var before: String?

            /// Optional members default to absent.
            public init(
                before: String? = nil
            ) {
                self.before = before
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case before
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of DeleteLocations.
        public struct Result: Codable, Sendable, Equatable {
            /// Rows deleted.
            public var removed: Int
            /// With `before`: what nothing can be cut out of, such as files that were put aside. Absent: nothing.
            public var kept: [String]?

            /// Memberwise initialiser; omitted members are absent.
            public init(
                removed: Int, kept: [String]? = nil
            ) {
                self.removed = removed
                self.kept = kept
            }

            private enum CodingKeys: String, CodingKey {
                case removed
                case kept
            }
        }
    }

    /// Stored crossings, in chronological order.
    public enum GetGeofenceEvents: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetGeofenceEvents"

        /// Parameters of GetGeofenceEvents.
        public struct Parameters: ControlParameters {
            /// Start of the range, inclusive; absent: unbounded.
            public var from: String?
            /// End of the range, inclusive; absent: unbounded.
            public var to: String?

            /// Optional members default to absent.
            public init(
                from: String? = nil, to: String? = nil
            ) {
                self.from = from
                self.to = to
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case from
                case to
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetGeofenceEvents.
        public struct Result: Codable, Sendable, Equatable {
            /// The crossings.
            public var events: [GeofenceEvent]

            /// Memberwise initialiser.
            public init(
                events: [GeofenceEvent]
            ) {
                self.events = events
            }

            private enum CodingKeys: String, CodingKey {
                case events
            }
        }
    }
}
