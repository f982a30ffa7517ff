internal import Synchronization

/// The PostgreSQL servers of one address. Whoever wants a connection gets one to the primary, or hears why there is none.
///
/// At each connect all hosts are asked: an old primary that has come back answers like the new one, and is known only beside it.
final class PostgresHosts: Sendable {
    private struct State {
        var history = PostgresHistory()
        var pause = ConnectPause()
        /// Who is not to be asked, until when.
        var aside: [PostgresAddress.Host: ContinuousClock.Instant] = [:]
        /// Whose changes would be lost, and why.
        var strays: [PostgresAddress.Host: PostgresHistory.Refusal] = [:]
        var primary: (host: PostgresAddress.Host, timeline: Int64?)?
    }

    /// A host with its answer.
    private typealias Found = (
        host: PostgresAddress.Host, session: PostgresSession, identity: PostgresIdentity
    )

    /// How long a host is not asked whose changes would be lost; it does not become another by itself.
    private static let strayPause = Duration.seconds(30)
    /// How long one is not asked that does not even refuse; each try costs whoever waits as long as connect_timeout.
    private static let silentPause = Duration.seconds(10)
    private static let silence = Duration.seconds(1)

    private let address: PostgresAddress
    private let quiet: Quieter
    private let state = Mutex(State())

    init(_ address: String, quiet: Quieter) throws(StoreError) {
        self.address = try PostgresAddress(address)
        self.quiet = quiet
    }

    /// Sentences about hosts that answer, and whose changes would be lost.
    var strays: [String] {
        state.withLock { state in
            state.strays.map { "PostgreSQL at \($0.key) is not used: \($0.value.text)" }.sorted()
        }
    }

    var areMany: Bool { address.hosts.count > 1 }

    /// Finds out who is an old primary, though nobody wants a connection.
    func look() {
        do throws(StoreError) {
            _ = try primary()
        } catch {
            // Whoever wants a connection tells it.
        }
    }

    /// Makes or upgrades the tables.
    func prepare() throws(StoreError) {
        let (host, session, _) = try primary()
        try session.refuseSharing(address.parameters(of: host))
        try session.settle(isReader: false)
        try session.refuseWorker()
        try session.upgrade()
        // By now there is a table for it.
        note(try session.identity(), in: session)
    }

    /// Distributes the tables of vehicles over the workers of Citus.
    ///
    /// - Parameter shards: of each table; nil: as many as suit the workers that there are.
    /// - Returns: what there is now, in a sentence.
    func distribute(shards: Int?) throws(StoreError) -> String {
        try prepare()
        let (_, session, _) = try primary()
        try session.settle(isReader: false)
        return try session.distribute(shards: shards)
    }

    func open(isReader: Bool) throws(StoreError) -> PostgresSession {
        if let error = state.withLock({ $0.pause.begin(at: .now) }) { throw error }
        do throws(StoreError) {
            let (host, session, identity) = try primary()
            try session.settle(isReader: isReader)
            if !isReader {
                note(identity, in: session)
                try session.stage()
            }
            state.withLock { $0.pause.succeed() }
            tell(host, identity)
            return session
        } catch {
            var error = error
            error.isOutage = true
            state.withLock { $0.pause.fail(error, at: .now) }
            throw error
        }
    }

    /// Whether a database that is only read would be an old primary's.
    func isOld(_ identity: PostgresIdentity) -> Bool {
        guard let timeline = identity.timeline, !identity.isStandby else { return false }
        return state.withLock { $0.history.system == identity.system && timeline < $0.history.timeline }
    }

    /// From now on the present timeline of the only host that answers counts, whatever was seen before.
    ///
    /// - Returns: what was accepted, in a sentence.
    func accept() throws(StoreError) -> String {
        let (found, failures) = ask(address.hosts)
        let primaries = found.filter { !$0.identity.isStandby && !$0.identity.isReadOnly }
        guard let one = primaries.first, let system = one.identity.system,
            let timeline = one.identity.timeline
        else {
            throw StoreError(
                .failed, operation: "connect",
                message: failures.first?.error.message ?? "no PostgreSQL that takes changes answers")
        }
        guard primaries.count == 1 else {
            throw StoreError(
                .conflict, operation: "connect",
                message:
                    "several answer (\(primaries.map { "\($0.host)" }.joined(separator: ", "))): name the one that counts"
            )
        }
        try one.session.noteTimeline(timeline, of: system, isLower: true)
        return
            "timeline \(timeline) of PostgreSQL at \(one.host) is accepted; restart the servers that use it"
    }

    // MARK: One connect

