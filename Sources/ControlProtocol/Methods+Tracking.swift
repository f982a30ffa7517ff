extension Wire {
    /// A snapshot of the daemon's state.
    package enum GetStatus: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetStatus"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of GetStatus.
        package struct Result: Codable, Sendable, Equatable {
            /// The snapshot.
            package var status: Status

            /// Memberwise initialiser.
            package init(
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
    package enum Start: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Start"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of Start.
        package struct Result: Codable, Sendable, Equatable {
            /// The new state.
            package var state: State
            /// The session in progress.
            package var sessionId: String

            /// Memberwise initialiser.
            package init(
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
    package enum Stop: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Stop"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of Stop.
        package struct Result: Codable, Sendable, Equatable {
            /// The new state.
            package var state: State

            /// Memberwise initialiser.
            package init(
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
    package enum GetCurrentLocation: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetCurrentLocation"

        /// Parameters of GetCurrentLocation.
        package struct Parameters: ControlParameters {
            /// How long to wait, in seconds.
            package var timeoutSeconds: Double?
            /// Maximum age of an acceptable earlier fix, in seconds.
            package var maxAgeSeconds: Double?
            /// Required accuracy of the fix, in metres.
            package var accuracyMeters: Double?

            /// Optional members default to absent.
            package init(
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
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetCurrentLocation.
        package struct Result: Codable, Sendable, Equatable {
            /// Absent when no fix arrived in time.
            package var location: Location?

            /// Optional members default to absent.
            package init(
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
    package enum Subscribe: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".Subscribe"

        /// Parameters of Subscribe.
        package struct Parameters: ControlParameters {
            /// Only these kinds; absent: all.
            package var kinds: [String]?

            /// Optional members default to absent.
            package init(
                kinds: [String]? = nil
            ) {
                self.kinds = kinds
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case kinds
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of Subscribe.
        package struct Result: Codable, Sendable, Equatable {
            /// What happened.
            package var event: Event

            /// Memberwise initialiser.
            package init(
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
