internal import Base

/// The protocol on one connection, from CONNECT to its end: one publication at a time. Pure: the owner carries bytes and
/// time to it, and sends what is in `output`.
///
/// An answer that comes too late could be taken for another's, so whatever goes wrong ends the connection (`isOver`).
struct MQTTConnection: Sendable {
    /// Seconds after the acknowledgement that a message may take to come back.
    static let echoPatience = 10.0
    /// Seconds that the broker may take to answer a ping.
    static let pingPatience = 20.0

    private enum Phase: Equatable {
        /// CONNECT is written, CONNACK has not come.
        case connecting
        case open
        /// Why, if not by `leave`.
        case over(String?)
    }

    /// The publication under way.
    private struct Exchange {
        let publication: MQTTPublication
        /// When the publication is given up.
        var deadline: BootInstant
        /// Packet identifier of PUBLISH.
        let id: UInt16
        /// Packet identifier of SUBSCRIBE, if the message is to come back.
        let subscriptionID: UInt16
        var stage = Stage.waiting
    }

    private enum Stage: Equatable {
        /// For CONNACK.
        case waiting
        case subscribing
        /// For PUBACK.
        case publishing(echo: MQTTAnswer.Echo)
        /// Acknowledged with this; for the message itself.
        case echoing(MQTTAnswer)
    }

    private let version: MQTTVersion
    /// What the owner listens to, and with which packet identifier it subscribes to that; nil: nothing.
    private let heeded: (topic: String, id: UInt16)?
    /// The will is published in any case.
    private let leavesWithWill: Bool
    private var phase = Phase.connecting
    private var exchange: Exchange?
    private var decoder: MQTTDecoder
    private var pulse: MQTTPulse
    private var limits = MQTTProperties()
    private var ids: MQTTPacketIDs
    private(set) var output = MQTTOutput()
    /// What is being read came when the broker had the whole publication.
    private var hasAll = false
    /// The broker has said something.
    private(set) var hasHeard = false
    /// The broker has accepted the connection.
    private(set) var isAccepted = false
    /// The latest payload on the topic that the owner listens to, which the owner has yet to take.
    private var heardPayload: [UInt8]?

    /// - Parameters:
    ///   - heededTopic: listened to for as long as the connection lasts; a broker that refuses that loses nothing but this. nil:
    ///     none.
    ///   - leavesWithWill: the will is published also when `leave` ends the connection.
    ///   - random: for the packet ids.
    ///   - now: CONNECT can be sent.
    init(
        _ connect: MQTTConnect, heeding heededTopic: String? = nil, leavesWithWill: Bool = false,
        using random: inout some RandomNumberGenerator, now: BootInstant
    ) {
        version = connect.version
        self.leavesWithWill = leavesWithWill
        var ids = MQTTPacketIDs(using: &random)
        heeded = heededTopic.map { ($0, ids.next(using: &random)) }
        self.ids = ids
        decoder = MQTTDecoder(version: connect.version)
        pulse = MQTTPulse(keepAlive: connect.keepAlive, now: now)
        if let bytes = MQTTPacket.connect(connect).encoded(for: version) {
            output.append(bytes)
        } else {
            phase = .over("the client id, user name, password or will is longer than the protocol allows")
        }
    }

    /// The connection serves no more: to be closed.
    var isOver: Bool { if case .over = phase { true } else { false } }

    /// Which acknowledgement, that cannot be one, has ended the connection.
    private(set) var strayWords: String?

    /// The connection ends with a good-bye, which stands in the output.
    var isTakingLeave: Bool { phase == .over(nil) }

    /// Why it is over, if not by `leave`.
    var farewell: String? { if case .over(let reason) = phase { reason } else { nil } }

    /// Part of the publication has gone out, so the broker may have all of it.
    var wasSent: Bool { output.hasBegunPublication }

    /// When `expire` must be called at the latest; nil: never.
    var due: BootInstant? {
        guard !isOver else { return nil }
        return [exchange?.deadline, phase == .open ? pulse.due : nil].compactMap(\.self).min()
    }

    /// Begins a publication; there must be none under way.
    mutating func begin(
        _ publication: MQTTPublication, deadline: BootInstant, using random: inout some RandomNumberGenerator,
        now: BootInstant
    ) -> MQTTOutcome? {
        exchange = Exchange(
            publication: publication, deadline: deadline, id: ids.next(using: &random),
            subscriptionID: ids.next(using: &random))
        output.forgetPublication()
        switch phase {
        case .connecting: return nil
        case .open: return proceed(now: now)
        case .over(let reason): return fail(reason ?? "the connection is closed")
        }
    }