    private func primary() throws(StoreError) -> Found {
        let now = ContinuousClock.now
        let hosts = state.withLock { state in
            state.aside = state.aside.filter { $0.value > now }
            return address.hosts.filter { state.aside[$0] == nil }
        }
        let (found, failures) = ask(hosts)
        let (chosen, refusals, news) = state.withLock { state in
            let (chosen, refusals) = state.history.judge(found.map { $0.identity })
            var news: [String] = []
            for (place, one) in found.enumerated() {
                guard let refusal = refusals[place], refusal.isStray else {
                    state.strays[one.host] = nil
                    continue
                }
                state.aside[one.host] = .now + Self.strayPause
                if state.strays.updateValue(refusal, forKey: one.host) != refusal {
                    news.append("PostgreSQL at \(one.host) is not used: \(refusal.text)")
                }
            }
            return (chosen, refusals, news)
        }
        for text in news { quiet.note(text) }
        for (place, refusal) in refusals {
            if case .older(_, let highest) = refusal, let system = found[place].identity.system {
                // It is refused here in any case.
                try? found[place].session.fence(highest, of: system)
            }
        }
        if let chosen { return found[chosen] }
        throw error(found, refusals, failures)
    }

    private func ask(
        _ hosts: [PostgresAddress.Host]
    ) -> (found: [Found], failures: [(host: PostgresAddress.Host, error: StoreError)]) {
        var found: [Found] = []
        var failures: [(host: PostgresAddress.Host, error: StoreError)] = []
        for host in hosts {
            let start = ContinuousClock.now
            do throws(StoreError) {
                let session = try PostgresSession(address.parameters(of: host))
                found.append((host, session, try session.identity()))
            } catch {
                failures.append((host, error))
                let now = ContinuousClock.now
                if address.hosts.count > 1, now - start > Self.silence {
                    state.withLock { $0.aside[host] = now + Self.silentPause }
                }
            }
        }
        return (found, failures)
    }

    private func error(
        _ found: [Found], _ refusals: [Int: PostgresHistory.Refusal],
        _ failures: [(host: PostgresAddress.Host, error: StoreError)]
    ) -> StoreError {
        let strays = state.withLock { $0.strays }
        var reasons = strays.map { "\($0.key): \($0.value.text)" }.sorted()
        for (place, refusal) in refusals.sorted(by: { $0.key < $1.key }) where !refusal.isStray {
            reasons.append("\(found[place].host): \(refusal.text)")
        }
        reasons += failures.map {
            address.hosts.count == 1 ? $0.error.message : "\($0.host): \($0.error.message)"
        }
        var error = StoreError(
            .unavailable, operation: "connect",
            message: reasons.isEmpty ? "PostgreSQL: no host answers" : reasons.joined(separator: "; "))
        error.isOutage = true
        if !strays.isEmpty {
            error.summary =
                "The database that answers is an old primary, or another cluster: nothing is stored in it. The server's log says which."
        }
        return error
    }

    /// Keeps the timeline where other servers, and this one after a restart, find it.
    private func note(_ identity: PostgresIdentity, in session: PostgresSession) {
        guard let system = identity.system, let timeline = identity.timeline, identity.noted != timeline,
            identity.hasNotes
        else { return }
        // It is noted at the next connect, if not now.
        try? session.noteTimeline(timeline, of: system)
    }

    private func tell(_ host: PostgresAddress.Host, _ identity: PostgresIdentity) {
        let isAnother = state.withLock { state in
            let known = state.primary
            state.primary = (host, identity.timeline)
            guard let known else { return false }
            return known.host != host || known.timeline != identity.timeline
        }
        let timeline = identity.timeline.map { ", on timeline \($0)" } ?? ""
        quiet.answers("PostgreSQL at \(host) answers\(timeline)", isNews: isAnother)
    }
}

/// When the next try to connect may be made: the longer nobody answers, the longer it is waited.
struct ConnectPause {
    private var outage: (since: ContinuousClock.Instant, next: ContinuousClock.Instant, error: StoreError)?
    /// Somebody is trying.
    private var isTrying = false

    private static let least = Duration.milliseconds(20)
    private static let most = Duration.seconds(5)

    /// - Returns: why nobody needs to try now; nil: whoever asks tries, and tells what came of it.
    mutating func begin(at now: ContinuousClock.Instant) -> StoreError? {
        guard let outage else { return nil }
        if isTrying || now < outage.next { return outage.error }
        isTrying = true
        return nil
    }

    mutating func succeed() {
        (outage, isTrying) = (nil, false)
    }

    mutating func fail(_ error: StoreError, at now: ContinuousClock.Instant) {
        let since = outage?.since ?? now
        // A new primary is found within a tenth of the time that it took.
        let pause = min(max((now - since) / 10, Self.least), Self.most)
        outage = (since, now + pause, error)
        isTrying = false
    }
}
