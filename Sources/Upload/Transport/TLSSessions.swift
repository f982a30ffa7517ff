internal import Base
internal import CCurl

/// The TLS sessions of one destination, shared by its connections one after the other. In memory only, and confined to one
/// thread: it has no locks.
///
/// `SessionLifetime` says when they are to be forgotten; the owner then closes what uses them, and calls `drop`.
package struct TLSSessions: ~Copyable {
    private var share: OpaquePointer?
    private var lifetime = SessionLifetime()

    /// No sessions yet.
    package init() {}

    deinit {
        // libcurl would refuse to free what a handle still uses: the owner's are gone before.
        if let share { curl_share_cleanup(UnsafeMutableRawPointer(share)) }
    }

    /// For `CURLOPT_SHARE` of a new handle; nil without memory, and then each handshake is a full one.
    package mutating func handle() -> OpaquePointer? {
        share = share ?? ccurl_share_sessions().map { OpaquePointer($0) }
        return share
    }

    /// A request is about to be made.
    ///
    /// - Returns: the sessions are to be forgotten before.
    mutating func begin(_ terms: SessionLifetime.Terms, now: BootInstant) -> Bool {
        lifetime.begin(terms, now: now)
    }

    /// The request has ended.
    mutating func end(_ handshake: SessionLifetime.Handshake) -> SessionLifetime.Verdict {
        lifetime.end(handshake)
    }

    /// Carries out what `begin` or `end` has said. No handle may use the sessions any more.
    mutating func drop() {
        if let share { curl_share_cleanup(UnsafeMutableRawPointer(share)) }
        share = nil
    }

    /// The next request begins with a full handshake, whatever the reason.
    package mutating func expire() {
        lifetime.expire()
    }
}
