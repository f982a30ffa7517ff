internal import Base

/// Decides how long TLS sessions may be resumed. Pure: whoever owns it forgets the sessions when told to.
///
/// A resumed handshake sends no certificates, and so verifies none: it stands on what an earlier one has found. A session
/// therefore lasts no longer than all that was true then.
struct SessionLifetime: Sendable {
    /// Seconds. The system's authorities, a revoked certificate, a file that was swapped without a trace: all of it is felt
    /// after a day at the latest.
    static let longest = 86_400.0

    /// What sessions are agreed under.
    struct Terms: Equatable, Sendable {
        /// The destination, and who uploads there.
        var identity: SessionIdentity
        /// The way there; nil for a direct one.
        var proxy: String?
        /// Files of authorities, client certificate and key, in this order; nil where there is none.
        var files: [TLSFile?]
    }

    /// What became of the handshake of a request.
    enum Handshake: Equatable, Sendable {
        /// Done, now or earlier on the same connection.
        case done
        /// The handshake had not even begun.
        case unreached
        /// Broken off: nothing of the request was sent.
        case refused
        /// Incomplete, or complete and the connection gone before the answer: in TLS 1.3 that is how a server refuses a
        /// client's certificate (RFC 8446, section 4.4.2.4).
        case doubtful
    }

    /// What to do with the sessions after a request.
    enum Verdict: Equatable, Sendable {
        case keep
        case forget
        /// Forget them, and make the request again: the session may be what the server did not accept, and there is
        /// nothing that could arrive twice.
        case forgetAndRepeat
    }

    private var terms: Terms?
    /// When the oldest of the sessions may have been agreed; nil when there is none.
    private var since: BootInstant?
    /// A handshake has gone well since, so there may be a session that the next one offers.
    private var isOffering = false
    /// Whether credentials have changed, so that no session may be resumed, whatever the terms.
    private var isExpired = false

    /// A request is about to be made.
    ///
    /// - Returns: the sessions are to be forgotten before.
    mutating func begin(_ terms: Terms, now: BootInstant) -> Bool {
        if let since, !isExpired, self.terms == terms, now.seconds(since: since) < Self.longest {
            return false
        }
        let hadSome = since != nil
        forget()
        self.terms = terms
        since = now
        return hadSome
    }

    /// The request has ended, or the repeated one has.
    mutating func end(_ handshake: Handshake) -> Verdict {
        switch handshake {
        case .done:
            isOffering = true
            return .keep
        case .unreached: return .keep
        case .refused:
            guard isOffering else {
                forget()
                return .forget
            }
            // The repeated request may agree on another, under the same terms.
            isOffering = false
            return .forgetAndRepeat
        case .doubtful:
            forget()
            return .forget
        }
    }

    /// The request under way, if there is one, is the last that these sessions are for.
    mutating func expire() {
        isExpired = true
    }

    private mutating func forget() {
        since = nil
        isOffering = false
        isExpired = false
    }
}
