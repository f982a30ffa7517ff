import Base
import Tracking

/// What is promised, held against what happens. Each law says where the promise stands. What is promised of one destination is in
/// `DeliveryLaws`.
final class Laws {
    /// What was broken, in words; a seed goes on no further than its first.
    private(set) var violations: [String] = []
    /// For each row that was announced as stored: when its fix was.
    private(set) var stored: [String: Timestamp] = [:]
    /// The order in which they were announced.
    private var order: [String: Int] = [:]
    /// Which of these are entries into geofences, and exits.
    fileprivate private(set) var crossings: Set<String> = []
    /// By geofence, as long as that is known: what the latest event of it was.
    private var latestCrossings: [String: (kind: Crossing.Kind, id: String)] = [:]
    /// Seconds that the gate keeps between two rows.
    var interval = 0.0
    /// Session and time of the row that was stored last, as long as the next may be held against it.
    private var latestOfSession: (UUIDv7, Timestamp)?
    /// A deletion of all until then was answered.
    private var deletedUntil: Timestamp?
    /// Whether a deletion is under way.
    var isDeleting: () -> Bool = { false }
    /// Whether rows may be stored that nobody has been told of yet: a COMMIT may have failed lately, or a turn has come in between.
    var mayBeUnannounced: () -> Bool = { false }
    /// Rows that were sent before they were announced.
    private var early: Set<String> = []
    /// Rows that the user has deleted, which was answered.
    fileprivate private(set) var deleted: Set<String> = []
    /// Rows that are deleted, or may be: a kill came before the answer.
    fileprivate private(set) var perhapsDeleted: Set<String> = []
    private(set) var deliveries: [DeliveryLaws] = []

    func broken(_ what: String) {
        violations.append(what)
    }

    /// One more destination is owed every row.
    ///
    /// - Parameter carriesCrossings: the events of geofences, too.
    func addDestination(_ name: DestinationName, carriesCrossings: Bool) -> DeliveryLaws {
        let delivery = DeliveryLaws(name, self, carriesCrossings: carriesCrossings)
        deliveries.append(delivery)
        return delivery
    }

    func stored(_ location: Location) {
        judgeGate(location)
        judgeLateness(of: location)
        stored[location.id.description] = location.fix.time
        order[location.id.description] = order.count
        early.remove(location.id.description)
    }

    /// docs/geofences-and-motion.md, "The gate": the interval since the last stored fix is kept, over restarts, too.
    private func judgeGate(_ location: Location) {
        guard let session = location.session else { return }
        // With what is deleted the gate forgets its last fix.
        defer { latestOfSession = isDeleting() ? nil : (session, location.fix.time) }
        guard location.trigger == .interval, !isDeleting(), let (known, time) = latestOfSession,
            known == session
        else { return }
        let seconds = location.fix.time.seconds(since: time)
        guard seconds >= 0, seconds < interval - Gate.intervalTolerance else { return }
        broken("row \(location.id) is \(seconds) s after the one before, and the interval is \(interval) s")
    }

    /// docs/durability.md, "Deleted means erased": what was received before a deletion is not stored after its answer.
    private func judgeLateness(of location: Location) {
        guard let deletedUntil, location.fix.time < deletedUntil else { return }
        broken("row \(location.id), of before a deletion, is stored after that was answered")
    }

    /// The time that the receiver tells is another from now on.
    func timeChanged() { (latestOfSession, deletedUntil) = (nil, nil) }

    /// An event of a geofence.
    func stored(_ event: SimulatedMachine.Holding.Event) {
        guard stored[event.id] == nil else { return }
        // docs/geofences-and-motion.md, "Geofences": there are never two entries in a row, nor two exits.
        if latestCrossings[event.geofence]?.kind == event.kind {
            broken("two times \(event.kind) in a row of geofence \(event.geofence)")
        }
        latestCrossings[event.geofence] = (event.kind, event.id)
        stored[event.id] = event.time
        order[event.id] = order.count
        crossings.insert(event.id)
        early.remove(event.id)
    }

    /// A geofence is another, or may be.
    func changed(geofence: String) { latestCrossings[geofence] = nil }

