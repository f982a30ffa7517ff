internal import Base
internal import Configuration
internal import ControlProtocol
internal import Linux
internal import Upload

extension Handlers {
    /// The last second of the year 9999.
    private static let lastSecond = 253_402_300_799

    func seedAuth(_ call: Call, _ peer: Peer) throws -> Answer {
        let parameters = try call.parameters(of: Wire.SeedAuth.self)
        try requireAdmin(peer)
        for (name, token) in [
            ("access_token", parameters.accessToken), ("refresh_token", parameters.refreshToken),
        ] {
            if let token, !Tokens.isToken(token) { throw ControlError.invalidParameter(name) }
        }
        if let expiry = parameters.expiresAt, !(0...Self.lastSecond).contains(expiry) {
            throw ControlError.invalidParameter("expires_at")
        }
        let tokens = Tokens(
            access: parameters.accessToken, refresh: parameters.refreshToken,
            expiresAt: parameters.expiresAt.map { Int64($0) })
        guard !tokens.isEmpty else { throw ControlError.invalidParameter("access_token") }
        guard let auth = settings.sync?.auth else {
            throw ControlError.invalidConfiguration(
                key: "sync.auth", reason: "there is no table [sync.auth] to use a token by; write one first")
        }
        guard tokens.access != nil || auth.refreshURL != nil else {
            throw ControlError.invalidConfiguration(
                key: "sync.auth.refresh_url", reason: "without it a refresh token alone is of no use")
        }
        log(call, peer)
        try takeAttempt()
        let token = nextToken()
        try post(.seed(tokens, token))
        return .later(token)
    }

    func authEvent() -> Wire.Event {
        Wire.Event(kind: "auth", auth: Wire.AuthStatus(hub.board.uploaderSnapshot.auth))
    }
}

extension Wire.AuthStatus {
    init(_ state: AuthState) {
        self.init(
            state: state.word.rawValue, reason: state.death?.rawValue, expiresAt: state.expiresAt?.iso8601,
            lastRefresh: state.lastRefresh?.iso8601, failures: state.failures)
    }
}
