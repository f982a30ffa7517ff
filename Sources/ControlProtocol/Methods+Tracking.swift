extension Wire {
    /// A snapshot of the daemon's state.
    public enum GetStatus: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetStatus"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of GetStatus.
        public struct Result: Codable, Sendable, Equatable {
            /// The snapshot.
            public var status: Status

            /// Memberwise initialiser.
            public init(
                status: Status
            ) {
                self.status = status
            }

            private enum CodingKeys: String, CodingKey {
                case status
            }
        }
    }

    /// Starts a session, or returns the one in progress.
    public enum Start: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Start"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of Start.
        public struct Result: Codable, Sendable, Equatable {
            /// The new state.
            public var state: State
            /// The session in progress.
            public var sessionId: String

            /// Memberwise initialiser.
            public init(
                state: State, sessionId: String
            ) {
                self.state = state
                self.sessionId = sessionId
            }

            private enum CodingKeys: String, CodingKey {
                case state
                case sessionId = "session_id"
            }
        }
    }

    /// Ends the session, if one is in progress.
    public enum Stop: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Stop"
        /// No parameters.
        public typealias Parameters = Wire.Empty

        /// Result of Stop.
        public struct Result: Codable, Sendable, Equatable {
            /// The new state.
            public var state: State

            /// Memberwise initialiser.
            public init(
                state: State
            ) {
                self.state = state
            }

            private enum CodingKeys: String, CodingKey {
                case state
            }
        }
    }

    /// Waits for the next fix, whether tracking or not.
    public enum GetCurrentLocation: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetCurrentLocation"

        /// Parameters of GetCurrentLocation.
        public struct Parameters: ControlParameters {
            /// How long to wait, in seconds.
            public var timeoutSeconds: Double?
            /// Maximum age of an acceptable earlier fix, in seconds.
            public var maxAgeSeconds: Double?
            /// Required accuracy of the fix, in metres.
            public var accuracyMeters: Double?

            /// Optional members default to absent.
            public init(
                timeoutSeconds: Double? = nil, maxAgeSeconds: Double? = nil, accuracyMeters: Double? = nil
            ) {
                self.timeoutSeconds = timeoutSeconds
                self.maxAgeSeconds = maxAgeSeconds
                self.accuracyMeters = accuracyMeters
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case timeoutSeconds = "timeout_seconds"
                case maxAgeSeconds = "max_age_seconds"
                case accuracyMeters = "accuracy_meters"
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetCurrentLocation.
        public struct Result: Codable, Sendable, Equatable {
            /// Absent when no fix arrived in time.
            public var location: Location?

            /// Optional members default to absent.
            public init(
                location: Location? = nil
            ) {
                self.location = location
            }

            private enum CodingKeys: String, CodingKey {
                case location
            }
        }
    }

    /// Streams events; requires `more`. The first replies are the current state and the latest location.
    public enum Subscribe: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Subscribe"

        /// Parameters of Subscribe.
        public struct Parameters: ControlParameters {
            /// Only these kinds; absent: all.
            public var kinds: [String]?

            /// Optional members default to absent.
            public init(
                kinds: [String]? = nil
            ) {
                self.kinds = kinds
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case kinds
            }

            /// The names on the wire.
            public static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of Subscribe.
        public struct Result: Codable, Sendable, Equatable {
            /// What happened.
            public var event: Event

            /// Memberwise initialiser.
            public init(
                event: Event
            ) {
                self.event = event
            }

            private enum CodingKeys: String, CodingKey {
                case event
            }
        }
    }
}
