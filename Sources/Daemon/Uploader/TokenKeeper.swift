internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Synchronization
internal import Tracking
internal import Upload

/// Keeps the tokens of one destination: loads and saves them, exchanges them at the token endpoint, and says whether a
/// batch can be sent. What to do with them is for `Authenticator` to decide.
///
/// Confined to the uploader's thread.
final class TokenKeeper {
    private let store: TokenStore
    private let port: UploaderPort
    private let board: Board
    private let clock: WallClock
    private let report: UploadReport
    private var authenticator: Authenticator
    private var random: RandomSource
    private var hasLoaded = false
    /// When to read again what is stored and could not be read or opened; nil: there is no need.
    private var loadDue: BootInstant?
    /// Seconds between two such attempts while nothing is to be uploaded.
    private static let loadPause = 60.0
    /// What the configuration says of credentials.
    private var plan: AuthPlan?
    /// What it has said since what is stored could not be read, in that order: tokens belong to the host for which they came.
    private var unreadPlans: [AuthPlan] = []
    private static let mostUnreadPlans = 16
    private let shared: SharedTokens?
    /// Makes what takes a request over a connection of its own.
    private let transport: () -> (any HTTPTransport)?
    /// The tokens of `main`, where they are used instead; else nil.
    private var loan: TokenLoan?
    /// Where uploads carry them; nil without credentials.
    private var place: (url: String, origin: TokenOrigin)?
    /// What the latest request was authorised with.
    private(set) var sent: String?

    /// What is under way to the token endpoint.
    private struct Exchange {
        let client: any HTTPTransport
        /// Bytes of the request's body.
        let size: Int
        let began: BootInstant
        let mapping: TokenMapping
        /// The exchange is made for its own sake; no drain will report how it went.
        let isIdle: Bool
        /// When it is broken off because the daemon stops.
        var end: BootInstant?
    }

    private var exchange: Exchange?

    /// Seconds that an exchange has left when the daemon stops: a lost answer may be a lost pair.
    private static let lastExchange = 0.9

    /// - Parameter shared: for the tokens of `main`.
    init(
        store: TokenStore, port: UploaderPort, board: Board, clock: WallClock, report: UploadReport,
        shared: SharedTokens? = nil, transport: @escaping () -> (any HTTPTransport)? = { HTTPClient() },
        random: RandomSource = RandomSource(), now: BootInstant
    ) {
        self.store = store
        self.port = port
        self.board = board
        self.clock = clock
        self.report = report
        self.shared = shared
        self.transport = transport
        self.random = random
        authenticator = Authenticator(record: nil, now: now, using: &self.random)
    }

    private func instant(_ now: BootInstant) -> Authenticator.Instant {
        Authenticator.Instant(now: now, time: clock.trusted(now: now))
    }

    // MARK: For uploads

    /// Whether there are credentials, or should be: a 401 or 403 is answered with them.
    var isActive: Bool { loan != nil || authenticator.isActive }

    /// The state of the credentials, for the status.
    func state(now: BootInstant) -> AuthState {
        loan?.state ?? authenticator.state(instant(now))
    }

    /// Why they are of no use, and what to do; nil while they are.
    var advice: String? {
        if let loan { return loan.advice }
        return authenticator.record.death?.advice(authenticator.record.deathStatus, of: port.name)
    }

    /// The value of `Authorization` for the next request; nil for none.
    func authorise() -> String? {
        sent = loan == nil ? authenticator.authorization : loan?.authorization
        return sent
    }

    /// A request was answered. Whoever has looked into the batch, if only to reject it, has accepted the token.
    func note(_ verdict: Verdict) {
        switch verdict {
        case .accepted, .rejected: authenticator.worked(sent)
        case .unauthorised, .transient, .permanent: break
        }
    }

    /// Whether a batch can be sent.
    ///
    /// - Parameter isForced: the user asks, so no back-off counts.
    func check(isForced: Bool, now: BootInstant) -> Drain.TokenCheck {
        if let loan { return reported(loan.check()) }
        loadAgain(now: now)
        heed()
        let need = authenticator.need(instant(now), isForced: isForced)
        return check(need, now: now)
    }

    /// Whether the batch can be sent again after the backend has refused the token.
    func checkRefused(isForced: Bool, now: BootInstant) -> Drain.TokenCheck {
        if let loan { return reported(loan.check(afterRefusalOf: sent)) }
        let need = authenticator.need(afterRefusalOf: sent, instant(now), isForced: isForced)
        if case .dead = need { save(now: now) }
        lend(now: now)
        return check(need, now: now)
    }

    private func reported(_ check: Drain.TokenCheck) -> Drain.TokenCheck {
        switch check {
        case .resting: report.tokenRests()
        case .dead: report.tokenIsMissing(loan?.words ?? "the tokens of main are refused")
        case .usable, .due, .unsaved: break
        }
        return check
    }

