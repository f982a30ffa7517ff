internal import Base

/// Keeps a connection alive, and notices that it is dead (MQTT 5.0 section 3.1.2.10). Pure.
struct MQTTPulse: Sendable {
    enum Beat: Equatable { case none, ping, dead }

    /// Part of the interval after which a ping goes out: it may be early, never late.
    private static let share = 0.9

    /// Seconds; 0 is off.
    private var keepAlive: Double
    private var lastSent: BootInstant
    /// When a ping that is under way must have been answered.
    private var answerDue: BootInstant?

    init(keepAlive: UInt16, now: BootInstant) {
        self.keepAlive = Double(keepAlive)
        lastSent = now
    }

    /// The next moment at which there may be something to do; nil: never.
    var due: BootInstant? {
        answerDue ?? (keepAlive > 0 ? lastSent.advanced(bySeconds: keepAlive * Self.share) : nil)
    }

    /// - Parameter keepAlive: the broker's, which goes before the client's.
    mutating func opened(keepAlive: UInt16?, now: BootInstant) {
        self.keepAlive = keepAlive.map { Double($0) } ?? self.keepAlive
        lastSent = now
    }

    mutating func wrote(now: BootInstant) {
        lastSent = now
    }

    /// The broker has answered a ping.
    mutating func answered() {
        answerDue = nil
    }

    /// What to do at this moment.
    mutating func beat(now: BootInstant) -> Beat {
        guard let due, due <= now else { return .none }
        if answerDue != nil { return .dead }
        answerDue = now.advanced(bySeconds: MQTTConnection.pingPatience)
        return .ping
    }
}
