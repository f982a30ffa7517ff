// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// The gate since the daemon started. admitted counts stored fixes; waiting or refused ones are counted
    /// in StoreStatus. too_soon: dropped because of the interval; too_near: of the distance; paused: while
    /// stationary. unsettled: fixes that never came to the gate, because their time was not trusted yet;
    /// not_tracked: because nothing was tracked.
    package struct GateStatus: Codable, Sendable, Equatable {
        package var admitted: Int
        package var tooSoon: Int
        package var tooNear: Int
        package var paused: Int
        package var motion: String
        package var unsettled: Int?
        package var notTracked: Int?

        package init(
            admitted: Int, tooSoon: Int, tooNear: Int, paused: Int, motion: String, unsettled: Int? = nil,
            notTracked: Int? = nil
        ) {
            self.admitted = admitted
            self.tooSoon = tooSoon
            self.tooNear = tooNear
            self.paused = paused
            self.motion = motion
            self.unsettled = unsettled
            self.notTracked = notTracked
        }

        private enum CodingKeys: String, CodingKey {
            case admitted
            case tooSoon = "too_soon"
            case tooNear = "too_near"
            case paused
            case motion
            case unsettled
            case notTracked = "not_tracked"
        }
    }
}