    private func check(_ need: Authenticator.Need, now: BootInstant) -> Drain.TokenCheck {
        switch need {
        case .nothing: return save(now: now) || !authenticator.awaitsDisk ? .usable : .unsaved
        case .refresh: return due
        case .wait(let seconds):
            report.tokenRests()
            return .resting(seconds: seconds, isNetwork: authenticator.waitsForNetwork)
        case .dead:
            report.tokenIsMissing(
                authenticator.record.death?.words(authenticator.record.deathStatus) ?? "there is no token")
            return .dead
        }
    }

    private var due: Drain.TokenCheck { .due(hasToken: authenticator.authorization != nil) }

    /// The network is back: what failed for want of it need not wait any longer.
    func networkReturned() {
        authenticator.networkReturned()
    }

    // MARK: Exchanges

    /// When to begin an exchange though there is nothing to upload; nil for never.
    func idleDue(now: BootInstant) -> BootInstant? {
        if loan != nil { return nil }
        if let loadDue, loadDue <= now { loadAgain(now: now) }
        if let loadDue, plan != nil { return loadDue }
        heed()
        return authenticator.idleDue(instant(now))
    }

    /// Begins an exchange with the token endpoint, over a connection of its own: nothing that a server still has to say to an
    /// earlier request can be taken for new tokens, or for the end of those that there are. Nothing is sent before `advance`.
    ///
    /// - Parameter isIdle: it is made for its own sake; no drain will report how it went.
    /// - Returns: nil once it has begun; `due` when it did not.
    func begin(with factory: RequestFactory, isIdle: Bool, now: BootInstant) -> Drain.TokenCheck? {
        if let loan { return loan.begin(now: now).map { reported($0) } }
        guard let client = transport(), let request = authenticator.begin(instant(now)) else {
            lend(now: now)
            return due
        }
        // After a power cut it has to be known that an exchange was under way.
        guard save(now: now) else {
            authenticator.callOff()
            lend(now: now)
            return due
        }
        client.begin(request.body, factory.options(for: request), resumingAt: nil)
        exchange = Exchange(
            client: client, size: request.body.count, began: now, mapping: request.mapping, isIdle: isIdle)
        return nil
    }

    /// Whether an exchange is under way: nothing else is to be begun before it has ended.
    var isExchanging: Bool { exchange != nil || loan?.isAsking == true }

    /// Goes on with the exchange that was begun.
    ///
    /// - Parameter isStopping: it has little time left.
    /// - Returns: nil while it lasts; `due` when it was broken off.
    func advance(isStopping: Bool, now: BootInstant) -> Drain.TokenCheck? {
        if let loan { return loan.advance(isStopping: isStopping, now: now).map { reported($0) } }
        guard var current = exchange else { return due }
        exchange = nil
        if isStopping { current.end = current.end ?? now.advanced(bySeconds: Self.lastExchange) }
        let outcome: HTTPOutcome
        switch current.client.advance() {
        case .ended(let ended): outcome = ended
        case .underway:
            guard current.end.map({ now < $0 }) ?? true else {
                report.exchanged(.cancelled, bytes: current.size, since: current.began, now: now)
                lend(now: now)
                return due
            }
            exchange = current
            return nil
        }
        report.exchanged(outcome, bytes: current.size, since: current.began, now: now)
        if current.isIdle {
            return report.keepingLastError { ended(outcome, current.mapping, isIdle: true, now: now) }
        }
        return ended(outcome, current.mapping, isIdle: false, now: now)
    }

    /// The rest until `advance` can do more.
    func rest(now: BootInstant) -> Rest {
        if let loan { return loan.rest }
        var rest = exchange?.client.rest(now: now) ?? .none
        rest.end(by: exchange?.end)
        return rest
    }

    private func breakOff() {
        guard exchange != nil else { return }
        exchange = nil
        authenticator.brokenOff()
    }

    private func ended(
        _ outcome: HTTPOutcome, _ mapping: TokenMapping, isIdle: Bool, now: BootInstant
    ) -> Drain.TokenCheck {
        defer { lend(now: now) }
        let answer: Authenticator.Answer
        switch outcome {
        case .cancelled: return due
        case .failure(let failure): answer = .lost(wasSent: failure.wasSent)
        case .answer(let response):
            let time = clock.time(now: now)
            let wait = response.retryAfter.flatMap { RetryAfter.seconds($0, at: time) }
            answer = .response(status: response.status, body: response.body, retryAfter: wait)
        }
        let result = authenticator.end(answer, mapping, instant(now), using: &random)
        save(now: now)
        switch result {
        case .renewed:
            report.tokenRenewed(expiresAt: authenticator.record.tokens.expiresAt)
            return authenticator.awaitsDisk ? .unsaved : .usable
        case .later(let seconds):
            report.exchangeFailed(outcome, retryIn: seconds, isIdle: isIdle, now: now)
            return .resting(seconds: seconds, isNetwork: authenticator.waitsForNetwork)
        case .dead(let death):
            report.tokenIsMissing(death.words(authenticator.record.deathStatus))
            report.tokenDied(death, authenticator.record.deathStatus, now: now)
            return .dead
        }
    }

    // MARK: Configuration and the disk

