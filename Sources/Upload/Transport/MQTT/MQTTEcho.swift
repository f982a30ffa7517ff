package import Base
package import DaemonConfiguration
package import Linux

/// A test of a destination whose url names a broker: publishes a message, and waits for it to come back.
package enum MQTTEcho {
    /// What has come of the test.
    package struct Finding: Equatable, Sendable {
        /// What the answer would mean for a batch; nil without an answer.
        package var verdict: Verdict?
        /// The message came back, under its own topic, so a subscriber with the same login would have it.
        package var hasReturned: Bool
        /// The topic under which the message came back, where it is another.
        package var renamed: String?
        /// What happened, for a line of text.
        package var words: String
        /// What to do; nil when there is nothing to do, or nothing known.
        package var advice: String?
        /// The broker's certificate is not valid yet: this machine's clock is to blame.
        package var isClock = false
    }

    /// Connects under a name of its own, so that a connection of the uploader is left alone, with a full TLS handshake and
    /// with the last will of the uploader, which a broker may object to; subscribes to the topic of the request, publishes it
    /// at QoS 1, and takes leave, so that the will is not published. Whoever else subscribes there gets the message, too.
    ///
    /// Blocks for `timeout_seconds` at most, and for `MQTTConnection.echoPatience` after the acknowledgement.
    ///
    /// - Parameters:
    ///   - destination: the name of the table `sync`.
    ///   - wakeup: makes `isCancelled` be asked at once.
    /// - Returns: nil when it was cancelled, when the url names no broker, or when libcurl cannot work here.
    package static func run(
        _ request: Request, to sync: Settings.Sync, installID: String, destination: String,
        at time: Timestamp, wakeup: Wakeup, isCancelled: () -> Bool
    ) -> Finding? {
        let message = MQTTMessage(topic: request.topic ?? "", payload: request.body)
        let outcome = exchange(
            MQTTPublication(message, expectsEcho: true), with: sync, installID: installID,
            destination: destination, at: time, wakeup: wakeup, isCancelled: isCancelled)
        return outcome.flatMap { Finding($0, acceptsUnsubscribed: sync.mqtt?.acceptUnsubscribed ?? false) }
    }

    /// Connects as `run` does, logs in, and takes leave; publishes nothing and subscribes to nothing.
    ///
    /// Blocks for `timeout_seconds` at most.
    ///
    /// - Parameters: as of `run`.
    /// - Returns: as `run` does; accepted means that the broker has let this client in.
    package static func greet(
        _ sync: Settings.Sync, installID: String, destination: String, at time: Timestamp, wakeup: Wakeup,
        isCancelled: () -> Bool
    ) -> Finding? {
        let outcome = exchange(
            .nothing, with: sync, installID: installID, destination: destination, at: time, wakeup: wakeup,
            isCancelled: isCancelled)
        guard case .answer(let answer) = outcome, answer.source == .connack,
            answer.code == MQTTCode.success
        else { return outcome.flatMap { Finding($0, acceptsUnsubscribed: false) } }
        return Finding(verdict: .accepted, hasReturned: false, words: "the broker accepts the connection")
    }

    private static func exchange(
        _ publication: MQTTPublication, with sync: Settings.Sync, installID: String, destination: String,
        at time: Timestamp, wakeup: Wakeup, isCancelled: () -> Bool
    ) -> MQTTOutcome? {
        let name = OwnTracksMQTT.clientID(installID: installID, destination: destination) + "-test"
        guard let options = MQTTOptions(sync, clientID: name, connectedAt: time), var client = MQTTClient()
        else { return nil }
        let outcome = client.publish(publication, options, wakeup: wakeup, isCancelled: isCancelled)
        client.disconnect()
        guard case .failure(let failure) = outcome, let hint = hint(failure, options) else { return outcome }
        return .failure(
            TransportFailure(
                kind: failure.kind, message: failure.message + "; " + hint, wasSent: failure.wasSent,
                isTimeout: failure.isTimeout, isTLS: failure.isTLS))
    }

    /// What may have silenced a broker that was reached.
    private static func hint(_ failure: TransportFailure, _ options: MQTTOptions) -> String? {
        guard failure.kind == .network, !failure.isTLS else { return nil }
        if failure.isTimeout {
            return options.version == .auto
                ? "a broker that knows only MQTT 3.1.1 may be silent: mqtt_version = \"3.1.1\" speaks that"
                : nil
        }
        return options.will?.topic.contains(".") == true
            ? "some brokers, NATS among them, close the connection for a '.' in device_id or username" : nil
    }
}

extension MQTTEcho.Finding {
    init?(_ outcome: MQTTOutcome, acceptsUnsubscribed: Bool) {
        switch outcome {
        case .cancelled: return nil
        case .unmatched(let words): self.init(hasReturned: false, words: words)
        case .failure(let failure):
            self.init(hasReturned: false, words: failure.message, isClock: failure.kind == .clock)
        case .answer(let answer):
            self.init(
                verdict: OwnTracksMQTT.judge(answer, acceptsUnsubscribed: acceptsUnsubscribed).verdict,
                hasReturned: answer.echo == .received, words: OwnTracksMQTT.words(answer),
                advice: OwnTracksMQTT.advice(answer))
            if case .renamed(let topic) = answer.echo { renamed = topic }
        }
    }
}
