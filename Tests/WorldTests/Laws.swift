import Base
import Tracking

/// What is promised, held against what happens. Each law says where the promise stands.
final class Laws {
    /// What was broken, in words; a seed goes on no further than its first.
    private(set) var violations: [String] = []
    /// Of each row that was announced as stored: when its fix was.
    private(set) var stored: [String: Timestamp] = [:]
    /// Whether a COMMIT may have failed lately.
    var mayHaveFailed: () -> Bool = { false }
    /// Rows that were sent before they were announced.
    private var early: Set<String> = []
    /// Rows that the user has deleted, which was answered.
    private var deleted: Set<String> = []
    /// The same, or may be: a kill came before the answer.
    private var perhapsDeleted: Set<String> = []
    /// Batches whose rows may go out in others: one of them was deleted, or the server has refused the batch for good, and other
    /// settings may mend that.
    private var reopened: Set<String> = []
    /// Batches whose acceptance the process that lives has heard.
    private var accepted: Set<String> = []
    private var bodies: [String: [UInt8]] = [:]
    private var batches: [String: Set<String>] = [:]

    func broken(_ what: String) {
        violations.append(what)
    }

    func stored(_ location: Location) {
        stored[location.id.description] = location.fix.time
        early.remove(location.id.description)
    }

    /// What a deletion is about that is asked for now: whatever is stored.
    ///
    /// - Parameter cutoff: rows until then; nil: all.
    func rows(before cutoff: Timestamp?) -> Set<String> {
        Set(stored.filter { _, time in cutoff.map { time <= $0 } ?? true }.map(\.key))
    }

    /// A deletion of these rows was answered.
    func deletionAnswered(of rows: Set<String>) {
        deleted.formUnion(rows)
        deletionUnanswered(of: rows)
    }

    /// Nobody will answer it any more.
    func deletionUnanswered(of rows: Set<String>) {
        perhapsDeleted.formUnion(rows)
        for (id, batch) in batches where !batch.isDisjoint(with: rows) { reopened.insert(id) }
    }

    /// A process has died: what the next start finds.
    ///
    /// - Parameters:
    ///   - isDurable: all that was answered must be there.
    ///   - rows: what the server has.
    func found(_ holding: SimulatedMachine.Holding, isDurable: Bool, _ rows: [String: Set<String>]) {
        let gone = stored.keys.filter {
            holding.rows[$0] == nil && rows[$0] == nil && !perhapsDeleted.contains($0)
        }
        // docs/durability.md, "Stored means committed", and, for `durability = "normal"`, "Where it ends".
        if let first = gone.min(), isDurable {
            broken("\(gone.count) rows that were stored are gone, among them \(first)")
        }
        for id in gone { stored[id] = nil }
        // docs/durability.md, "Deleted means erased".
        let back = deleted.intersection(holding.rows.keys)
        if let first = back.min() { broken("row \(first), which was deleted, is back") }
        // The same: their freezing may be undone, and then they go out in another batch.
        if !isDurable {
            for (id, batch) in batches
            where !holding.batches.contains(id) && batch.contains(where: { holding.rows[$0] != nil }) {
                reopened.insert(id)
            }
        }
        (accepted, early) = ([], [])
        // Committed, and not announced any more.
        stored.merge(holding.rows) { known, _ in known }
    }

    /// The first byte of a request has been sent.
    ///
    /// - Parameter taken: the body with which the server has taken the batch before; nil: it has not.
    func sent(_ batch: SentBatch, _ body: [UInt8], before taken: [UInt8]?) {
        let id = batch.batchID
        // docs/durability.md, "Retries are identical": an id belongs to one body for ever.
        if let known = bodies[id] ?? taken, known != body { broken("batch \(id) has two bodies") }
        bodies[id] = body
        // docs/durability.md, "When the disk fails": an acknowledgement that cannot be written is retried, and the batch is not
        // sent meanwhile.
        if accepted.contains(id) { broken("batch \(id) was accepted, and is sent again") }
        let rows = Set(batch.locations.map(\.id))
        batches[id] = rows
        // docs/durability.md, "Deleted means erased": nothing that was deleted goes out once the deletion was answered.
        let gone = rows.intersection(deleted)
        if let first = gone.min() { broken("batch \(id) has row \(first), which was deleted") }
        // docs/durability.md, "Stored means committed": sent is only what is stored. A COMMIT that has failed may have reached the
        // disk all the same (seed 687): then it is, is sent, and is announced when the reader tries again.
        let unknown = rows.subtracting(stored.keys)
        if let first = unknown.min(), !mayHaveFailed() {
            broken("batch \(id) has row \(first), which nobody has stored")
        }
        early.formUnion(unknown)
    }

    /// The process has heard that the server has this batch.
    func accepted(_ batch: String) {
        accepted.insert(batch)
    }

    /// The server has said that it will never take this batch, whether it has it or not.
    func refused(_ batch: SentBatch) {
        reopened.insert(batch.batchID)
    }

    /// At the end, when the server takes everything and nothing is pending.
    ///
    /// - Parameter rows: what the server has, and in which batches.
    func ended(_ rows: [String: Set<String>]) {
        // docs/durability.md, "Only a believed 2xx deletes": what is stored arrives, unless the user deletes it.
        if let first = early.min() {
            broken("\(early.count) rows came that were never announced, among them \(first)")
        }
        let lost = stored.keys.filter { rows[$0] == nil && !perhapsDeleted.contains($0) }
        if let first = lost.min() { broken("\(lost.count) rows are lost, among them \(first)") }
        // docs/durability.md, "Retries are identical": a row is in one batch, unless that had to be made anew.
        let twice = rows.filter { $0.value.count > 1 && $0.value.isDisjoint(with: reopened) }
        if let first = twice.keys.min() {
            broken("\(twice.count) rows came in two batches, among them \(first)")
        }
    }
}
