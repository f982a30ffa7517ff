import Base

@testable import Storage

/// Who is owed what, as plainly as it can be kept: sets of rows.
struct DestinationModel {
    struct Row {
        var ts: Int64
        var order: Int
        var isEvent: Bool
        var isKept = false
        /// Nobody was ever owed it.
        var isLocal = false
    }

    struct Batch: Equatable {
        var id: UUIDv7
        var rows: Set<UUIDv7>
        var isPiece = false
    }

    struct One {
        var isOrphaned = false
        var since: Int64?
        /// Owed what is stored from now on, without and with its events.
        var isOpen = true
        var takesEvents = true
        var owed: Set<UUIDv7> = []
        /// All that it has ever been owed.
        var offered: Set<UUIDv7> = []
        var dead: Set<UUIDv7> = []
        var streak: Set<UUIDv7> = []
        var rejectedAt: [UUIDv7: Int64] = [:]
        var batches: [Batch] = []
        var dropped = 0
        var pruned = 0

        mutating func close() { (isOpen, takesEvents) = (false, false) }
    }

    var options: StoreOptions
    /// Nothing is written down.
    private(set) var isPlain = true
    var known: [DestinationName: One] = [.main: One()]
    /// Events whose debts have ended with a change of format since the last look.
    var uncarried: [DestinationName: Int] = [:]
    private(set) var rows: [UUIDv7: Row] = [:]
    var rejections: [DestinationName: Int] = [:]
    /// The first trusted time after the latest suspicion.
    private(set) var trustedSince: [DestinationName: Int64] = [:]
    /// Dead letters that have gone for their age.
    private(set) var expired = 0
    var received: [DestinationName: Int] = [:]
    private(set) var inserted = 0

    /// Nothing is stored, and nobody known; what was counted stays.
    func begunAnew() -> DestinationModel {
        var new = DestinationModel(options: options)
        (new.received, new.inserted, new.expired) = (received, inserted, expired)
        return new
    }

    func ids(_ isMeant: (Row) -> Bool) -> Set<UUIDv7> { Set(rows.filter { isMeant($0.value) }.keys) }

    private var owedToAny: Set<UUIDv7> { known.values.reduce(into: []) { $0.formUnion($1.owed) } }

    /// Rows that somebody else has been owed, and is not any more.
    private func hadByOthers(than name: DestinationName) -> Set<UUIDv7> {
        known.filter { $0.key != name }.values.reduce(into: []) {
            $0.formUnion($1.offered.subtracting($1.owed))
        }
    }

    // MARK: Rows

    /// - Returns: what the cap takes.
    ///
    /// - Parameter drafted: rows that are about to be frozen.
    mutating func insert(
        _ id: UUIDv7, ts: Int64, isEvent: Bool, isTrusted: Bool, besides drafted: Set<UUIDv7> = [],
        isOfVehicle: Bool = false
    ) -> Set<UUIDv7> {
        if isTrusted { age(at: ts) }
        let doomed = isEvent ? [] : overCap()
        // Before the cap takes some: what it takes is counted as such.
        let late =
            isTrusted
            ? unsent(at: ts, besides: drafted).union(old(at: ts, besides: drafted, doomed)).subtracting(
                doomed)
            : []
        drop(doomed)
        drop(late, \.pruned)
        inserted += 1
        rows[id] = Row(ts: ts, order: inserted, isEvent: isEvent)
        if isOfVehicle, !isCarried {
            rows[id] = Row(ts: ts, order: inserted, isEvent: isEvent, isKept: true, isLocal: true)
            for name in known.keys { known[name]?.offered.insert(id) }
            return doomed
        }
        for name in known.keys
        where known[name]?.isOpen == true && (!isEvent || known[name]?.takesEvents == true) {
            known[name]?.offered.insert(id)
            if isOfVehicle,
                options.destinations.contains(where: { $0.name == name && !$0.carriesVehicleEvents })
            {
                continue
            }
            known[name]?.owed.insert(id)
        }
        return doomed
    }

    /// Somebody is owed events of the vehicle: one that may come back may carry them.
    private var isCarried: Bool {
        options.destinations.isEmpty || options.destinations.contains(where: \.carriesVehicleEvents)
            || known.values.contains { $0.isOrphaned && $0.takesEvents }
    }

    private mutating func age(at ts: Int64) {
        for (name, one) in known where one.isOrphaned {
            let since = one.since ?? ts
            known[name]?.since = since
            guard ts - since > 7 * 86_400_000 else { continue }
            known[name]?.close()
        }
        keepForMain()
    }

    private mutating func keepForMain() {
        guard options.destinations.isEmpty || !known.values.contains(where: \.isOpen) else { return }
        var main = known[.main] ?? One(isOrphaned: true)
        (main.isOpen, main.takesEvents) = (true, true)
        known[.main] = main
    }

