/// When a fix is doubtful.
public struct QualityLimits: Equatable, Sendable {
    /// Metres of accuracy.
    public var accuracy: Double
    /// Metres per second from the fix before.
    public var speed: Double

    /// The defaults are those of the configuration.
    public init(accuracy: Double = 100, speed: Double = 100) {
        self.accuracy = accuracy
        self.speed = speed
    }
}

/// Tells doubtful fixes. Pure, and it drops none.
struct QualityCheck: Sendable {
    private var last: (time: Timestamp, coordinate: Coordinate, accuracy: Double)?

    /// Takes the next settled fix. Of two things that are doubtful the speed is told.
    ///
    /// An unknown accuracy is not low; for the speed it counts as it does for motion.
    mutating func judge(_ fix: Fix, _ limits: QualityLimits) -> Quality? {
        let accuracy = fix.accuracy ?? Motion.assumedAccuracy
        defer { last = (fix.time, fix.coordinate, accuracy) }
        if let last {
            let seconds = fix.time.seconds(since: last.time)
            let metres = last.coordinate.distance(to: fix.coordinate) - last.accuracy - accuracy
            if seconds > 0, metres / seconds > limits.speed { return .implausibleSpeed }
        }
        return (fix.accuracy ?? 0) > limits.accuracy ? .lowAccuracy : nil
    }
}