    /// Bytes from the broker.
    ///
    /// - Parameter unacknowledged: bytes of ours that the broker's machine had not acknowledged when these had come. Whoever
    ///   answers a message has received it.
    mutating func receive(
        _ bytes: some Sequence<UInt8>, unacknowledged: Int = 0, now: BootInstant
    ) -> MQTTOutcome? {
        guard !isOver else { return nil }
        hasHeard = true
        hasAll = output.hasDeliveredPublication(unacknowledged: unacknowledged)
        decoder.append(bytes)
        var outcome: MQTTOutcome?
        do {
            // What follows an answer has its own say about the connection.
            while !isOver, let packet = try decoder.next() {
                outcome = try handle(packet, now: now) ?? outcome
            }
            return outcome
        } catch {
            return fail("the broker does not speak MQTT: " + error.text) ?? outcome
        }
    }

    /// Takes note that so many bytes of the output have gone out.
    mutating func wrote(_ count: Int, now: BootInstant) {
        output.wrote(count)
        pulse.wrote(now: now)
    }

    /// The connection has ended by itself.
    mutating func close(_ message: String) -> MQTTOutcome? {
        isOver ? nil : fail(message)
    }

    /// Does what is due at this moment.
    mutating func expire(now: BootInstant) -> MQTTOutcome? {
        guard !isOver else { return nil }
        if let exchange, exchange.deadline <= now { return giveUp() }
        guard phase == .open else { return nil }
        switch pulse.beat(now: now) {
        case .none: break
        case .ping: if let ping = MQTTPacket.ping.encoded(for: version) { output.append(ping) }
        case .dead: return fail("the connection is dead: the broker has not answered a ping", isTimeout: true)
        }
        return nil
    }

    /// Sends DISCONNECT, so that the broker discards the will, or publishes it where it is to.
    mutating func leave() {
        let parting = MQTTPacket.disconnect(publishingWill: leavesWithWill)
        if phase == .open, let bytes = parting.encoded(for: version) { output.append(bytes) }
        phase = .over(nil)
    }

    /// What has come last on the topic that the owner listens to, once.
    mutating func takeHeard() -> [UInt8]? { heardPayload.take() }

    // MARK: Packets

    private mutating func handle(
        _ packet: MQTTInbound, now: BootInstant
    ) throws(MQTTViolation) -> MQTTOutcome? {
        switch (packet, phase) {
        case (.connack(let connack), .connecting): return connected(connack, now: now)
        case (.pong, .open):
            pulse.answered()
            return nil
        case (.puback(let id, let code, let reason), .open):
            guard let exchange, id == exchange.id, case .publishing(let echo) = exchange.stage else {
                return stray("the broker sent PUBACK for a message that was not sent")
            }
            guard hasAll else { return stray("the broker sent PUBACK before it had the message") }
            return acknowledged(answer(.puback, code, reason, echo: echo), now: now)
        case (.suback(let id, _), .open) where id == heeded?.id: return nil
        case (.suback(let id, let code), .open):
            guard let exchange, id == exchange.subscriptionID, exchange.stage == .subscribing else {
                throw MQTTViolation("SUBACK for a subscription that was not made")
            }
            return publish(echo: code < 128 ? .missing : .refused(code), now: now)
        case (.publish(let message), .open): return heard(message)
        case (.disconnect(let code, let properties), _):
            let words = properties.reason ?? properties.reference
            phase = .over("the broker has ended the connection: " + MQTTCode.words(code, words))
            return exchange == nil ? nil : end(answer(.disconnect, code, words))
        case (.puback, _): return stray("the broker sent PUBACK before the connection was open")
        case (.connack, _), (.pong, _), (.suback, _), (.publish, _):
            throw MQTTViolation("a packet comes out of turn")
        }
    }

    private mutating func connected(_ connack: MQTTConnack, now: BootInstant) -> MQTTOutcome? {
        var code = connack.code
        // What accepts MQTT 5 like this would take its fields for the message.
        if version == .v5, code == 0, connack.properties == nil { code = MQTTCode.unsupportedVersion }
        guard code == 0 else {
            let words = connack.properties?.reason ?? connack.properties?.reference
            phase = .over("the broker refuses the connection: " + MQTTCode.words(code, words))
            return end(answer(.connack, code, words))
        }
        phase = .open
        isAccepted = true
        limits = connack.properties ?? MQTTProperties()
        pulse.opened(keepAlive: limits.keepAlive, now: now)
        heed()
        return exchange == nil ? nil : proceed(now: now)
    }