    /// Takes up the credentials of the configuration, and what is stored of them.
    ///
    /// - Parameter sharesMain: they are those of `main`.
    func configure(_ sync: Settings.Sync?, sharesMain: Bool = false, now: BootInstant) {
        defer { lend(now: now) }
        let asked = loan?.deadline
        // The end of the old one must not end the new one.
        loan = nil
        if sharesMain, let sync, let shared {
            loan = TokenLoan(shared, port, for: sync, askedUntil: asked)
        }
        plan = sync.flatMap { AuthPlan($0) }
        place = plan.flatMap { plan in sync.map { ($0.url, plan.uploadOrigin) } }
        if plan != nil, !hasLoaded || loadDue != nil {
            hasLoaded = true
            load(now: now)
        }
        let (before, tokens) = (authenticator.record.death, authenticator.record.tokens)
        takeUpPlans()
        // An exchange goes on by the settings that it was begun with, as long as its answer is of use by the new ones.
        if plan == nil || loan != nil || authenticator.record.tokens != tokens { breakOff() }
        save(now: now)
        if let death = authenticator.record.death, death != before {
            report.tokenDied(death, authenticator.record.deathStatus, now: now)
        }
    }

    private func load(now: BootInstant) {
        var record: AuthRecord?
        var refusal: String?
        do {
            switch try store.load() {
            case .nothing: break
            case .record(let stored):
                record = stored
                if loadDue != nil { report.tokensReadAgain() }
            case .locked(let reason): refusal = reason
            case .damaged(let aside):
                board.note(damaged: "tokens")
                report.tokensDamaged(aside: aside)
            }
        } catch {
            refusal = error.advice
        }
        let isKnown = loadDue != nil
        loadDue = refusal == nil ? nil : now.advanced(bySeconds: Self.loadPause)
        if isKnown, refusal != nil { return }
        authenticator = Authenticator(record: record, now: now, using: &random)
        guard let refusal else { return }
        authenticator.lock()
        report.tokensLocked(reason: refusal, now: now)
    }

    /// Reads what could not be read before: the disk may give it by now, or somebody has given back the file or its key.
    private func loadAgain(now: BootInstant) {
        guard loadDue != nil, plan != nil else { return }
        load(now: now)
        guard loadDue == nil else { return }
        takeUpPlans()
        save(now: now)
        lend(now: now)
    }

    /// One after the other, as if everything could always have been read.
    private func takeUpPlans() {
        if loadDue != nil {
            // The first ones count most: what they brought, others must not take elsewhere.
            if let plan, plan != unreadPlans.last, unreadPlans.count < Self.mostUnreadPlans {
                unreadPlans.append(plan)
            }
        } else {
            for earlier in unreadPlans { authenticator.configure(earlier) }
            unreadPlans = []
        }
        authenticator.configure(plan)
    }

    /// From now on uses the tokens that an administrator has given; they are on the disk when this returns.
    func seed(_ pair: Tokens, now: BootInstant) -> Result<Void, CommandFailure> {
        var seeded = authenticator
        guard seeded.seed(pair) else {
            return .failure(CommandFailure(reason: "there is no table [sync.auth] in the configuration"))
        }
        do {
            try store.save(
                seeded.record, isOverwriting: authenticator.record.death != .key, using: &random)
        } catch {
            return .failure(CommandFailure(reason: error.description))
        }
        board.note(renewed: "tokens")
        seeded.saved()
        authenticator = seeded
        (loadDue, unreadPlans) = (nil, [])
        // Whatever it brings is of tokens that are gone.
        exchange = nil
        lend(now: now)
        return .success(())
    }

    /// Writes what has to survive, if there is anything new.
    ///
    /// - Returns: whether the disk has it.
    @discardableResult
    private func save(now: BootInstant) -> Bool {
        guard !authenticator.isSaved, authenticator.record.death != .key else { return true }
        do {
            try store.save(authenticator.record, using: &random)
            authenticator.saved()
            // A pair that the disk has taken late is shown late, but shown.
            lend(now: now)
            return true
        } catch {
            report.tokensUnsaved(error.description, now: now)
            return false
        }
    }

    // MARK: Those who share them

    /// Takes note of what those who share the tokens need.
    private func heed() {
        guard let shared, port.name == .main else { return }
        for refused in shared.takeDemands() { authenticator.demand(afterRefusalOf: refused) }
    }

    /// Shows the tokens to those who share them. A new pair only once it is on the disk: nobody may use it before.
    private func lend(now: BootInstant) {
        guard let shared, port.name == .main, !authenticator.awaitsDisk else { return }
        guard isActive, let place else { return shared.lend(nil) }
        var lent = SharedTokens.Lent(
            authorization: authenticator.authorization, url: place.url, origin: place.origin)
        lent.state = state(now: now)
        lent.advice = advice
        lent.words = authenticator.record.death?.words(authenticator.record.deathStatus)
        lent.canRenew = authenticator.canServe
        lent.restsUntil = authenticator.retryAt
        lent.waitsForNetwork = authenticator.waitsForNetwork
        shared.lend(lent)
    }
}
