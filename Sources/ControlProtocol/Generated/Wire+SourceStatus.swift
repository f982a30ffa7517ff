// Written by etc/build/methods (make manuals) from org.beekond.Tracker.varlink. Edit that, not this.
extension Wire {
    /// gpsd and the receiver. mode is that of the last epoch: 0 or 1 no fix, 2 without altitude, 3 full.
    /// Counts are since the daemon started; reconnects leaves out the first connection; rollovers and
    /// refused_times count clock faults of the receiver. While its fixes are refused for their time,
    /// refused_time is the receiver's time and refused_clock that of this machine's clock at that moment.
    /// repeated counts fixes that told an instant again, or one at most 60 s before the newest: they are not
    /// used.
    package struct SourceStatus: Codable, Sendable, Equatable {
        package var health: SourceHealth
        package var device: String?
        package var mode: Int
        package var satellitesUsed: Int?
        package var satellitesVisible: Int?
        package var timeSettled: Bool
        package var fixes: Int
        package var reconnects: Int
        package var rollovers: Int
        package var refusedTimes: Int
        package var refusedTime: String?
        package var refusedClock: String?
        package var repeated: Int?

        package init(
            health: SourceHealth, device: String? = nil, mode: Int, satellitesUsed: Int? = nil,
            satellitesVisible: Int? = nil, timeSettled: Bool, fixes: Int, reconnects: Int, rollovers: Int,
            refusedTimes: Int, refusedTime: String? = nil, refusedClock: String? = nil, repeated: Int? = nil
        ) {
            self.health = health
            self.device = device
            self.mode = mode
            self.satellitesUsed = satellitesUsed
            self.satellitesVisible = satellitesVisible
            self.timeSettled = timeSettled
            self.fixes = fixes
            self.reconnects = reconnects
            self.rollovers = rollovers
            self.refusedTimes = refusedTimes
            self.refusedTime = refusedTime
            self.refusedClock = refusedClock
            self.repeated = repeated
        }

        private enum CodingKeys: String, CodingKey {
            case health
            case device
            case mode
            case satellitesUsed = "satellites_used"
            case satellitesVisible = "satellites_visible"
            case timeSettled = "time_settled"
            case fixes
            case reconnects
            case rollovers
            case refusedTimes = "refused_times"
            case refusedTime = "refused_time"
            case refusedClock = "refused_clock"
            case repeated
        }
    }
}
