extension Wire {
    /// Everything about the daemon at one moment.
    public enum GetStatus: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetStatus"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What GetStatus answers.
        public struct Result: Codable, Sendable, Equatable {
            /// The moment.
            public var status: Status

            /// Makes the value.
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

    /// Starts a session, or returns the one under way.
    public enum Start: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Start"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What Start answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Now.
            public var state: State
            /// The session.
            public var sessionId: String

            /// Makes the value.
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

    /// Ends the session, if one is under way.
    public enum Stop: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Stop"
        /// Nothing.
        public typealias Parameters = Wire.Empty

        /// What Stop answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Now.
            public var state: State

            /// Makes the value.
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

    /// The next fix, independent of tracking.
    public enum GetCurrentLocation: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".GetCurrentLocation"

        /// What GetCurrentLocation takes.
        public struct Parameters: ControlParameters {
            /// How long to wait, in seconds.
            public var timeoutSeconds: Double?
            /// A location this young will do, in seconds.
            public var maxAgeSeconds: Double?
            /// Wait for a fix at least this accurate, in metres.
            public var accuracyMeters: Double?

            /// Makes the value; what is left out is absent.
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

        /// What GetCurrentLocation answers.
        public struct Result: Codable, Sendable, Equatable {
            /// Absent when none came in time.
            public var location: Location?

            /// Makes the value; what is left out is absent.
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

    /// Streams events; needs `more`. The first replies are the current state and the latest location.
    public enum Subscribe: ControlMethod {
        /// The full name.
        public static let name = trackerInterface + ".Subscribe"

        /// What Subscribe takes.
        public struct Parameters: ControlParameters {
            /// Only these kinds; absent: all.
            public var kinds: [String]?

            /// Makes the value; what is left out is absent.
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

        /// What Subscribe answers.
        public struct Result: Codable, Sendable, Equatable {
            /// What happened.
            public var event: Event

            /// Makes the value.
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
