package import Base
internal import ServerStore

/// One row of the tokens of a device.
package struct TokenRecord: Equatable, Sendable {
    package var hash: [UInt8]
    package var kind: Secret.Kind
    /// Number of the pair, which two tokens share.
    package var pair: Int64
    /// nil: not known.
    package var created: Timestamp?
    /// nil: never.
    package var expires: Timestamp?
    /// When its pair arrived at the device; nil: it was offered, and none of it has been shown to us.
    package var used: Timestamp?
    /// When the token's pair ended.
    package var ended: Timestamp?

    package init(
        hash: [UInt8], kind: Secret.Kind, pair: Int64 = 1, expires: Timestamp? = nil,
        used: Timestamp? = nil, ended: Timestamp? = nil
    ) {
        self.hash = hash
        self.kind = kind
        self.pair = pair
        self.expires = expires
        self.used = used
        self.ended = ended
    }
}

/// All tokens of one device, and what they allow. A value: who calls reads and writes the rows.
package struct DeviceTokens: Equatable, Sendable {
    package var records: [TokenRecord]
    /// A device that was revoked may nothing.
    package var isRevoked: Bool
    /// The first of those `Revocations` that it does not know of.
    package var nextRevocation: Int64 = 0

    package init(records: [TokenRecord], isRevoked: Bool = false) {
        self.records = records
        self.isRevoked = isRevoked
    }

    /// Pairs that are offered at once: as many answers may be lost, one after the other, before the oldest ends.
    package static let mostOffered = 64
    /// Seconds by which clocks may be ahead.
    private static let slack = 86_400.0

    /// - Parameters:
    ///   - now: as the clock has it, which may be behind.
    ///   - latest: the latest moment that it can be; nil: `now`. A token that was made long after that was made by a clock that was
    ///     ahead.
    /// - Returns: the record of a token that is valid at `now`. An access token outlives its pair by `TokenPairs.grace`.
    package func valid(_ secret: Secret, now: Timestamp, latest: Timestamp? = nil) -> TokenRecord? {
        guard !isRevoked else { return nil }
        var found: TokenRecord?
        // All are compared, whichever it is.
        for record in records where secret.matches(record.hash) && record.kind == secret.kind {
            found = record
        }
        guard let found, found.expires.map({ now < $0 }) ?? true else { return nil }
        // Made by a clock that was ahead, it would be good for as long; its refresh token buys another one.
        let isOfThisTime = found.created.map { $0 <= (latest ?? now).advanced(bySeconds: Self.slack) } ?? true
        guard found.kind == .refresh || isOfThisTime else { return nil }
        guard let ended = found.ended else { return found }
        // Ended by such a clock, it has ended all the same.
        let isGraceful = abs(now.milliseconds - ended.milliseconds) < TokenPairs.grace
        return found.kind == .access && isGraceful ? found : nil
    }

    /// What a refresh token buys.
    package struct Rotation: Equatable, Sendable {
        /// Number of the new pair.
        package var pair: Int64
        /// The pair that ends for it, since too many are offered.
        package var ends: Int64?
    }

    /// Decides on an exchange of the refresh token, whose pair has arrived by that.
    ///
    /// It buys one more pair as often as it is shown, until one of these has been shown, however long that takes: whoever lost
    /// the answer, to a power cut in the middle of the exchange, asks again with what it has. Nothing ends by buying.
    ///
    /// - Returns: nil when it buys nothing.
    package func exchange(_ secret: Secret, now: Timestamp) -> Rotation? {
        guard secret.kind == .refresh, let own = valid(secret, now: now) else { return nil }
        let offered = Set(records.filter { $0.used == nil && $0.ended == nil }.map(\.pair))
            .subtracting([own.pair])
        let newest = records.map(\.pair).max() ?? 0
        return Rotation(
            pair: newest + 1, ends: offered.count < Self.mostOffered ? nil : offered.min())
    }
}
