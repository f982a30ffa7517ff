internal import Accounts
internal import Base
internal import HTTPTypes
internal import ServerStore
internal import Synchronization

/// Says who asks, by the token of the request.
final class Gatekeeper: Sendable {
    private let store: Store
    private let clock: ClockKeeper
    private let memory = Mutex(Memory())

    private struct Memory {
        var devices = TokenMemory(bytes: Gatekeeper.capacity)
        /// How often tokens have changed through this server: what was read while they did may be from before.
        var changes: UInt64 = 0
        /// Requests that wait until the database may be asked again.
        var patient = 0
    }

    /// For which a token is judged from memory. Who ends it is not kept waiting: the transaction that stores an upload knows of that,
    /// see `Revocations`. One that ends because its vehicle shows the next one is taken for as long by a server that has not seen
    /// the other, so this is no longer than an access token outlives its pair.
    private static let freshness = Duration.milliseconds(TokenPairs.grace)
    /// For which one is that was never shown: with each upload that shows it, that is noted.
    private static let freshnessOfNew = Duration.seconds(5)
    /// A token that is not among those known may have been made by another server just now: whoever shows it waits until the
    /// database may be asked again. Asked at most so often for each device, so that wrong tokens are no load on it.
    private static let reload = Duration.milliseconds(500)
    /// Callers that wait for that at most; wrong tokens would hold places and work that others need. Beyond, a 503:
    /// it is not known that the token is wrong.
    private static let mostPatient = 16
    /// Bytes of what is remembered: 40,000 devices that upload within a minute. Those of a greater fleet are looked up.
    private static let capacity = 16 << 20

    init(store: Store, clock: ClockKeeper) {
        self.store = store
        self.clock = clock
    }

    /// The cookie of a session.
    static let cookie = "beekon_session"

    /// - Throws: `Problem.unauthorized` for a token that is not good; without one, and with a session that has ended, it is
    ///   nobody.
    func identity(_ headers: HTTPFields, now: Timestamp) async throws -> Identity {
        guard let value = headers[.authorization] else { return try await browser(headers, now: now) }
        guard let secret = Self.bearer(value) else { throw Problem.unauthorized }
        switch secret.kind {
        case .access: return try await device(secret, now: now)
        case .user:
            guard
                let user = try await store.look({ session throws(StoreError) in
                    try Users.user(of: secret, in: session)
                })
            else { throw Problem.unauthorized }
            return Identity(caller: .user(user.role), name: user.name, viewer: user.viewer)
        case .link: return try await guest(secret, now: now)
        case .refresh, .session: throw Problem.unauthorized
        }
    }

    private func browser(_ headers: HTTPFields, now: Timestamp) async throws -> Identity {
        guard let secret = Self.session(headers) else { return Identity(caller: .nobody) }
        let latest = clock.latest(now)
        let user = try await store.look { session throws(StoreError) in
            try Sessions.user(of: secret, now: now, latest: latest, in: session)
        }
        guard let user else { return Identity(caller: .nobody) }
        return Identity(caller: .user(user.role), name: user.name, session: secret, viewer: user.viewer)
    }

    private func guest(_ secret: Secret, now: Timestamp) async throws -> Identity {
        let latest = clock.latest(now)
        let link = try await store.look { session throws(StoreError) in
            try Links.link(of: secret, now: now, latest: latest, in: session)
        }
        guard let link else { throw Problem.unauthorized }
        return Identity(caller: .guest, link: link)
    }

    /// The session that the cookies of a request name.
    static func session(_ headers: HTTPFields) -> Secret? {
        values(of: cookie, in: headers).lazy.compactMap { Secret($0) }.first { $0.kind == .session }
    }

    /// Values of the cookies of a name that a request has.
    static func values(of name: String, in headers: HTTPFields) -> [Substring] {
        (headers[.cookie] ?? "").split(separator: ";").prefix(50).compactMap { pair in
            let text = pair.drop { $0 == " " }
            return text.hasPrefix(name + "=") ? text.dropFirst(name.count + 1) : nil
        }
    }

