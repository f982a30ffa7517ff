internal import Alerts
internal import Base
internal import Logging
internal import ServerStore
internal import ServiceLifecycle
internal import Synchronization

/// Sends alerts to webhooks and by mail until they are accepted, or have been tried for long enough. What is to be sent is in the
/// database: several servers share the work, and what one has begun when it is killed another goes on with.
final class AlertDelivery: Service {
    enum Channel: String, Hashable, CaseIterable {
        case webhook, mail
    }

    private struct Place: Hashable {
        var channel: Channel
        var rule: Int64
    }

    private struct State {
        var tally = DeliveryTally<Place>()
        /// Attempts that are under way, by rule.
        var webhooks: [Int64: Int] = [:]
        var mails = 0
        /// Tests of rules that are under way.
        var tests = 0
        /// What was given up and has not been logged yet.
        var lost: [Place: (name: String, count: Int, reason: String)] = [:]
        var lastTold: ContinuousClock.Instant?
        var lastTidied: ContinuousClock.Instant?
    }

    /// Between two looks for what another server has left, and for what is due again.
    private static let round = Duration.seconds(5)
    private static let minute = Duration.seconds(60)
    /// What is under way may go on for so long when the server ends.
    private static let farewell = Duration.seconds(5)
    /// Webhooks at once, of a rule and in all: who is slow holds up himself alone.
    private static let webhooksOfRule = 4
    private static let webhooks = 128
    /// Mails at once: mail servers take few from one client.
    private static let mails = 4
    /// Tests at once: who asks waits for them.
    private static let tests = 4

