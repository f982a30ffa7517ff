package import Base

/// What OwnTracks over MQTT says to a broker besides its messages, and what the broker's answers mean.
package enum OwnTracksMQTT {
    /// What the broker publishes when the connection breaks.
    ///
    /// - Parameters:
    ///   - topic: that of the locations.
    ///   - time: of the connection, by the best clock known.
    package static func will(topic: String, at time: Timestamp) -> MQTTMessage {
        MQTTMessage(topic: topic, payload: Array("{\"_type\":\"lwt\",\"tst\":\(time.wholeSeconds)}".utf8))
    }

    /// Two clients with one id would end each other's connections, so each destination has its own.
    ///
    /// - Parameters:
    ///   - installID: of this installation.
    ///   - destination: its name.
    package static func clientID(installID: String, destination: String) -> String {
        "beekond-\(installID)" + (destination == "main" ? "" : "-" + destination)
    }

    /// What an answer means.
    ///
    /// - Parameter acceptsUnsubscribed: a message that nobody has subscribed to is delivered all the same.
    package static func judge(_ answer: MQTTAnswer, acceptsUnsubscribed: Bool) -> Judgement {
        var judgement = Judgement(status: Int(answer.code))
        judgement.verdict = verdict(answer, acceptsUnsubscribed)
        judgement.broker = answer
        return judgement
    }

    private static func verdict(_ answer: MQTTAnswer, _ acceptsUnsubscribed: Bool) -> Verdict {
        switch (answer.source, answer.version) {
        case (.puback, _):
            switch answer.code {
            case MQTTCode.success: .accepted
            case MQTTCode.nobodySubscribes: acceptsUnsubscribed ? .accepted : .transient(retryAfter: nil)
            case MQTTCode.notAuthorized: .unauthorised
            default: .permanent
            }
        case (.connack, .v311):
            switch answer.code {
            case 3: .transient(retryAfter: nil)
            case 4, 5: .unauthorised
            default: .permanent
            }
        case (.connack, .v5):
            switch answer.code {
            // Unspecified, unavailable, busy, quota, rate.
            case 128, 136, 137, 151, 159: .transient(retryAfter: nil)
            case 134, MQTTCode.notAuthorized: .unauthorised
            default: .permanent
            }
        case (.disconnect, _):
            switch answer.code {
            // Its objection would be the same next time, or it refers to another server.
            case 129, 130, 131, 144, 149, 153...157: .permanent
            case MQTTCode.notAuthorized: .unauthorised
            // Shutting down, taken over, too fast, by an administrator …
            default: .transient(retryAfter: nil)
            }
        case (.client, _): .permanent
        }
    }

    /// What happened, in words of the standard, for a log line; the broker's own reason is added.
    package static func words(_ answer: MQTTAnswer) -> String {
        let code = MQTTCode.words(answer.code, answer.reason)
        return switch answer.source {
        case .connack: "the broker refuses the connection: " + code
        case .puback where answer.code == MQTTCode.success: "the broker has the message"
        case .puback where answer.code == MQTTCode.nobodySubscribes:
            "the broker has dropped the message: " + code
        case .puback: "the broker refuses the message: " + code
        case .disconnect: "the broker has ended the connection: " + code
        case .client: "the broker cannot take the message: " + code
        }
    }

    /// The likely cause, and what to do, when the broker closes the connection without an answer, time and again.
    package static let closed =
        "The broker closes the connection without an answer, time and again: see its log, and check mqtt or mqtts and the "
        + "port in url."

    private static func advice(_ echo: MQTTAnswer.Echo) -> String? {
        switch echo {
        case .unasked, .received: nil
        case .renamed:
            """
            whoever subscribes there takes it for another vehicle; let device_id and username have letters, digits, _ and \
            - alone, or tell the subscribers
            """
        case .refused, .missing:
            """
            the broker's access list may let this user write to the topic and not read there, which is enough; check \
            with the subscriber that is to have it
            """
        }
    }

    /// The likely cause, and what to do; nil when nothing is wrong, or nothing is known.
    package static func advice(_ answer: MQTTAnswer) -> String? {
        if case .renamed = answer.echo { return advice(answer.echo) }
        return switch (answer.source, answer.code) {
        case (.puback, MQTTCode.success) where answer.version == .v311:
            """
            the broker speaks MQTT 3.1.1 only, which acknowledges also what an access list drops or nobody \
            subscribes to; check with a subscriber that messages arrive, or use a broker with MQTT 5
            """
        case (.puback, MQTTCode.success): advice(answer.echo)
        case (.puback, MQTTCode.nobodySubscribes):
            """
            no client subscribes to this topic, so the broker keeps nothing; start the recorder with a fixed \
            --clientid, so that the broker queues for it, or set accept_unsubscribed = true
            """
        case (.puback, MQTTCode.notAuthorized), (.disconnect, MQTTCode.notAuthorized):
            "the broker's access list does not let this user write to the topic; check acl_file, username and device_id"
        case (.connack, 4), (.connack, 5), (.connack, 134), (.connack, MQTTCode.notAuthorized):
            """
            the broker does not know this user name and password, or does not let this user in; check username and \
            password, client_certificate where the broker goes by that, and the broker's access list
            """
        case (.connack, 1), (.connack, MQTTCode.unsupportedVersion):
            "the broker speaks neither MQTT 5 nor MQTT 3.1.1"
        case (.connack, 2), (.connack, 133):
            "the broker expects client ids of another kind; see its log for what it allows"
        case (.connack, 138): "the broker has banned this client; ask its administrator"
        case (_, 142):
            "another client connects with the same id: if this system was copied from another one, give it an identity of its own"
        case (_, MQTTCode.packetTooLarge):
            "the message is longer than the broker allows; raise its max_packet_size or message_size_limit"
        case (_, 151): "the broker has no room left for this client; see its quotas and its log"
        case (_, MQTTCode.unsupportedQoS):
            "the broker cannot acknowledge messages (QoS 1), so nothing would be safe there"
        case (_, 156), (_, 157): "the broker has moved; put its new address into url"
        case (_, MQTTCode.invalidTopic), (_, 143):
            "the broker does not take this topic; check username and device_id"
        default: nil
        }
    }
}