    /// Subscribes to what the owner listens to. No publication waits for the answer.
    private mutating func heed() {
        guard let heeded,
            let bytes = MQTTPacket.subscribe(topic: heeded.topic, id: heeded.id).encoded(for: version),
            bytes.count <= limits.maximumPacket ?? .max
        else { return }
        output.append(bytes)
    }

    /// Sends what the publication begins with.
    private mutating func proceed(now: BootInstant) -> MQTTOutcome? {
        if exchange?.publication.connectsOnly == true { return end(answer(.connack, MQTTCode.success, nil)) }
        guard let exchange, exchange.publication.expectsEcho else { return publish(echo: .unasked, now: now) }
        let packet = MQTTPacket.subscribe(
            topic: exchange.publication.message.topic, id: exchange.subscriptionID)
        guard exchange.publication.message.hasValidTopic, let bytes = packet.encoded(for: version) else {
            return end(answer(.client, MQTTCode.invalidTopic, nil))
        }
        guard bytes.count <= limits.maximumPacket ?? .max else { return refuse(MQTTCode.packetTooLarge) }
        output.append(bytes)
        self.exchange?.stage = .subscribing
        return nil
    }

    private mutating func publish(echo: MQTTAnswer.Echo, now: BootInstant) -> MQTTOutcome? {
        guard let exchange else { return nil }
        let message = exchange.publication.message
        if limits.maximumQoS == 0 { return refuse(MQTTCode.unsupportedQoS) }
        guard message.hasValidTopic else { return end(answer(.client, MQTTCode.invalidTopic, nil)) }
        guard let bytes = MQTTPacket.publish(message, id: exchange.id).encoded(for: version),
            bytes.count <= limits.maximumPacket ?? .max
        else { return refuse(MQTTCode.packetTooLarge) }
        output.appendPublication(bytes)
        self.exchange?.stage = .publishing(echo: echo)
        return nil
    }

    private mutating func acknowledged(_ answer: MQTTAnswer, now: BootInstant) -> MQTTOutcome? {
        guard answer.code == 0, answer.echo == .missing, let deadline = exchange?.deadline else {
            return end(answer)
        }
        exchange?.deadline = min(deadline, now.advanced(bySeconds: Self.echoPatience))
        exchange?.stage = .echoing(answer)
        return nil
    }

    /// A broker may forward a message before it acknowledges it.
    private mutating func heard(_ message: MQTTMessage) -> MQTTOutcome? {
        if message.topic == heeded?.topic { heardPayload = message.payload }
        guard let sent = exchange?.publication.message, message.payload == sent.payload else { return nil }
        let echo = message.topic == sent.topic ? MQTTAnswer.Echo.received : .renamed(message.topic)
        switch exchange?.stage {
        case .publishing(.missing): exchange?.stage = .publishing(echo: echo)
        case .echoing(var answer):
            answer.echo = echo
            return end(answer)
        case .waiting, .subscribing, .publishing, nil: break
        }
        return nil
    }

    // MARK: Ends

    private mutating func giveUp() -> MQTTOutcome? {
        switch exchange?.stage {
        case .echoing(let answer): return end(answer)
        case .waiting, nil: return fail("the broker has not answered CONNECT in time", isTimeout: true)
        case .subscribing: return fail("the broker has not answered SUBSCRIBE in time", isTimeout: true)
        case .publishing: return fail("the broker has not acknowledged the message in time", isTimeout: true)
        }
    }

    /// The broker said at the beginning that it does not take this. It may say otherwise on another connection.
    private mutating func refuse(_ code: UInt8) -> MQTTOutcome {
        leave()
        return end(answer(.client, code, nil))
    }

    private mutating func end(_ answer: MQTTAnswer) -> MQTTOutcome {
        exchange = nil
        return .answer(answer)
    }

    private mutating func fail(_ message: String, isTimeout: Bool = false) -> MQTTOutcome? {
        phase = .over(message)
        guard exchange != nil else { return nil }
        exchange = nil
        return .failure(
            TransportFailure(kind: .network, message: message, wasSent: wasSent, isTimeout: isTimeout))
    }

    /// An acknowledgement that cannot be one: what the broker says here cannot be relied on.
    private mutating func stray(_ words: String) -> MQTTOutcome? {
        phase = .over(words)
        strayWords = words
        guard exchange != nil else { return nil }
        exchange = nil
        return .unmatched(words)
    }

    private func answer(
        _ source: MQTTAnswer.Source, _ code: UInt8, _ reason: String?, echo: MQTTAnswer.Echo = .unasked
    ) -> MQTTAnswer {
        MQTTAnswer(source: source, code: code, version: version, reason: reason, echo: echo)
    }
}