    private let store: Store
    private let clock: ClockKeeper
    private let mail: MailServer?
    private let page: String?
    /// Seconds for which something is tried.
    private let patience: Int64
    /// What to look at when nothing is accepted.
    private let advice: String
    private let logger: Logger
    private let courier = Courier(userAgent: "beekon-server/\(ServerOptions.version)")
    private let calls: AsyncStream<Void>
    private let alarm: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    init(store: Store, clock: ClockKeeper, options: ServerOptions, logger: Logger) {
        self.store = store
        self.clock = clock
        mail = options.mail
        page = options.publicURL.map { "\($0)/#/alerts" }
        // What tells of a place is not kept for longer than the place.
        patience = min(AlertOutbox.patience, options.retentionDays.map { Int64($0) * 86_400 } ?? .max)
        advice =
            options.isConfined
            ? ". The service may not reach other machines; its drop-in alerts.conf opens the network" : ""
        self.logger = logger
        (calls, alarm) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Says that there is something to send.
    func wake() { alarm.yield() }

    /// By channel, of all rules.
    var counts: [Channel: DeliveryCounts] {
        state.withLock { state in
            state.tally.counts.reduce(into: [:]) { sums, part in
                sums[part.key.channel, default: DeliveryCounts()] += part.value
            }
        }
    }

    func run() async throws {
        wake()
        await cancelWhenGracefulShutdown { [self] in
            await withDiscardingTaskGroup { group in
                group.addTask {
                    while !Task.isCancelled {
                        // Ends early with the server.
                        try? await Task.sleep(for: Self.round)
                        self.wake()
                    }
                }
                for await _ in calls {
                    for work in await round() { group.addTask { await work() } }
                    if Task.isCancelled { break }
                }
                group.cancelAll()
                courier.end(within: Self.farewell)
            }
        }
        courier.close()
        tell(isLast: true)
    }

    // MARK: What there is to do

    private typealias Work = @Sendable () async -> Void

    /// One look at what is due.
    private func round() async -> [Work] {
        var works: [Work] = []
        do {
            for job in try await claimWebhooks() {
                works.append { [self] in await send(job) }
            }
            for job in try await claimMails() { works.append { [self] in await send(job) } }
            try await tidy()
        } catch {
            // It is looked at again in a few seconds.
            if !Task.isCancelled { logger.failure(error, of: "alerts") }
        }
        tell(isLast: false)
        return works
    }

    private func claimWebhooks() async throws(StoreError) -> [WebhookJob] {
        let now = Responder.now
        let due = try await store.read { session throws(StoreError) in
            try AlertOutbox.dueRules(now: now, in: session)
        }
        guard !due.isEmpty else { return [] }
        let busy = state.withLock { $0.webhooks }
        var left = Self.webhooks - busy.values.reduce(0, +)
        var chosen: [(rule: DueRule, most: Int)] = []
        // None of them is the first each time.
        for rule in due.shuffled() {
            let most = min(left, Self.webhooksOfRule - (busy[rule.id] ?? 0))
            guard most > 0 else { continue }
            chosen.append((rule, most))
            left -= most
        }
        guard !chosen.isEmpty else { return [] }
        let rules = chosen
        let jobs = try await store.write { session throws(StoreError) in
            try AlertOutbox.claimWebhooks(of: rules, now: now, in: session)
        }
        state.withLock { state in
            for job in jobs { state.webhooks[job.rule.id, default: 0] += 1 }
        }
        return jobs
    }

    private func claimMails() async throws(StoreError) -> [MailJob] {
        guard let mail else { return [] }
        let (now, page) = (Responder.now, page)
        let most = Self.mails - state.withLock { $0.mails }
        guard most > 0,
            try await store.read({ session throws(StoreError) in
                try AlertOutbox.hasMail(now: now, in: session)
            })
        else { return [] }
        let jobs = try await store.write { session throws(StoreError) in
            try AlertOutbox.claimMails(most, by: mail, page: page, now: now, in: session)
        }
        state.withLock { $0.mails += jobs.count }
        return jobs
    }

    private func tidy() async throws(StoreError) {
        let isDue = state.withLock { state in
            guard state.lastTidied.map({ .now - $0 >= Self.minute }) ?? true else { return false }
            state.lastTidied = .now
            return true
        }
        guard isDue else { return }
        let (now, hasMail) = (Responder.now, mail != nil)
        let age = clock.age(now)
        try await store.write { session throws(StoreError) in
            try AlertOutbox.tidy(now: now, age: age, hasMail: hasMail, in: session)
        }
    }

    // MARK: One attempt

    private func send(_ job: WebhookJob) async {
        let body = Webhook.body(of: job.alert)
        let headers = Webhook.headers(
            id: job.alert.id, time: Responder.now, body: body, secret: job.rule.secret ?? "")
        var attempt = Attempt(.failed("the rule has no secret to sign with"), isHanded: false)
        if let headers {
            attempt = await courier.send(.post(url: job.rule.url, headers: headers, body: body))
        }
        let setback = setback(attempt.outcome, since: job.created, attempts: job.attempt)
        await note { now, session throws(StoreError) in
            if let setback {
                try AlertOutbox.finish(job, setback, now: now, in: session)
            } else {
                try AlertOutbox.finish(job, now: now, in: session)
            }
        }
        state.withLock { state in
            let count = (state.webhooks[job.rule.id] ?? 1) - 1
            state.webhooks[job.rule.id] = count > 0 ? count : nil
        }
        count(setback, Place(channel: .webhook, rule: job.rule.id), job.rule.name)
        wake()
    }

    private func send(_ job: MailJob) async {
        guard let mail else { return }
        let attempt = await courier.send(.mail(job.message, to: job.address, by: mail))
        let setback = setback(attempt.outcome, since: job.created, attempts: job.attempt)
        await note { now, session throws(StoreError) in
            try AlertOutbox.finish(job, setback, isHanded: attempt.isHanded, now: now, in: session)
        }
        state.withLock { $0.mails -= 1 }
        count(setback, Place(channel: .mail, rule: job.rule), job.ruleName)
        wake()
    }

    // MARK: A test

    /// What came of a test on one way.
    struct TestResult: Sendable {
        var channel: Channel
        var address: String
        /// Why it was not accepted, for people; nil: it was.
        var reason: String?
    }

    /// Sends to the webhook and to each address of a rule, once and at once. Nothing of it is kept or counted.
    ///
    /// - Returns: nil when too many are under way.
    func test(_ rule: AlertRule) async -> [TestResult]? {
        let mayBegin = state.withLock { state in
            guard state.tests < Self.tests else { return false }
            state.tests += 1
            return true
        }
        guard mayBegin else { return nil }
        defer { state.withLock { $0.tests -= 1 } }
        return await withTaskGroup(of: (Int, TestResult).self) { group in
            let ways =
                (rule.webhook.map { [(Channel.webhook, $0)] } ?? []) + rule.mail.map { (Channel.mail, $0) }
            for (index, (channel, address)) in ways.enumerated() {
                group.addTask { [self] in
                    let reason =
                        switch await test(rule, by: channel, to: address) {
                        case .accepted: String?.none
                        case .failed(let reason): reason + (channel == .webhook || mail != nil ? advice : "")
                        case .interrupted: "the server ends"
                        }
                    return (index, TestResult(channel: channel, address: address, reason: reason))
                }
            }
            var results: [Int: TestResult] = [:]
            for await (index, result) in group { results[index] = result }
            return ways.indices.compactMap { results[$0] }
        }
    }

    private func test(_ rule: AlertRule, by channel: Channel, to address: String) async -> Attempt.Outcome {
        let now = Responder.now
        switch channel {
        case .webhook:
            var random = SystemRandomNumberGenerator()
            var ids = UUIDv7Generator(using: &random)
            let id = ids.next(at: now)
            let body = Webhook.test(of: rule, id: id, time: now)
            guard
                let headers = Webhook.headers(id: id, time: now, body: body, secret: rule.secret ?? "")
            else { return .failed("the rule has no secret to sign with") }
            return await courier.send(.post(url: address, headers: headers, body: body)).outcome
        case .mail:
            guard let mail else { return .failed("no mail server is configured: set smtp and smtp_from") }
            guard let recipient = MailAddress(address) else { return .failed("this is no address") }
            let text = MailText(
                number: 0, rule: rule.name, time: now, recipients: [recipient],
                lines: [MailText.Line(time: now, text: Webhook.testText(of: rule))], count: 1, page: page)
            return await courier.send(.mail(text.message(from: mail), to: recipient, by: mail)).outcome
        }
    }

    /// - Returns: nil when it was accepted.
    private func setback(_ outcome: Attempt.Outcome, since created: Timestamp, attempts: Int64) -> Setback? {
        switch outcome {
        case .accepted: return nil
        case .interrupted: return .interrupted
        case .failed(let reason):
            let age = clock.age(Responder.now)?.milliseconds ?? created.milliseconds
            guard age - created.milliseconds < 1000 * patience else { return .givenUp(reason: reason) }
            var random = SystemRandomNumberGenerator()
            return .retry(after: BackOff.alerts.delay(after: attempts, using: &random), reason: reason)
        }
    }

    /// What cannot be noted is tried again when its claim has ended.
    private func note(
        _ body: @escaping @Sendable (Timestamp, any Session) throws(StoreError) -> Void
    ) async {
        let now = Responder.now
        do {
            try await store.write(isRepeatable: true) { session throws(StoreError) in try body(now, session) }
        } catch {
            logger.error(
                "alerts: what came of an attempt cannot be noted, so that it is made again: \(error)")
        }
    }

    // MARK: What is told

    private func count(_ setback: Setback?, _ place: Place, _ name: String) {
        let line = state.withLock { state -> String? in
            switch setback {
            case nil:
                return state.tally.accept(place)
                    ? "alerts: what rule '\(name)' sends by \(place.channel) is accepted again" : nil
            case .interrupted: return nil
            case .retry(_, let reason):
                return state.tally.fail(place, reason)
                    ? "alerts: what rule '\(name)' sends by \(place.channel) is not accepted: \(reason); it is tried again for 3 days\(advice)"
                    : nil
            case .givenUp(let reason):
                state.tally.giveUp(place)
                state.lost[place] = (name, (state.lost[place]?.count ?? 0) + 1, reason)
                return nil
            }
        }
        if let line { logger.warning("\(line)") }
    }

    /// At most once a minute.
    private func tell(isLast: Bool) {
        let lost = state.withLock { state in
            guard !state.lost.isEmpty, isLast || state.lastTold.map({ .now - $0 >= Self.minute }) ?? true
            else {
                return [(place: Place, what: (name: String, count: Int, reason: String))]()
            }
            defer { state.lost = [:] }
            state.lastTold = .now
            return state.lost.map { ($0.key, $0.value) }
        }
        for (place, what) in lost {
            logger.error(
                "alerts: \(what.count) of rule '\(what.name)' by \(place.channel) given up after \(patience / 86_400) days: \(what.reason)"
            )
        }
    }
}
