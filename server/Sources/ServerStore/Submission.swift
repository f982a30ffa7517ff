package import Base
package import EnvelopeReader

/// A batch on its way into the database, from the device that its token names.
package struct Submission: Sendable {
    package var device: Int64
    package var batch: Batch
    /// When it arrived, by this server's clock.
    package var received: Timestamp
    /// When it arrived, by the lesser of this clock and the database's: when the device was heard of.
    package var wall: Timestamp
    /// When it arrived, by the guarded time: by what commands expire.
    package var age: Timestamp
    /// The latest moment that it can be: the greater of `wall` and the guarded time.
    package var latest: Timestamp
    /// Rows of before this moment are acknowledged and not stored; nil: all are.
    package var keptSince: Timestamp?
    /// Whether a batch with its id is known when it comes again. Ids of another time than ours would need a partition of their
    /// own, and rows are stored once by themselves.
    package var isRemembered = true
    /// Batches with ids of before this moment are not remembered; nil: all are.
    package var rememberedSince: Timestamp?
    /// What the counter of a signed list must reach at least; nil when nothing is signed.
    package var counter: Int64?
    /// Hash of the token that came with it, when nothing has come with that one before.
    package var newToken: [UInt8]?
    /// Hash of the token that came with it; nil: whether that is still one of the device's does not matter.
    package var token: [UInt8]?
    /// The first of the `Revocations` that its token was not judged by; nil: that does not matter.
    package var nextRevocation: Int64?
    /// What is to be told of; nil: nothing.
    package var rules: RuleBook?
    /// What is to be forwarded of it, and to whom; nil: nothing.
    package var forwarding: Forwarding?

    package init(
        device: Int64, batch: Batch, received: Timestamp, keptSince: Timestamp? = nil,
        newToken: [UInt8]? = nil
    ) {
        self.device = device
        self.batch = batch
        self.received = received
        wall = received
        age = received
        latest = received
        self.keptSince = keptSince
        self.newToken = newToken
    }

    /// What comes with it, each with a time and an id.
    package var rows: Int { batch.rowCount }

    /// What it costs to store, in rows.
    var load: Int { rows + batch.remarks.results.count }

    /// Tells batches of one id apart that have other rows, whatever their order.
    var rowDigest: Int64 {
        var ids: [UUIDv7] = []
        ids.reserveCapacity(rows)
        for row in batch.locations { ids.append(row.id) }
        for row in batch.events { ids.append(row.id) }
        for row in batch.remarks.events { ids.append(row.id) }
        return Self.digest(of: ids)
    }

    /// Digest of ids of rows, whatever their order.
    static func digest(of ids: [UUIDv7]) -> Int64 {
        let ids = ids.sorted()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 * ids.count)
        for id in ids { id.withBytes { bytes.append(contentsOf: $0) } }
        return Digest.short(bytes)
    }

    /// The end of the day of the newest row that is to be stored: as long as that is kept, so are the extras. Not the row itself,
    /// so that a vehicle whose extras stay the same changes them once a day.
    /// 0 when there is none that has them.
    var newestDay: Int64 {
        var newest: Timestamp?
        for row in batch.locations where isKept(row.time) { newest = max(newest ?? row.time, row.time) }
        for row in batch.events where isKept(row.time) { newest = max(newest ?? row.time, row.time) }
        return newest.map { ($0.milliseconds / 86_400_000 + 1) * 86_400_000 } ?? 0
    }

    /// Whether its id is kept. One of before the retention would be removed again at once, and with PostgreSQL its week made for
    /// that.
    var keepsID: Bool {
        isRemembered && isKept(batch.id.time) && (rememberedSince.map { batch.id.time >= $0 } ?? true)
    }

    func isKept(_ time: Timestamp) -> Bool {
        keptSince.map { time >= $0 } ?? true
    }

    /// Rows that are to be stored.
    var keptRows: Int {
        batch.locations.count { isKept($0.time) } + batch.events.count { isKept($0.time) }
            + batch.remarks.events.count { isKept($0.time) }
    }
}

/// What became of a batch, once that can no longer be lost.
package struct Receipt: Equatable, Sendable {
    /// Rows that were new.
    package var stored: Int
    /// Rows that were there already, or are in a batch that was seen before.
    package var duplicates: Int
    /// Rows from before the retention.
    package var expired: Int
    /// What the device is to do, oldest first.
    package var commands: [WaitingCommand] = []
    /// An installation that is another than the device's, and was not known; nil: none.
    package var otherInstallation: UUIDv7?
    /// The id of the batch was known, with other rows.
    package var hasOtherRows = false
    /// Something of its device is in the outbox of alerts now.
    package var hasAlerts = false
    /// Whether it came from another installation with the device's tokens, which gets no commands.
    package var isOfOther = false
    /// The token of the batch has ended since it was judged, and nothing of the batch is stored.
    package var isRefused = false
    /// Counter of the signed list with these commands: greater than any before. nil when nothing is signed.
    package var counter: Int64?

    package init(stored: Int = 0, duplicates: Int = 0, expired: Int = 0) {
        self.stored = stored
        self.duplicates = duplicates
        self.expired = expired
    }
}
