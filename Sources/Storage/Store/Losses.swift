internal import Base

/// Rows that are gone without any backend having received them, by the rule that removed them. Counted in the
/// database, in the transaction that removes them, across all restarts.
package struct Losses: Equatable, Sendable {
    /// Deleted unsent, because there were more locations or events than the cap.
    package var dropped = 0
    /// Deleted unsent for their age: while no upload was configured, or for `StoreOptions.unsentRetention`.
    package var pruned = 0
    /// Dead letters deleted after their retention time.
    package var expired = 0
    /// Never stored: storage failed, and memory was full.
    package var refused = 0

    /// Counts by what has become of the rows; all 0 by default.
    package init(dropped: Int = 0, pruned: Int = 0, expired: Int = 0, refused: Int = 0) {
        self.dropped = dropped
        self.pruned = pruned
        self.expired = expired
        self.refused = refused
    }

    /// The sum of both.
    package static func + (left: Losses, right: Losses) -> Losses {
        Losses(
            dropped: left.dropped + right.dropped, pruned: left.pruned + right.pruned,
            expired: left.expired + right.expired, refused: left.refused + right.refused)
    }

    /// What has been added since `right`.
    static func - (left: Losses, right: Losses) -> Losses {
        Losses(
            dropped: left.dropped - right.dropped, pruned: left.pruned - right.pruned,
            expired: left.expired - right.expired, refused: left.refused - right.refused)
    }
}

/// What a transaction loses: each row once, and once more for each destination that it was owed to, where each debt is
/// written down.
struct LossAccount: Equatable, Sendable {
    var all = Losses()
    var byName: [DestinationName: Losses] = [:]

    static func + (left: LossAccount, right: LossAccount) -> LossAccount {
        LossAccount(all: left.all + right.all, byName: left.byName.merging(right.byName) { $0 + $1 })
    }
}