    private static func bearer(_ value: String) -> Secret? {
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return Secret(parts[1].drop { $0 == " " })
    }

    /// A token has arrived at its device. A batch that is stored notes that itself.
    func noteUse(by identity: Identity, now: Timestamp) async throws {
        guard let hash = identity.newToken, case .device(let device) = identity.caller else { return }
        try await store.write(isRepeatable: true) { session throws(StoreError) in
            try Devices.noteUse(hash, of: device, now: now, in: session)
        }
        forget(device)
    }

    private func device(_ secret: Secret, now: Timestamp) async throws -> Identity {
        guard let (record, next) = try await record(of: secret, now: now) else { throw Problem.unauthorized }
        var identity = Identity(caller: .device(secret.owner), token: record.hash, nextRevocation: next)
        // Remembered as it was read for a few seconds, in which it may be noted more than once: only the first time counts.
        if record.used == nil { identity.newToken = record.hash }
        return identity
    }

    /// - Returns: what is known of a token that is good, and the first of the `Revocations` that this does not know of.
    private func record(
        of secret: Secret, now: Timestamp
    ) async throws -> (TokenRecord, nextRevocation: Int64)? {
        let arrival = ContinuousClock.now
        let latest = clock.latest(now)
        if let known = remembered(secret.owner), arrival - known.asOf < Self.freshness {
            if let record = known.tokens.valid(secret, now: now, latest: latest),
                record.used != nil || arrival - known.asOf < Self.freshnessOfNew
            {
                return (record, known.tokens.nextRevocation)
            }
            guard await wait(until: known.asOf + Self.reload) else {
                // It may be a good one: nobody has asked.
                var random = SystemRandomNumberGenerator()
                throw Problem.busy(using: &random)
            }
            // Somebody else may have asked meanwhile.
            if let newer = remembered(secret.owner), newer.asOf > arrival {
                return Self.judge(newer.tokens, secret, now: now, latest: latest)
            }
        }
        return try await read(secret.owner).flatMap { Self.judge($0, secret, now: now, latest: latest) }
    }

    private static func judge(
        _ tokens: DeviceTokens, _ secret: Secret, now: Timestamp, latest: Timestamp
    ) -> (TokenRecord, nextRevocation: Int64)? {
        guard let record = tokens.valid(secret, now: now, latest: latest) else { return nil }
        return (record, tokens.nextRevocation)
    }

    /// - Returns: false when too many wait.
    private func wait(until moment: ContinuousClock.Instant) async -> Bool {
        let mayWait = memory.withLock { memory in
            guard memory.patient < Self.mostPatient else { return false }
            memory.patient += 1
            return true
        }
        guard mayWait else { return false }
        // Ends early with the request; then nobody waits for the answer.
        try? await Task.sleep(until: moment, clock: .continuous)
        memory.withLock { $0.patient -= 1 }
        return true
    }

    private func remembered(_ device: Int64) -> TokenMemory.Known? {
        memory.withLock { $0.devices.find(device) }
    }

    private func read(_ device: Int64) async throws -> DeviceTokens? {
        let (changes, now) = (memory.withLock { $0.changes }, ContinuousClock.now)
        let read = try await store.look { session throws(StoreError) in
            try Devices.tokens(of: device, in: session)
        }
        guard var read else { return nil }
        // Refresh tokens are judged where they are exchanged.
        read.records.removeAll { $0.kind != .access }
        let known = TokenMemory.Known(tokens: read, asOf: now)
        memory.withLock { memory in
            if memory.changes == changes { memory.devices.insert(known, for: device) }
        }
        return read
    }

    /// The tokens of this device have changed.
    func forget(_ device: Int64) {
        memory.withLock { memory in
            memory.devices.remove(device)
            memory.changes &+= 1
        }
    }
}