    private func overCap() -> Set<UUIDv7> {
        let held = held(with: [])
        let locations = rows.filter { !$0.value.isEvent }
        let surplus = max(0, min(locations.count + 1 - options.maxRows, 100))
        let free = locations.filter { !held.contains($0.key) || $0.value.isKept }
        let ordered = free.sorted { left, right in
            let (one, other) = (rank(left.key, left.value), rank(right.key, right.value))
            return (one, left.value.ts, left.value.order) < (other, right.value.ts, right.value.order)
        }
        return Set(ordered.prefix(surplus).map(\.key))
    }

    private func rank(_ id: UUIDv7, _ row: Row) -> Int {
        if row.isKept { return 0 }
        if !known.values.contains(where: { !$0.isOrphaned && $0.owed.contains(id) }) {
            return isPlain ? 3 : 1
        }
        return known[.main]?.owed.contains(id) == true ? 3 : 2
    }

    /// Pending rows outside every batch that are too old.
    private func unsent(at ts: Int64, besides drafted: Set<UUIDv7>) -> Set<UUIDv7> {
        guard let age = options.unsentRetention else { return [] }
        let (cutoff, held) = (ts - Int64(age * 1000), held(with: drafted))
        return oldest { id, row in !row.isKept && row.ts < cutoff && !held.contains(id) }
    }

    /// What everybody has received, or only orphans are owed, and is too old; without a destination, whatever is.
    private func old(
        at ts: Int64, besides drafted: Set<UUIDv7>, _ doomed: Set<UUIDv7>
    ) -> Set<UUIDv7> {
        let (cutoff, held) = (ts - Int64(options.retention * 1000), held(with: drafted))
        guard !options.destinations.isEmpty else {
            return oldest { id, row in row.ts < cutoff && !held.contains(id) }
        }
        let kept = oldest { id, row in
            row.isKept && row.ts < cutoff && !doomed.contains(id) && (!row.isEvent || !held.contains(id))
        }
        guard !isPlain else { return kept }
        let configured = known.values.filter { !$0.isOrphaned }.reduce(into: Set<UUIDv7>()) {
            $0.formUnion($1.owed)
        }
        return kept.union(
            oldest { id, row in
                !row.isKept && row.ts < cutoff && !configured.contains(id) && !held.contains(id)
            })
    }

    private func held(with drafted: Set<UUIDv7>) -> Set<UUIDv7> {
        known.values.reduce(into: drafted) { held, one in
            for batch in one.batches { held.formUnion(batch.rows) }
        }
    }

    /// At most 8 locations and 16 events.
    private func oldest(_ isMeant: (UUIDv7, Row) -> Bool) -> Set<UUIDv7> {
        func oldest(_ limit: Int, isEvent: Bool) -> [UUIDv7] {
            let meant = rows.filter { $0.value.isEvent == isEvent && isMeant($0.key, $0.value) }
            let ordered = meant.sorted { ($0.value.ts, $0.value.order) < ($1.value.ts, $1.value.order) }
            return ordered.prefix(limit).map(\.key)
        }
        return Set(oldest(8, isEvent: false) + oldest(16, isEvent: true))
    }

    private mutating func drop(_ ids: Set<UUIDv7>, _ counter: WritableKeyPath<One, Int> = \.dropped) {
        for name in known.keys {
            let gone = known[name]?.owed.intersection(ids) ?? []
            known[name]?[keyPath: counter] += gone.count
            known[name]?.owed.subtract(gone)
        }
        for id in ids { rows[id] = nil }
    }

    /// - Returns: how many rows and dead letters went.
    mutating func delete(upTo ts: Int64) -> Int {
        let doomed = ids { $0.ts <= ts }
        for name in known.keys {
            known[name]?.batches.removeAll { !$0.rows.isDisjoint(with: doomed) }
            known[name]?.owed.subtract(doomed)
        }
        for id in doomed { rows[id] = nil }
        return doomed.count
    }

    // MARK: Answers

    /// - Returns: how many rows were still to be received.
    mutating func acknowledge(_ batch: Batch, by name: DestinationName) -> Int {
        let due = pay(batch, name) { _ in true }
        known[name]?.streak = []
        if rejections[name, default: 0] >= 3 { trustedSince[name] = .max }
        rejections[name] = 0
        received[name, default: 0] += due.count
        return due.count
    }

    private mutating func pay(
        _ batch: Batch, _ name: DestinationName, isKept: (UUIDv7) -> Bool
    ) -> Set<UUIDv7> {
        let due = known[name]?.owed.intersection(batch.rows) ?? []
        known[name]?.owed.subtract(due)
        known[name]?.batches.removeAll { $0 == batch }
        settle(due, isKept: isKept)
        return due
    }

    /// What nobody is owed any more leaves, or is kept.
    private mutating func settle(_ ids: Set<UUIDv7>, isKept: (UUIDv7) -> Bool) {
        for id in ids.subtracting(owedToAny) where rows[id]?.isKept == false {
            if options.keepsUploaded, isKept(id) { rows[id]?.isKept = true } else { rows[id] = nil }
        }
    }

    /// - Returns: whether the endpoint is suspected; then the streak is back.
    mutating func countRejection(of batch: Batch, by name: DestinationName) -> Bool {
        if !batch.isPiece { rejections[name, default: 0] += 1 }
        guard rejections[name, default: 0] >= 3 else { return false }
        requeue(known[name]?.streak.intersection(known[name]?.dead ?? []) ?? [], of: name)
        return true
    }

