// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    package enum GetStatus: ControlMethod {
        package static let name = "org.beekond.Tracker.GetStatus"

        package struct Result: Codable, Sendable, Equatable {
            package var status: Status

            package init(status: Status) {
                self.status = status
            }
        }
    }
}