    /// What a deletion is about that is asked for now: whatever is stored.
    ///
    /// - Parameter cutoff: rows until then; nil: all.
    func rows(before cutoff: Timestamp?) -> Set<String> {
        Set(stored.filter { _, time in cutoff.map { time <= $0 } ?? true }.map(\.key))
    }

    /// A deletion of these rows was answered.
    ///
    /// - Parameter end: of what was deleted.
    func deletionAnswered(of rows: Set<String>, until end: Timestamp) {
        deletedUntil = max(end, deletedUntil ?? end)
        deleted.formUnion(rows)
        deletionUnanswered(of: rows)
    }

    /// Nobody will answer it any more.
    func deletionUnanswered(of rows: Set<String>) {
        latestOfSession = nil
        perhapsDeleted.formUnion(rows)
        for delivery in deliveries { delivery.reopen { !$1.isDisjoint(with: rows) } }
    }

    /// A process has died: what the next start finds.
    ///
    /// - Parameter isDurable: all that was answered must be there.
    func found(_ holding: SimulatedMachine.Holding, isDurable: Bool) {
        let gone = missing(from: holding)
        // docs/durability.md, "Stored means committed", and, for `durability = "normal"`, "Where it ends": the latest.
        if isDurable {
            tell(gone)
        } else if let first = gone.compactMap({ order[$0] }).min(),
            let later = stored.keys.first(where: { order[$0, default: 0] > first && holding.has($0) })
        {
            broken("\(gone.count) rows are gone, and row \(later), which came later, is there")
        }
        for id in gone { (stored[id], order[id]) = (nil, nil) }
        // The state of its geofence has gone with it: also where a server has it, or nobody wants it.
        if !isDurable { latestOfSession = nil }
        if !isDurable { latestCrossings = latestCrossings.filter { holding.has($1.id) } }
        tellDeleted(in: holding)
        // Their freezing may be undone, and then they go out in another batch.
        for delivery in deliveries {
            if !isDurable {
                delivery.reopen { id, batch in
                    !holding.batches.contains(id) && batch.contains { holding.has($0) }
                }
            }
            delivery.died()
        }
        early = []
        // Committed, and not announced any more.
        for (row, time) in holding.rows where stored[row] == nil {
            (stored[row], order[row]) = (time, order.count)
        }
        for event in holding.events { stored(event) }
    }

    /// What is in the database of a process that lives.
    func compare(_ holding: SimulatedMachine.Holding) {
        tell(missing(from: holding))
        tellDeleted(in: holding)
    }

    /// Rows that were stored, are not there any more, and are still owed.
    private func missing(from holding: SimulatedMachine.Holding) -> [String] {
        stored.keys.filter { row in
            !holding.has(row) && !perhapsDeleted.contains(row)
                && !deliveries.allSatisfy { $0.has(row) || !$0.isOwed(row) }
        }
    }

    private func tell(_ gone: [String]) {
        if let first = gone.min() {
            broken("\(gone.count) rows that were stored are gone, among them \(first)")
        }
    }

    /// docs/durability.md, "Deleted means erased".
    private func tellDeleted(in holding: SimulatedMachine.Holding) {
        let back = deleted.filter { holding.has($0) }
        if let first = back.min() { broken("row \(first), which was deleted, is back") }
    }

    /// docs/durability.md, "Stored means committed": sent is only what is stored. A COMMIT that has failed may have reached the disk
    /// all the same (seed 687): then it is, is sent, and is announced when the reader tries again.
    fileprivate func sent(_ rows: Set<String>, in batch: String) {
        let unknown = rows.filter { stored[$0] == nil }
        if let first = unknown.min(), !mayBeUnannounced() {
            broken("batch \(batch) has row \(first), which nobody has stored")
        }
        early.formUnion(unknown)
    }

    /// At the end, when the servers take everything and nothing is pending.
    func ended(_ holding: SimulatedMachine.Holding) {
        // docs/durability.md, "Only a believed 2xx deletes": what is stored arrives, unless the user deletes it.
        if let first = early.min() {
            broken("\(early.count) rows came that were never announced, among them \(first)")
        }
        for delivery in deliveries {
            delivery.ended(deadLetters: holding.deadLetters[delivery.name.text] ?? [])
        }
    }
}

