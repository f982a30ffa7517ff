internal import Accounts
internal import Base
internal import HTTPTypes
internal import ServerStore
internal import Synchronization

/// Says who asks, by the token of the request.
final class Gatekeeper: Sendable {
    private let store: Store
    private let known = Mutex<[Int64: Known]>([:])

    private struct Known {
        var tokens: DeviceTokens
        var asOf: ContinuousClock.Instant
    }

    /// A device that is revoked through another server may upload for so long.
    private static let freshness = Duration.seconds(5)
    /// A token that is not among those known may have been made by another server just now. Asked at most so often for
    /// each device, so that wrong tokens are no load on the database.
    private static let reload = Duration.milliseconds(500)
    /// Devices that are remembered: 30 MB at most would be held for them, with four tokens each.
    private static let capacity = 20_000

    init(store: Store) {
        self.store = store
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
                let user = try await store.read({ session throws(StoreError) in
                    try Users.user(of: secret, in: session)
                })
            else { throw Problem.unauthorized }
            return Identity(caller: .user(user.role), name: user.name)
        case .refresh, .session: throw Problem.unauthorized
        }
    }

    private func browser(_ headers: HTTPFields, now: Timestamp) async throws -> Identity {
        guard let secret = Self.session(headers) else { return Identity(caller: .nobody) }
        let user = try await store.read { session throws(StoreError) in
            try Sessions.user(of: secret, now: now, in: session)
        }
        guard let user else { return Identity(caller: .nobody) }
        return Identity(caller: .user(user.role), name: user.name, session: secret)
    }

    /// The session that the cookies of a request name.
    static func session(_ headers: HTTPFields) -> Secret? {
        for pair in (headers[.cookie] ?? "").split(separator: ";").prefix(50) {
            let text = pair.drop { $0 == " " }
            guard text.hasPrefix(cookie + "="), let secret = Secret(text.dropFirst(cookie.count + 1)),
                secret.kind == .session
            else { continue }
            return secret
        }
        return nil
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
        let device = secret.owner
        let remembered = known.withLock { $0[device] }
        var record: TokenRecord?
        if let remembered, .now - remembered.asOf < Self.freshness {
            record = remembered.tokens.valid(secret, now: now)
            if record == nil, .now - remembered.asOf < Self.reload { throw Problem.unauthorized }
        }
        if record == nil {
            let read = try await store.read { session throws(StoreError) in
                try Devices.tokens(of: device, in: session)
            }
            guard let tokens = read else { throw Problem.unauthorized }
            remember(tokens, of: device)
            record = tokens.valid(secret, now: now)
        }
        guard let record else { throw Problem.unauthorized }
        var identity = Identity(caller: .device(device))
        // Remembered as it was read for a few seconds, in which it may be noted more than once: only the first time counts.
        if record.used == nil { identity.newToken = record.hash }
        return identity
    }

    private func remember(_ tokens: DeviceTokens, of device: Int64) {
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll(keepingCapacity: true) }
            known[device] = Known(tokens: tokens, asOf: .now)
        }
    }

    /// The tokens of this device have changed.
    func forget(_ device: Int64) {
        known.withLock { known in known[device] = nil }
    }
}
