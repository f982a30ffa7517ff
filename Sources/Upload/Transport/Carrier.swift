package import Base
package import DaemonConfiguration
package import Linux

/// Takes requests to one destination, over HTTP or, where its url names a broker, over MQTT. One request at a time: it is
/// begun and then advanced until it has ended.
///
/// Confined to one thread.
package struct Carrier: ~Copyable {
    /// How far a request has got.
    package enum Progress: Equatable, Sendable {
        case underway
        case ended(Delivery)
    }

    private let http: any HTTPTransport
    private var matching = AnswerMatching()
    /// What is under way over HTTP.
    private var sent: (id: UUIDv7, format: Format, content: ShipmentKind)?
    /// nil until a broker is to have something.
    private var mqtt: MQTTClient?
    /// The latest request goes, or went, to a broker.
    private var isMQTT = false
    /// Version of beekond.
    private let version: String
    private let installID: String
    /// Names the connections of this destination to a broker.
    private let clientID: String
    private let memory: BrokerMemory
    private let random: RandomSource
    /// Where the broker is that the latest message went to.
    private var brokerURL = ""
    /// Where one is that is remembered to know MQTT 5.
    private var knownURL: String?

    /// - Parameters:
    ///   - version: that of beekond.
    ///   - destination: its name.
    ///   - memory: of its broker.
    package init(
        _ http: any HTTPTransport, version: String, installID: String, destination: String,
        memory: BrokerMemory = .none, random: RandomSource = RandomSource()
    ) {
        self.http = http
        self.version = version
        self.installID = installID
        clientID = OwnTracksMQTT.clientID(installID: installID, destination: destination)
        self.memory = memory
        self.random = random
    }

    /// Prepares a request; nothing is sent before the first `advance`. Cancels the one under way, if there is one.
    ///
    /// - Parameters:
    ///   - batch: which one it carries.
    ///   - authorization: replaces a header `Authorization` of the settings; nil leaves that one alone.
    ///   - content: what the request carries.
    ///   - time: the best clock known.
    package mutating func begin(
        _ request: Request, of batch: UUIDv7, to sync: Settings.Sync, authorization: String?,
        _ content: ShipmentKind = .rows, at time: Timestamp, now: BootInstant
    ) {
        cancel()
        guard let options = options(sync, at: time) else {
            mqtt?.disconnect()
            isMQTT = false
            http.begin(
                request.body,
                RequestFactory(sync, version: version).options(
                    for: request, of: batch, authorization: authorization),
                resumingAt: now)
            sent = (batch, request.format, content)
            return
        }
        // A topic that is missing is refused like any other that is not valid.
        publish(MQTTMessage(topic: request.topic ?? "", payload: request.body), options, now: now)
    }

    /// How a broker is reached; nil where the url names none.
    private func options(_ sync: Settings.Sync, at time: Timestamp) -> MQTTOptions? {
        var options = MQTTOptions(sync, clientID: clientID, connectedAt: time)
        guard sync.mqtt?.homeAssistant == true else { return options }
        // A test of the destination has the usual will: the end of its connection says nothing of this one.
        options?.will = HomeAssistant.availability(of: installID, isOnline: false)
        options?.leavesWithWill = true
        options?.heededTopic = HomeAssistant.statusTopic
        return options
    }

    private mutating func publish(_ message: MQTTMessage, _ options: MQTTOptions, now: BootInstant) {
        isMQTT = true
        if mqtt == nil { mqtt = MQTTClient(random: random) }
        brokerURL = options.url
        mqtt?.begin(MQTTPublication(message), options, resumingAt: now) {
            [memory] in memory.knowsNew(options.url)
        }
    }

    /// Before anything else is decided by what the broker has said.
    private mutating func learn() {
        guard mqtt?.knowsNew == true, knownURL != brokerURL else { return }
        knownURL = brokerURL
        if !memory.knowsNew(brokerURL) { memory.learnNew(brokerURL) }
    }

    /// Does what can be done at once, and waits for nothing.
    package mutating func advance(now: BootInstant) -> Progress {
        guard isMQTT else {
            guard case .ended(let outcome) = http.advance() else { return .underway }
            return .ended(delivery(outcome))
        }
        let progress = mqtt?.advance(now: now)
        learn()
        return switch progress {
        case .underway: .underway
        case .ended(let outcome): .ended(Delivery(outcome))
        case nil: .ended(.failure(TransportFailure(kind: .network, message: "no memory for libcurl")))
        }
    }

    // MARK: Besides requests

    /// Prepares a message to a broker that is no request, over the connection that requests go over. To be followed with
    /// `advanceMessage`. Cancels what is under way, if there is anything.
    ///
    /// - Parameter time: the best clock known.
    /// - Returns: false where the url names no broker.
    package mutating func publish(
        _ message: MQTTMessage, to sync: Settings.Sync, at time: Timestamp, now: BootInstant
    ) -> Bool {
        cancel()
        guard let options = options(sync, at: time) else { return false }
        publish(message, options, now: now)
        return true
    }

    /// Does what can be done at once, and waits for nothing.
    ///
    /// - Returns: what has become of the message; nil while it is under way.
    package mutating func advanceMessage(now: BootInstant) -> MQTTOutcome? {
        let progress = mqtt?.advance(now: now)
        learn()
        return switch progress {
        case .underway: nil
        case .ended(let outcome): outcome
        case nil: .failure(TransportFailure(kind: .network, message: "no memory for libcurl"))
        }
    }

    /// Which connection to a broker is open: another number, another connection. nil: none is.
    package var connectionNumber: Int? { mutating get { mqtt?.connectionNumber ?? nil } }

    /// What has come last on the topic that is listened to beside requests, once; nil: nothing.
    package mutating func takeHeard() -> [UInt8]? { mqtt?.takeHeard() ?? nil }

    /// The rest until `advance` can do more for the request under way.
    package mutating func rest(now: BootInstant) -> Rest {
        isMQTT ? mqtt?.rest(now: now) ?? .none : http.rest(now: now)
    }

    /// What a request over HTTP has come to.
    private mutating func delivery(_ outcome: HTTPOutcome) -> Delivery {
        guard let sent = sent.take() else { return Delivery(outcome) }
        guard case .answer(let answer) = outcome else {
            matching.unanswered()
            return Delivery(outcome)
        }
        guard
            let fault = matching.fault(
                answer, to: sent.id, in: sent.format, sent.content, over: http.connectionNumber)
        else { return Delivery(outcome) }
        http.disconnect()
        return .unmatched(fault)
    }

    /// Breaks off the request under way, and closes its connection.
    package mutating func cancel() {
        http.cancel()
        if sent.take() != nil { matching.unanswered() }
        mqtt?.cancel()
    }

    /// Times that a kept connection was closed because something had come on it between two requests.
    package var unrequested: Int {
        mutating get { http.unrequested + (mqtt?.unrequested ?? 0) }
    }

    /// Closes the connection, as nothing more is to be sent for now, unless it is one to a broker that is to stay.
    package mutating func pause(_ sync: Settings.Sync?) {
        http.disconnect()
        if sync?.mqtt?.keepConnection != true { mqtt?.disconnect() }
    }

    /// Takes leave, and closes every connection. Does not wait.
    package mutating func disconnect() {
        http.disconnect()
        mqtt?.disconnect()
    }

    /// Other credentials are in use: the next request begins with a full TLS handshake. The one under way goes on.
    package mutating func forgetSessions() {
        http.forgetSessions()
        mqtt?.forgetSessions()
    }

    /// The address of the server that the latest request reached, in digits; nil when none was made, or a broker had it.
    package var peer: String? { isMQTT ? nil : http.peer }

    // MARK: While nothing is sent

    /// The rest until `tend` has something to do.
    package var tendingRest: Rest { mutating get { mqtt?.tendingRest ?? Rest() } }

    /// Keeps a connection alive that is to stay, between two requests.
    ///
    /// - Returns: why it has ended; nil if it has not, or if there was none. The next request makes another.
    package mutating func tend(now: BootInstant) -> String? { mqtt?.tend(now: now) ?? nil }

    /// The network is another one, perhaps: what is connected over the old one may hang for long. The request under way goes
    /// on.
    package mutating func networkReturned() {
        mqtt?.leave()
    }
}
