// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// What the vehicle does: moving or stationary. It holds for the next settled fix, which is admitted as
    /// when motion changes by itself, and detection goes on from there. Kept when it answers, until that fix
    /// or a stop. NotTracking without a session.
    package enum SetMotion: ControlMethod {
        package static let name = "org.beekond.Tracker.SetMotion"

        package struct Parameters: ControlParameters {
            package var motion: String

            package init(motion: String) {
                self.motion = motion
            }

            package static let names = ["motion"]
        }
    }
}
