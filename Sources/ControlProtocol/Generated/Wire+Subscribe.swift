// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// Requires more. kinds filters: location, geofence_event, vehicle_event, state, source, sync, auth,
    /// http, command; all when absent. The first replies describe the current situation: one each of state,
    /// source, sync and auth, and the latest location.
    package enum Subscribe: ControlMethod {
        package static let name = "org.beekond.Tracker.Subscribe"

        package struct Parameters: ControlParameters {
            package var kinds: [String]?

            package init(kinds: [String]? = nil) {
                self.kinds = kinds
            }

            package static let names = ["kinds"]
        }

        package struct Result: Codable, Sendable, Equatable {
            package var event: Event

            package init(event: Event) {
                self.event = event
            }
        }
    }
}