    /// - Parameters:
    ///   - time: of the rejection.
    ///   - isTrusted: dead letters grow old by it.
    /// - Returns: how many dead letters there are more; nil: it is suspected instead.
    mutating func reject(
        _ batch: Batch, by name: DestinationName, at time: Int64, isTrusted: Bool
    ) -> Int? {
        if countRejection(of: batch, by: name) { return nil }
        if isTrusted { expire(of: name, at: time) }
        let others = hadByOthers(than: name)
        let due = pay(batch, name) { others.contains($0) }
        known[name]?.dead.formUnion(due)
        known[name]?.streak.formUnion(due)
        for id in due { known[name]?.rejectedAt[id] = time }
        return due.count
    }

    /// Dead letters of more than seven days go, but for those of the streak; and none until as long after a suspicion.
    private mutating func expire(of name: DestinationName, at time: Int64) {
        let (since, expiry) = (min(trustedSince[name] ?? .min, time), time - 7 * 86_400_000)
        trustedSince[name] = since
        guard since < expiry, let one = known[name] else { return }
        let gone = one.dead.subtracting(one.streak).filter { one.rejectedAt[$0] ?? .max < expiry }
        known[name]?.dead.subtract(gone)
        expired += gone.count
    }

    /// What each dead letter was, as it may have left the store.
    private(set) var graves: [UUIDv7: Row] = [:]

    mutating func bury(_ batch: Batch) {
        for id in batch.rows { if let row = rows[id] { graves[id] = row } }
    }

    mutating func requeue(_ ids: Set<UUIDv7>, of name: DestinationName) {
        for id in ids { if rows[id] == nil { rows[id] = graves[id] } }
        owe(ids, to: name)
        known[name]?.dead.subtract(ids)
    }

    private mutating func owe(_ ids: Set<UUIDv7>, to name: DestinationName) {
        for id in ids { rows[id]?.isKept = false }
        known[name]?.owed.formUnion(ids)
    }

    mutating func resend(_ name: DestinationName) -> Int {
        guard let one = known[name] else { return 0 }
        let found = ids { !$0.isLocal }.intersection(one.offered).subtracting(one.owed).subtracting(one.dead)
        owe(found, to: name)
        return found.count
    }

    mutating func backfill(_ name: DestinationName, from ts: Int64) -> Int {
        guard let one = known[name], !isPlain else { return 0 }
        let found = ids { $0.ts >= ts && !$0.isLocal && (!$0.isEvent || one.takesEvents) }.subtracting(
            one.offered)
        known[name]?.offered.formUnion(found)
        owe(found, to: name)
        return found.count
    }

    // MARK: Configuration

    /// - Parameter hadMain: main has been in use some time.
    mutating func reconcile(hadMain: Bool) {
        let configured = options.destinations
        let isSimple = configured.allSatisfy { $0.name == .main && $0.carriesEvents }
        if isPlain, isSimple { return }
        for (name, one) in known where name != .main && one.isOrphaned && !one.isOpen {
            guard one.owed.isEmpty, one.dead.isEmpty, !configured.contains(where: { $0.name == name }) else {
                continue
            }
            known[name] = nil
        }
        if !configured.isEmpty, !configured.contains(where: { $0.name == .main }), !hadMain {
            known[.main]?.close()
        }
        for name in known.keys where !configured.contains(where: { $0.name == name }) {
            known[name]?.isOrphaned = true
        }
        for destination in configured { configure(destination) }
        keepForMain()
        let isSettled =
            known.count == 1 && known[.main]?.takesEvents == true
            && known[.main]?.owed == ids { !$0.isKept }
        isPlain = isSimple && isSettled
        guard isPlain else { return }
        let dead = known[.main]?.dead ?? []
        known[.main]?.offered = Set(rows.keys).union(dead)
        known[.main]?.isOrphaned = false
        known[.main]?.since = nil
    }

    private mutating func configure(_ destination: StoreOptions.Destination) {
        var one = known[destination.name] ?? One()
        (one.isOrphaned, one.since, one.isOpen) = (false, nil, true)
        let ended = destination.carriesEvents ? [] : one.owed.intersection(ids(\.isEvent))
        one.owed.subtract(ended)
        one.dropped += ended.count
        if !ended.isEmpty { uncarried[destination.name, default: 0] += ended.count }
        one.takesEvents = destination.carriesEvents
        known[destination.name] = one
        settle(ended) { _ in false }
    }

    /// - Returns: how many rows nobody else was owed.
    mutating func forget(_ name: DestinationName, hadMain: Bool) -> Int {
        guard let one = known[name], one.isOrphaned, !isPlain else { return 0 }
        let others = hadByOthers(than: name)
        known[name] = nil
        rejections[name] = 0
        trustedSince[name] = nil
        let count = one.owed.subtracting(owedToAny).count
        settle(one.owed) { others.contains($0) }
        reconcile(hadMain: hadMain)
        return count
    }
}
