internal import Base

/// When a fix is doubtful.
package struct QualityLimits: Equatable, Sendable {
    /// Metres; an accuracy worse than this is low.
    package var accuracy: Double
    /// Metres per second; a jump from the previous fix at a higher speed is implausible.
    package var speed: Double

    /// The default values match the configuration's.
    package init(accuracy: Double = 100, speed: Double = 100) {
        self.accuracy = accuracy
        self.speed = speed
    }
}

/// Flags doubtful fixes; drops none. Pure.
struct QualityCheck: Sendable {
    private var last: (time: Timestamp, coordinate: Coordinate, accuracy: Double)?

    /// Processes the next settled fix. If both accuracy and speed are doubtful, speed is reported.
    ///
    /// An unknown accuracy does not count as low; in the speed check it counts as `Motion.assumedAccuracy`.
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
