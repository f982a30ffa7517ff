internal import Base

/// Which version is spoken with a broker: 5, and 3.1.1 only where 5 is refused. Pure.
///
/// Brokers without MQTT 5 say so (mosquitto before 1.6: CONNACK of 3.1.1 with code 1; later ones, 132), accept in the shape
/// of 3.1.1, or close the connection without a word (RabbitMQ before 3.13, which cannot parse it). A broker that is just
/// being stopped does the last as well, so such a guess counts only when 3.1.1 is accepted on the next connection, and not
/// for long.
struct MQTTDialect: Sendable {
    /// Seconds after which 5 is tried again with a broker that has refused it: it may have been replaced.
    static let refusalMemory = 86_400.0
    /// The same, where it was a guess.
    static let guessMemory = 3600.0

    /// 3.1.1 is spoken until then.
    private var oldUntil: BootInstant?
    /// What is being tried in the place of 5; the seconds to remember it if it is accepted.
    private var trial: Double?

    /// For the next connection.
    func version(now: BootInstant) -> MQTTVersion {
        if trial != nil { return .v311 }
        if let oldUntil, now < oldUntil { return .v311 }
        return .v5
    }

    /// A connection was accepted.
    mutating func accepted(_ version: MQTTVersion, now: BootInstant) {
        if version == .v311, let trial { oldUntil = now.advanced(bySeconds: trial) }
        trial = nil
    }

    /// The publication has ended. What was not accepted within it proves nothing: a broker may have been started again.
    mutating func settle() {
        trial = nil
    }

    /// How a connection ended that was not accepted.
    ///
    /// - Parameter wasHungUp: it was closed after CONNECT, without a word.
    /// - Returns: whether to try 3.1.1 at once, on another connection.
    mutating func refused(_ outcome: MQTTOutcome, by version: MQTTVersion, wasHungUp: Bool) -> Bool {
        trial = nil
        guard version == .v5 else {
            oldUntil = nil
            return false
        }
        switch outcome {
        case .answer(let answer):
            // 1 is what 3.1.1 says. In MQTT 5 it does not exist.
            let isVersion = answer.code == 1 || answer.code == MQTTCode.unsupportedVersion
            if answer.source == .connack, isVersion { trial = Self.refusalMemory }
        case .failure: if wasHungUp { trial = Self.guessMemory }
        case .cancelled, .unmatched: break
        }
        return trial != nil
    }
}
