extension Wire {
    /// Stored locations, ascending by time. With `more` in pages of up to `Limits.page`, the last one without
    /// `continues`; without, `ControlError.tooMany` above that many.
    public enum GetLocations: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetLocations"

        /// What GetLocations takes.
        public struct Parameters: ControlParameters {
            /// The first time, inclusive; absent: from the beginning.
            public var from: String?
            /// The last time, inclusive; absent: to the end.
            public var to: String?
            /// Only this session.
            public var sessionId: String?

            /// Makes the value; what is left out is absent.
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

        /// What GetLocations answers.
        public struct Result: Codable, Sendable, Equatable {
            /// One page.
            public var locations: [Location]

            /// Makes the value.
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
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What GetSessions answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Ascending by start.
            public var sessions: [Session]

            /// Makes the value.
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

    /// Deletes stored locations; needs admin rights.
    public enum DeleteLocations: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".DeleteLocations"

        /// What DeleteLocations takes.
        public struct Parameters: ControlParameters {
            /// Everything at or before this time; absent: everything.
            public var before: String?

            /// Makes the value; what is left out is absent.
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

        /// What DeleteLocations answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Rows deleted.
            public var removed: Int
            /// With `before`: what nothing can be cut out of, such as files that were put aside. Absent: nothing.
            public var kept: [String]?

            /// Makes the value; what is left out is absent.
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

    /// Stored crossings, ascending by time.
    public enum GetGeofenceEvents: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetGeofenceEvents"

        /// What GetGeofenceEvents takes.
        public struct Parameters: ControlParameters {
            /// The first time, inclusive; absent: from the beginning.
            public var from: String?
            /// The last time, inclusive; absent: to the end.
            public var to: String?

            /// Makes the value; what is left out is absent.
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

        /// What GetGeofenceEvents answers.
        public struct Result: Codable, Sendable, Equatable {
            /// The crossings.
            public var events: [GeofenceEvent]

            /// Makes the value.
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
