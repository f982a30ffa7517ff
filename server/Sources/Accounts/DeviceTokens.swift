package import Base
internal import ServerStore

/// One row of the tokens of a device.
package struct TokenRecord: Equatable, Sendable {
    package var hash: [UInt8]
    package var kind: Secret.Kind
    package var created: Timestamp
    /// nil: never.
    package var expires: Timestamp?
    /// When it was first shown to us: then it has arrived at the device.
    package var used: Timestamp?
    /// The refresh token that bought it; nil for the first pair.
    package var parent: [UInt8]?

    package init(
        hash: [UInt8], kind: Secret.Kind, created: Timestamp, expires: Timestamp? = nil,
        used: Timestamp? = nil,
        parent: [UInt8]? = nil
    ) {
        self.hash = hash
        self.kind = kind
        self.created = created
        self.expires = expires
        self.used = used
        self.parent = parent
    }
}

/// All tokens of one device, and what they allow. A value: who calls reads and writes the rows.
package struct DeviceTokens: Equatable, Sendable {
    package var records: [TokenRecord]
    /// A device that was revoked may nothing.
    package var isRevoked: Bool

    package init(records: [TokenRecord], isRevoked: Bool = false) {
        self.records = records
        self.isRevoked = isRevoked
    }

    /// Seconds during which a refresh token is still taken although its successor has been used: two requests of one
    /// device may overtake each other.
    package static let grace = 60.0

    /// - Returns: the record of a token that is valid at `now`.
    package func valid(_ secret: Secret, now: Timestamp) -> TokenRecord? {
        guard !isRevoked else { return nil }
        var found: TokenRecord?
        // All are compared, whichever it is.
        for record in records where secret.matches(record.hash) && record.kind == secret.kind {
            found = record
        }
        guard let found, found.expires.map({ now < $0 }) ?? true else { return nil }
        return found
    }

    /// What a refresh token buys.
    package struct Rotation: Equatable, Sendable {
        /// Tokens that end: those that have never arrived, and those that nobody can need any more.
        package var ends: [[UInt8]]
    }

    /// Decides on an exchange of the refresh token.
    ///
    /// The old refresh token stays valid until one of its successors has been used, however long that takes: whoever lost
    /// the answer, to a power cut in the middle of the exchange, asks again with what it has. Those successors never arrived
    /// anywhere, and end. Afterwards it is taken for `grace` seconds more, and then never again.
    ///
    /// - Returns: nil when it buys nothing.
    package func exchange(_ secret: Secret, now: Timestamp) -> Rotation? {
        guard secret.kind == .refresh, let own = valid(secret, now: now) else { return nil }
        guard !isSpent(own, now: now) else { return nil }
        let ends = records.filter { record in
            (record.parent == own.hash && record.used == nil) || isSpent(record, now: now)
                || record.expires.map { $0 <= now } ?? false
        }
        return Rotation(ends: ends.map(\.hash))
    }

    /// One of its successors has arrived, and the grace is over.
    private func isSpent(_ record: TokenRecord, now: Timestamp) -> Bool {
        let arrival = records.filter { $0.parent == record.hash }.compactMap(\.used).min()
        return arrival.map { now.seconds(since: $0) > Self.grace } ?? false
    }
}
