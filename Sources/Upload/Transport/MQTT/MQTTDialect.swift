internal import Base
internal import DaemonConfiguration

/// Which version is spoken with a broker: 5, and 3.1.1 only where 5 is refused, unless the settings say which. Pure.
///
/// Brokers without MQTT 5 say so (mosquitto before 1.6: CONNACK of 3.1.1 with code 1; later ones, 132), accept in the shape
/// of 3.1.1, close the connection without a word (RabbitMQ before 3.13, which cannot parse it), or are silent (amqtt). A
/// broker that is just being stopped or overloaded does the last two as well, so such a guess counts only when 3.1.1 is
/// accepted on the next connection, and not for long; and never where 5 was ever accepted, because in 3.1.1 a message that is
/// denied is acknowledged.
struct MQTTDialect: Sendable {
    /// Seconds after which 5 is tried again with a broker that has refused it: it may have been replaced.
    static let refusalMemory = 86_400.0
    /// Seconds after which 5 is tried again where the refusal was a guess.
    static let guessMemory = 3600.0
    /// Connections in a row with which a broker shows that 5 silences it.
    private static let silenceLimit = 2

    private let wanted: Settings.MQTTVersion
    /// 5 was accepted at this url, in this run or in another.
    private(set) var knowsNew: Bool
    /// 3.1.1 is spoken until then.
    private var oldUntil: BootInstant?
    /// What is being tried in the place of 5; the seconds to remember it if it is accepted.
    private var trial: Double?
    /// Connections in a row that were open, and on which nothing was heard after a CONNECT of 5.
    private var silences = 0

    init(wanted: Settings.MQTTVersion = .auto, knowsNew: Bool = false) {
        self.wanted = wanted
        self.knowsNew = knowsNew
    }

    /// For the next connection.
    func version(now: BootInstant) -> MQTTVersion {
        switch wanted {
        case .five: return .v5
        case .old: return .v311
        case .auto:
            if trial != nil || isSilenced { return .v311 }
            if let oldUntil, now < oldUntil { return .v311 }
            return .v5
        }
    }

    private var isSilenced: Bool { silences >= Self.silenceLimit && !knowsNew }

    /// A connection was accepted.
    mutating func accepted(_ version: MQTTVersion, now: BootInstant) {
        switch version {
        case .v5: knowsNew = true
        case .v311:
            if let seconds = trial ?? (isSilenced ? Self.guessMemory : nil) {
                oldUntil = now.advanced(bySeconds: seconds)
            }
        }
        (trial, silences) = (nil, 0)
    }

    /// Nothing was heard on a connection that was open, until the time was up.
    mutating func silent(_ version: MQTTVersion) {
        silences = version == .v5 ? silences + 1 : 0
    }

    /// Something was heard, though the connection was not accepted.
    mutating func heard() {
        silences = 0
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
        guard wanted == .auto else { return false }
        guard version == .v5 else {
            (oldUntil, silences) = (nil, 0)
            return false
        }
        switch outcome {
        case .answer(let answer):
            silences = 0
            // 1 is what 3.1.1 says. In MQTT 5 it does not exist.
            let isVersion = answer.code == 1 || answer.code == MQTTCode.unsupportedVersion
            if answer.source == .connack, isVersion { trial = Self.refusalMemory }
        case .failure: if wasHungUp, !knowsNew { trial = Self.guessMemory }
        case .cancelled, .unmatched: break
        }
        return trial != nil
    }
}