/// What is promised of one destination.
final class DeliveryLaws {
    let name: DestinationName
    private unowned let laws: Laws
    private let carriesCrossings: Bool
    /// Batches that the server has refused for good.
    private var refused: Set<String> = []
    /// Batches whose rows may go out in others: one of them was deleted, or the server has refused the batch for good, and other
    /// settings may mend that.
    private var reopened: Set<String> = []
    /// Batches whose acceptance the process that lives has heard.
    private var accepted: Set<String> = []
    private var bodies: [String: [UInt8]] = [:]
    private var batches: [String: Set<String>] = [:]
    /// What the server has: by the id of the row, in which batches.
    var rows: () -> [String: Set<String>] = { [:] }

    fileprivate init(_ name: DestinationName, _ laws: Laws, carriesCrossings: Bool) {
        (self.name, self.laws, self.carriesCrossings) = (name, laws, carriesCrossings)
    }

    func broken(_ what: String) { laws.broken(what) }

    fileprivate func has(_ row: String) -> Bool { rows()[row] != nil }

    /// docs/upload.md, "Formats": not every one carries the events of geofences.
    fileprivate func isOwed(_ row: String) -> Bool { carriesCrossings || !laws.crossings.contains(row) }

    fileprivate func reopen(_ isMeant: (String, Set<String>) -> Bool) {
        for (id, batch) in batches where isMeant(id, batch) { reopened.insert(id) }
    }

    fileprivate func died() { accepted = [] }

    /// The first byte of a request has been sent.
    ///
    /// - Parameter taken: the body with which the server has taken the batch before; nil: it has not.
    func sent(_ batch: SentBatch, before taken: [UInt8]?) {
        // docs/durability.md, "Retries are identical": an id belongs to one body for ever.
        if let known = bodies[batch.id] ?? taken, known != batch.text {
            laws.broken("batch \(batch.id) has two bodies")
        }
        bodies[batch.id] = batch.text
        // docs/durability.md, "When the disk fails": an acknowledgement that cannot be written is retried, and the batch is not
        // sent meanwhile.
        if accepted.contains(batch.id) { laws.broken("batch \(batch.id) was accepted, and is sent again") }
        let rows = Set(batch.rows)
        batches[batch.id] = rows
        // docs/durability.md, "Deleted means erased": nothing that was deleted goes out once the deletion was answered.
        let gone = rows.intersection(laws.deleted)
        if let first = gone.min() { laws.broken("batch \(batch.id) has row \(first), which was deleted") }
        laws.sent(rows, in: batch.id)
    }

    /// The process has heard that the server has this batch.
    func accepted(_ batch: String) {
        accepted.insert(batch)
    }

    /// The server has said that it will never take these rows, whether it has them or not.
    func refused(_ batch: SentBatch) { refused.insert(batch.id) }

    /// Another configuration may make the batch anew.
    func reopened(_ batch: SentBatch) { reopened.insert(batch.id) }

    fileprivate func ended(deadLetters: Set<String>) {
        let rows = rows()
        // docs/upload.md, "Dead letters": dead letters are rows that were refused for good.
        let known = batches.filter { refused.contains($0.key) }.reduce(into: Set()) { $0.formUnion($1.value) }
        if let first = deadLetters.subtracting(known).min() {
            laws.broken("row \(first) is a dead letter, and was never refused for good")
        }
        let lost = laws.stored.keys.filter {
            rows[$0] == nil && isOwed($0) && !laws.perhapsDeleted.contains($0) && !deadLetters.contains($0)
        }
        if let first = lost.min() { laws.broken("\(lost.count) rows are lost, among them \(first)") }
        // docs/durability.md, "Retries are identical": a row is in one batch, unless that had to be made anew.
        let twice = rows.filter { $0.value.count > 1 && $0.value.isDisjoint(with: reopened) }
        if let first = twice.keys.min() {
            laws.broken("\(twice.count) rows came in two batches, among them \(first)")
        }
    }
}
