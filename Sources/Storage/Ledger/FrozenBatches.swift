/// The frozen batches of one destination, and the draft of the next one, in memory: what the database holds of them. The
/// uploader's `BatchQueue`, in the module `Daemon`, makes them and acts on answers.
struct FrozenBatches: Equatable, Sendable {
    /// In the order in which they are to be sent.
    private(set) var frozen: [Ledger.Frozen] = []
    /// The rows that the uploader is about to freeze; they are not pruned either.
    private(set) var draft: BatchMembers?
    /// The number of rows that the connection had changed when the draft was read.
    private var changesAtDraft: Int64 = 0
    /// The latest draft, while it holds every pending row of its session up to its last one: what follows it then begins
    /// there.
    private(set) var gapless: BatchMembers?
    /// Counts the changes of what is reserved.
    private(set) var stamp = 0

    /// What neither the cap nor age may take.
    var reserved: [BatchMembers] { frozen.map(\.members) + (draft.map { [$0] } ?? []) }

    mutating func replace(with batches: [Ledger.Frozen]) {
        frozen = batches
        stamp += 1
    }

    mutating func append(_ batch: Ledger.Frozen) {
        replace(with: frozen + [batch])
    }

    /// By more than its key, which the next one may have got.
    mutating func remove(_ batch: FrozenBatch) {
        replace(with: frozen.filter { !$0.isOf(batch) })
    }

    mutating func remove(where isGone: (Ledger.Frozen) -> Bool) {
        replace(with: frozen.filter { !isGone($0) })
    }

    mutating func set(_ batch: FrozenBatch, isPermanent: Bool) {
        for index in frozen.indices where frozen[index].isOf(batch) {
            frozen[index].isPermanent = isPermanent
        }
    }

    /// - Parameters:
    ///   - changes: the number of rows that the connection has changed so far.
    ///   - isGapless: the draft holds every pending row of its session up to its last one.
    mutating func drafted(_ members: BatchMembers, changes: Int64, isGapless: Bool) {
        if members != draft { stamp += 1 }
        draft = members
        changesAtDraft = changes
        gapless = isGapless ? members : nil
    }

    mutating func dropDraft() {
        if draft != nil { stamp += 1 }
        draft = nil
    }

    /// A pending row has been added.
    mutating func added(_ key: RowKey) {
        if let last = gapless?.last, key <= last { gapless = nil }
    }

    /// Whether nothing else is frozen and it is whole: only then is it known what follows it before it is acknowledged.
    func isAlone(_ batch: FrozenBatch) -> Bool {
        frozen.count == 1 && frozen[0].isOf(batch) && !batch.isPiece
    }

    /// Whether nothing at all has been written since the draft was read, on the only connection that writes. Asked before
    /// a transaction: what that one writes counts as well.
    func isUntouched(_ draft: BatchDraft, changes: Int64) -> Bool {
        draft.members == self.draft && changes == changesAtDraft
    }
}
