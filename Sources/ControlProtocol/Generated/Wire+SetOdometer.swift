// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The vehicle's own odometer says so: forwards or backwards, 0 to 10000000000 metres. Durable before it
    /// answers, and recorded as an event. Needs admin rights.
    package enum SetOdometer: ControlMethod {
        package static let name = "org.beekond.Tracker.SetOdometer"

        package struct Parameters: ControlParameters {
            package var odometerMeters: Int

            package init(odometerMeters: Int) {
                self.odometerMeters = odometerMeters
            }

            private enum CodingKeys: String, CodingKey {
                case odometerMeters = "odometer_meters"
            }

            package static let names = ["odometer_meters"]
        }
    }
}
