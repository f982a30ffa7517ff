internal import SQLite

/// Rows that are gone without any backend having received them, by the rule that removed them. Counted in the
/// database, in the transaction that removes them, across all restarts.
package struct Losses: Equatable, Sendable {
    /// Deleted unsent, because there were more locations or events than the cap.
    package var dropped = 0
    /// Deleted unsent for their age, while no upload was configured.
    package var pruned = 0
    /// Dead letters deleted after their retention time.
    package var expired = 0
    /// Never stored: storage failed, and memory was full.
    package var refused = 0

    /// None by default.
    package init(dropped: Int = 0, pruned: Int = 0, expired: Int = 0, refused: Int = 0) {
        self.dropped = dropped
        self.pruned = pruned
        self.expired = expired
        self.refused = refused
    }

    /// A damaged file may contain any number.
    static func bounded(_ count: Int64) -> Int { Int(clamping: min(max(count, 0), 1 << 52)) }

    /// The counters in the database.
    static let names: [(name: String, field: any (WritableKeyPath<Losses, Int> & Sendable))] = [
        ("dropped_unsent", \.dropped), ("pruned", \.pruned), ("expired", \.expired), ("refused", \.refused),
    ]

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

extension Writer {
    /// Part of the transaction that loses them; `losses` is updated once it is committed.
    func note(_ lost: Losses) throws(SQLiteError) {
        for (name, field) in Losses.names where lost[keyPath: field] > 0 {
            try statements.raiseCounter.run(.text(name), .integer(Int64(lost[keyPath: field])))
        }
    }

    /// Records the loss of fixes that never reached the store.
    mutating func count(refused: Int) throws(SQLiteError) {
        try note(Losses(refused: refused))
        losses.refused += refused
    }

    mutating func loadLosses() throws(SQLiteError) {
        for (name, field) in Losses.names {
            losses[keyPath: field] = Losses.bounded(try counter(name))
        }
    }
}

extension Store {
    /// Counts fixes that were refused while the database could not be written.
    @available(*, noasync, message: "blocks on the disk")
    package func count(refused: Int) throws(StorageError) {
        try perform("count refused fixes") { (writer) throws(SQLiteError) in
            try writer.count(refused: refused)
        }
    }
}
