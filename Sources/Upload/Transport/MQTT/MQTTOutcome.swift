/// What one publication came to.
package enum MQTTOutcome: Equatable, Sendable {
    /// The broker has answered, or what it said before makes asking useless.
    case answer(MQTTAnswer)
    /// No answer.
    case failure(TransportFailure)
    /// An acknowledgement has come that cannot be the one for this message: nothing of it is believed, and the connection is
    /// closed. The words are for the log.
    case unmatched(String)
    /// The caller ended it.
    case cancelled

    /// The outcome, after some of the publication went out on an earlier connection.
    var afterEarlierBytes: MQTTOutcome {
        guard case .failure(let failure) = self else { return self }
        return .failure(
            TransportFailure(
                kind: failure.kind, message: failure.message, wasSent: true, isTimeout: failure.isTimeout))
    }
}

/// A code from the broker, and where it stood. What it means is for the format to say.
package struct MQTTAnswer: Equatable, Sendable {
    /// Where the code stood.
    package enum Source: Equatable, Sendable {
        /// An answer that refuses the connection.
        case connack
        /// The answer to the publication.
        case puback
        /// An answer that ends the connection in place of a PUBACK.
        case disconnect
        /// The client itself: the broker takes nothing of this kind, so nothing was sent.
        case client
    }

    /// Whether the message came back.
    package enum Echo: Equatable, Sendable {
        /// No echo was asked for, or the publication was not acknowledged.
        case unasked
        case received
        /// Under another topic.
        case renamed(String)
        /// The broker refused the subscription, with this code.
        case refused(UInt8)
        /// Not within `MQTTConnection.echoPatience`.
        case missing
    }

    package var source: Source
    /// MQTT 5.0 section 2.4, for a CONNACK of 3.1.1 its section 3.2.2.3. 0 is success.
    package var code: UInt8
    /// Version of the connection: in 3.1.1 a PUBACK has no code, and 0 says little.
    package var version: MQTTVersion
    /// Why, in the broker's words; one line of at most 200 characters.
    package var reason: String?
    package var echo: Echo

    init(
        source: Source, code: UInt8, version: MQTTVersion, reason: String? = nil, echo: Echo = .unasked
    ) {
        self.source = source
        self.code = code
        self.version = version
        self.reason = reason
        self.echo = echo
    }
}
