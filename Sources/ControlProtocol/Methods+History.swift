extension Wire {
    /// Stored locations, in chronological order. With `more`, in pages of up to `Limits.page`, the last one without
    /// `continues`; without `more`, `ControlError.tooMany` above that many.
    package enum GetLocations: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetLocations"

        /// Parameters of GetLocations.
        package struct Parameters: ControlParameters {
            /// Start of the range, inclusive; absent: unbounded.
            package var from: String?
            /// End of the range, inclusive; absent: unbounded.
            package var to: String?
            /// Only this session.
            package var sessionId: String?

            /// Optional members default to absent.
            package init(
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
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetLocations.
        package struct Result: Codable, Sendable, Equatable {
            /// One page.
            package var locations: [Location]

            /// Memberwise initialiser.
            package init(
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
    package enum GetSessions: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetSessions"
        /// No parameters.
        package typealias Parameters = Wire.Empty

        /// Result of GetSessions.
        package struct Result: Codable, Sendable, Equatable {
            /// In order of their start.
            package var sessions: [Session]

            /// Memberwise initialiser.
            package init(
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
    package enum DeleteLocations: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".DeleteLocations"

        /// Parameters of DeleteLocations.
        package struct Parameters: ControlParameters {
            /// Everything at or before this time; absent: everything.
            package var before: String?

            /// Optional members default to absent.
            package init(
                before: String? = nil
            ) {
                self.before = before
            }

            private enum CodingKeys: String, CodingKey, CaseIterable {
                case before
            }

            /// The names on the wire.
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of DeleteLocations.
        package struct Result: Codable, Sendable, Equatable {
            /// Rows deleted.
            package var removed: Int
            /// With `before`: what nothing can be cut out of, such as files that were put aside. Absent: nothing.
            package var kept: [String]?

            /// Memberwise initialiser; omitted members are absent.
            package init(
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
    package enum GetGeofenceEvents: ControlMethod {
        /// The full name.
        package static let name = trackerInterface + ".GetGeofenceEvents"

        /// Parameters of GetGeofenceEvents.
        package struct Parameters: ControlParameters {
            /// Start of the range, inclusive; absent: unbounded.
            package var from: String?
            /// End of the range, inclusive; absent: unbounded.
            package var to: String?

            /// Optional members default to absent.
            package init(
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
            package static let names = CodingKeys.allCases.map(\.rawValue)
        }

        /// Result of GetGeofenceEvents.
        package struct Result: Codable, Sendable, Equatable {
            /// The crossings.
            package var events: [GeofenceEvent]

            /// Memberwise initialiser.
            package init(
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
