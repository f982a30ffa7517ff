// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The next fix, independent of tracking; null when none came in time. timeout_seconds is 0 to 3600 (15
    /// when absent); max_age_seconds (0): a fix heard no longer ago will do; accuracy_meters: only a fix at
    /// least as accurate will. motion, activity and quality are those of the location stored from the same
    /// fix, if any. LocationUnavailable at once when gpsd cannot be reached or has no device.
    package enum GetCurrentLocation: ControlMethod {
        package static let name = "org.beekond.Tracker.GetCurrentLocation"

        package struct Parameters: ControlParameters {
            package var timeoutSeconds: Double?
            package var maxAgeSeconds: Double?
            package var accuracyMeters: Double?

            package init(
                timeoutSeconds: Double? = nil, maxAgeSeconds: Double? = nil, accuracyMeters: Double? = nil
            ) {
                self.timeoutSeconds = timeoutSeconds
                self.maxAgeSeconds = maxAgeSeconds
                self.accuracyMeters = accuracyMeters
            }

            private enum CodingKeys: String, CodingKey {
                case timeoutSeconds = "timeout_seconds"
                case maxAgeSeconds = "max_age_seconds"
                case accuracyMeters = "accuracy_meters"
            }

            package static let names = ["timeout_seconds", "max_age_seconds", "accuracy_meters"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var location: Location?

            package init(location: Location? = nil) {
                self.location = location
            }
        }
    }
}
