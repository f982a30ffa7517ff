package import Base
internal import CCurl
internal import DaemonConfiguration
package import Linux

/// Publishes one message at a time, on a connection that is kept between them until `disconnect`.
///
/// A publication is begun and then advanced until it has ended, as a request of `HTTPClient` is. Between two, the owner of
/// a connection that is to stay rests as `tendingRest` says, and calls `tend`. Nothing here waits.
package struct MQTTClient: ~Copyable {
    /// How far a publication has got.
    package enum Progress: Equatable, Sendable {
        case underway
        case ended(MQTTOutcome)
    }

    /// Seconds after which a silent connection is asked for a sign of life.
    static let keepAlive: UInt16 = 60
    /// Pieces read in one step: who sends more keeps nobody else from his turn.
    static let readLimit = 4

    struct Job {
        let publication: MQTTPublication
        let options: MQTTOptions
        /// TLS sessions are resumed, and left behind.
        let isResuming: Bool
        /// Known since the first step.
        var deadline: BootInstant?
        /// On a connection of an earlier publication, which may have died unnoticed: then it is made anew, once.
        var mayRenew = false
        /// On a connection that has been given up.
        var wasSent = false
    }

    private var sessions = TLSSessions()
    private var random: RandomSource
    /// What is known about the broker at this url.
    private var dialect: MQTTDialect
    private var spokenWith: (url: String, version: Settings.MQTTVersion)?
    /// The dialect was known before the first url was.
    private let isDialectGiven: Bool
    var link: MQTTLink?
    var connection: MQTTConnection?
    /// What the connection was made with.
    private var origin: (version: MQTTVersion, options: MQTTOptions)?
    var job: Job?
    /// There may be more to read than poll(2) knows of.
    var hasMore = false
    /// The broker has closed the connection, or the network has.
    var wasHungUp = false
    /// The moment of the latest step.
    private var latest = BootInstant(nanoseconds: 0)

    /// - Returns: nil when libcurl cannot work here: no memory, or built without a resolver that can time out.
    package init?(random: RandomSource = RandomSource()) {
        self.init(knowing: nil, random)
    }

    /// - Parameter dialect: what is known about the first broker.
    init?(dialect: MQTTDialect) {
        self.init(knowing: dialect, RandomSource())
    }

    private init?(knowing dialect: MQTTDialect?, _ random: RandomSource) {
        // Idempotent, and called on one thread before any other use.
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, ccurl_resolves_asynchronously() != 0
        else {
            return nil
        }
        self.init(speaking: dialect, random)
    }

    private init(speaking dialect: MQTTDialect?, _ random: RandomSource) {
        self.random = random
        isDialectGiven = dialect != nil
        self.dialect = dialect ?? MQTTDialect()
    }

    /// Times that a kept connection was closed because of an acknowledgement between two publications.
    package private(set) var unrequested = 0

    /// Connections that have been opened so far.
    private var connections = 0

    /// Which connection is open: another number, another connection. nil: none is.
    package var connectionNumber: Int? { connection == nil ? nil : connections }

    /// What has come last on the topic that the options say is listened to, once; nil: nothing.
    package mutating func takeHeard() -> [UInt8]? { connection?.takeHeard() }

    /// MQTT 5 was accepted at the present url, now or before.
    package var knowsNew: Bool { dialect.knowsNew }

    /// Prepares a publication; nothing is sent before the first `advance`. Cancels the one under way, if there is one.
    ///
    /// - Parameters:
    ///   - now: the age of TLS sessions is counted with it; nil: none is resumed, and none is left behind.
    ///   - knowsNew: MQTT 5 was accepted at this url before; asked when the url is another one.
    package mutating func begin(
        _ publication: MQTTPublication, _ options: MQTTOptions, resumingAt now: BootInstant? = nil,
        knowsNew: () -> Bool = { false }
    ) {
        cancel()
        let isResuming = now != nil && options.isTLS
        if isResuming, let now, sessions.begin(SessionLifetime.Terms(options), now: now) { dropSessions() }
        if let origin, !origin.options.connectsLike(options) { disconnect() }
        if spokenWith.map({ $0 != (options.url, options.version) }) ?? !isDialectGiven {
            dialect = MQTTDialect(wanted: options.version, knowsNew: knowsNew())
        }
        spokenWith = (options.url, options.version)
        job = Job(publication: publication, options: options, isResuming: isResuming)
    }

    /// Does what can be done at once.
    package mutating func advance(now: BootInstant) -> Progress {
        guard let job else {
            return .ended(.failure(TransportFailure(kind: .network, message: "no publication was begun")))
        }
        latest = now
        guard let outcome = step(now: now) else { return .underway }
        noteSilence(outcome)
        let handshake = handshake(outcome)
        var goesOn = isToTryAgain(outcome, now: now)
        if job.isResuming {
            switch sessions.end(handshake) {
            case .keep: break
            case .forget: dropSessions()
            case .forgetAndRepeat:
                dropSessions()
                goesOn = true
            }
        }
        if goesOn { return .underway }
        let wasSent = self.job?.wasSent == true
        self.job = nil
        dialect.settle()
        if connection?.isTakingLeave == true { _ = flush(now: now) }
        if connection?.isOver != false { drop() }
        return .ended(wasSent ? outcome.afterEarlierBytes : outcome)
    }

    /// Breaks off the publication under way, and closes its connection.
    package mutating func cancel() {
        if job != nil { disconnect() }
    }

    /// A whole publication, for who has nothing else to do.
    ///
    /// - Parameters:
    ///   - wakeup: makes `isCancelled` be asked at once.
    ///   - now: as in `begin`.
    ///   - isCancelled: ends the publication when true; asked before the first byte is sent, too.
    package mutating func publish(
        _ publication: MQTTPublication, _ options: MQTTOptions, wakeup: Wakeup,
        resumingAt now: BootInstant? = nil, isCancelled: () -> Bool
    ) -> MQTTOutcome {
        begin(publication, options, resumingAt: now)
        while !isCancelled() {
            let now = BootInstant(nanoseconds: Clock.boot())
            if case .ended(let outcome) = advance(now: now) { return outcome }
            var rest = rest(now: now)
            rest.add(wakeup.descriptor)
            rest.wait(now: now)
        }
        cancel()
        return .cancelled
    }

    /// Sends DISCONNECT, so that the broker discards the will, and closes the connection. Does not wait.
    package mutating func disconnect() {
        job = nil
        dialect.settle()
        connection?.leave()
        _ = flush(now: latest)
        drop()
    }

    /// Closes a connection that nothing goes over at the moment.
    package mutating func leave() {
        if job == nil { disconnect() }
    }

    /// Other credentials are in use: the next publication is made over another connection, with a full handshake. The one
    /// under way goes on.
    package mutating func forgetSessions() {
        sessions.expire()
    }

    private mutating func dropSessions() {
        drop()
        sessions.drop()
    }

    // MARK: Between publications

    /// Descriptor of the connection; −1 when there is none.
    private(set) var descriptor: Int32 = -1

    /// When `tend` must be called at the latest; nil when there is no connection.
    var due: BootInstant? { hasMore ? BootInstant(nanoseconds: 0) : connection?.due }

    /// The rest until `tend` has something to do on the kept connection, if there is one.
    package var tendingRest: Rest {
        var rest = Rest(until: due)
        rest.add(descriptor)
        return rest
    }

    /// Keeps the connection alive while nothing is published.
    ///
    /// - Returns: why it has ended; nil if it has not, or if there was none. The next publication makes another.
    package mutating func tend(now: BootInstant) -> String? {
        guard job == nil, connection != nil else { return nil }
        latest = now
        _ = exchange(now: now)
        guard connection?.isOver != false else { return nil }
        if connection?.strayWords != nil { unrequested += 1 }
        let farewell = connection?.farewell
        drop()
        return farewell
    }

    // MARK: Steps

    /// Goes on as far as that needs no waiting; nil: not to the end.
    private mutating func step(now: BootInstant) -> MQTTOutcome? {
        guard var job else { return nil }
        let deadline = job.deadline ?? now.advanced(bySeconds: job.options.timeout)
        if job.deadline == nil {
            job.deadline = deadline
            // What has happened to a kept connection meanwhile.
            if connection != nil { _ = exchange(now: now) }
            if let words = connection?.strayWords { return .unmatched(words) }
            if connection?.isOver == true { drop() }
            job.mayRenew = connection != nil
            self.job = job
            if let outcome = connection?.begin(
                job.publication, deadline: deadline, using: &random, now: now)
            {
                return outcome
            }
        }
        if link == nil {
            origin = (dialect.version(now: now), job.options)
            link = MQTTLink(
                job.options, timeout: deadline.seconds(since: now),
                share: job.isResuming ? sessions.handle() : nil)
        }
        guard link != nil else {
            return .failure(
                TransportFailure(kind: .network, message: "not an MQTT url, or no memory for libcurl"))
        }
        if connection == nil {
            switch link?.connect() {
            case .underway, nil: return nil
            case .failed(let failure): return .failure(failure)
            case .open(let descriptor):
                self.descriptor = descriptor
                connections += 1
                var connection = MQTTConnection(
                    connect(job.options), heeding: job.options.heededTopic,
                    leavesWithWill: job.options.leavesWithWill, using: &random, now: now)
                let outcome = connection.begin(
                    job.publication, deadline: deadline, using: &random, now: now)
                self.connection = connection
                if let outcome { return outcome }
            }
        }
        let outcome = exchange(now: now)
        if let version = origin?.version, connection?.isAccepted == true {
            dialect.accepted(version, now: now)
        }
        return outcome
    }

    private func connect(_ options: MQTTOptions) -> MQTTConnect {
        MQTTConnect(
            version: origin?.version ?? .v5, clientID: options.clientID, username: options.username,
            password: options.password, will: options.will, keepAlive: Self.keepAlive)
    }

    /// What became of the TLS handshake of the connection that has had this outcome.
    private mutating func handshake(_ outcome: MQTTOutcome) -> SessionLifetime.Handshake {
        guard let connection else { return link?.handshake ?? .unreached }
        guard !connection.hasHeard, case .failure(let failure) = outcome else { return .done }
        // Gone before the first answer: in TLS 1.3 that is how a broker refuses a client's certificate.
        return failure.isTimeout ? .done : .doubtful
    }

    /// CONNECT went over an open connection, and nothing came back until the time was up; or something did.
    private mutating func noteSilence(_ outcome: MQTTOutcome) {
        guard let connection, let origin, !connection.isAccepted else { return }
        if connection.hasHeard { return dialect.heard() }
        guard case .failure(let failure) = outcome, failure.isTimeout else { return }
        dialect.silent(origin.version)
    }

    /// Whether another connection may succeed where this one has not. The publication goes on with it.
    private mutating func isToTryAgain(_ outcome: MQTTOutcome, now: BootInstant) -> Bool {
        guard var job, let connection, let origin, let deadline = job.deadline, now < deadline else {
            return false
        }
        if !connection.isAccepted {
            let wasHungUp = wasHungUp && !connection.hasHeard
            guard dialect.refused(outcome, by: origin.version, wasHungUp: wasHungUp) else { return false }
        } else {
            guard job.mayRenew, wasHungUp, case .failure(let failure) = outcome else { return false }
            job.mayRenew = false
            job.wasSent = failure.wasSent
        }
        self.job = job
        drop()
        return true
    }

    private mutating func drop() {
        link = nil
        (connection, origin, descriptor) = (nil, nil, -1)
        (hasMore, wasHungUp) = (false, false)
    }
}
