internal import Base
internal import EnvelopeReader

/// A group of batches in the order in which every server writes: by table, and in each table by key. Servers that meet on
/// the same rows then wait for each other, and never in a circle.
struct PostgresGroup {
    /// A location or an event with what its key begins with.
    struct Row<Content> {
        let device: Int64
        let content: Content
        let session: UUIDv7
        let extras: Int64?
    }

    /// What of a group is to be stored.
    struct Fresh {
        /// The places of the batches.
        var places: [Int] = []
        /// Places of batches whose id was known with other rows.
        var withOtherRows: Set<Int> = []
    }

    /// Places in the group of the batches that have rows to be stored, by key; of those that are remembered, each once.
    let candidates: [Int]
    /// What tells batches of one id apart, by place; of the candidates that are remembered.
    let digests: [Int: Int64]
    /// All places, by device and id.
    let places: [Int]
    private let group: [Submission]

    /// By place.
    var submissions: [Submission] { group }

    init(_ group: [Submission]) {
        self.group = group
        struct Content: Hashable {
            let key: BatchKey
            let digest: Int64
        }
        var seen: Set<Content> = []
        var digests: [Int: Int64] = [:]
        let order = group.indices.sorted { BatchKey(group[$0]) < BatchKey(group[$1]) }
        places = order
        candidates = order.filter { place in
            guard group[place].keptRows > 0 else { return false }
            guard group[place].keepsID else { return true }
            let content = Content(key: BatchKey(group[place]), digest: group[place].rowDigest)
            guard seen.insert(content).inserted else { return false }
            digests[place] = content.digest
            return true
        }
        self.digests = digests
    }

    /// Among the candidates that are remembered, the first with each id.
    var firsts: [Int] {
        var seen: Set<BatchKey> = []
        return candidates.filter { digests[$0] != nil && seen.insert(BatchKey(group[$0])).inserted }
    }

    /// - Parameters:
    ///   - inserted: ids that had not been seen.
    ///   - known: digests of the others; none for those of earlier versions.
    func fresh(inserted: Set<BatchKey>, known: [BatchKey: Int64]) -> Fresh {
        var known = known
        var fresh = Fresh()
        for place in candidates {
            let key = BatchKey(group[place])
            guard let digest = digests[place] else {
                fresh.places.append(place)
                continue
            }
            if inserted.contains(key), known[key] == nil {
                known[key] = digest
                fresh.places.append(place)
            } else if let other = known[key], other != digest {
                fresh.places.append(place)
                fresh.withOtherRows.insert(place)
            }
        }
        return fresh
    }

    func submission(_ place: Int) -> Submission {
        group[place]
    }

    struct BatchKey: Hashable, Comparable {
        let device: Int64
        let id: UUIDv7

        init(device: Int64, id: UUIDv7) {
            self.device = device
            self.id = id
        }

        init(_ submission: Submission) {
            self.init(device: submission.device, id: submission.batch.id)
        }

        /// - Parameter row: begins with device and id.
        init?(_ row: [Cell]) {
            guard row.count > 1, let device = row[0].integer, let id = row[1].id else { return nil }
            self.init(device: device, id: id)
        }

        static func < (left: BatchKey, right: BatchKey) -> Bool {
            (left.device, left.id) < (right.device, right.id)
        }
    }

    /// - Parameter places: the batches that are new.
    func locations(of places: [Int]) -> [Row<LocationRow>] {
        rows(of: places) { $0.batch.locations }.sorted {
            ($0.device, $0.content.time.milliseconds, $0.content.id)
                < ($1.device, $1.content.time.milliseconds, $1.content.id)
        }
    }

    /// - Parameter places: the batches that are new.
    func events(of places: [Int]) -> [Row<EventRow>] {
        rows(of: places) { $0.batch.events }.sorted {
            ($0.device, $0.content.time.milliseconds, $0.content.id)
                < ($1.device, $1.content.time.milliseconds, $1.content.id)
        }
    }

    /// - Parameter places: the batches that are new.
    func vehicleEvents(of places: [Int]) -> [Row<VehicleEvent>] {
        rows(of: places) { $0.batch.remarks.events }.sorted {
            ($0.device, $0.content.time.milliseconds, $0.content.id)
                < ($1.device, $1.content.time.milliseconds, $1.content.id)
        }
    }

    private func rows<Content: TimedRow>(of places: [Int], _ content: (Submission) -> [Content]) -> [Row<
        Content
    >] {
        places.flatMap { place in
            let submission = group[place]
            let extras = submission.batch.extras.map { Digest.short($0) }
            return content(submission).filter { submission.isKept($0.time) }.map {
                Row(device: submission.device, content: $0, session: submission.batch.session, extras: extras)
            }
        }
    }

    /// For each device, the newest location of the new batches, by device.
    func latest(of places: [Int]) -> [(device: Int64, row: LocationRow)] {
        var newest: [Int64: LocationRow] = [:]
        for place in places {
            guard let row = group[place].newest else { continue }
            let device = group[place].device
            if newest[device].map({ $0.time < row.time }) ?? true { newest[device] = row }
        }
        return newest.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The new batches with locations that are ahead, by device.
    func ahead(of places: [Int]) -> [Submission] {
        places.map { group[$0] }.filter { $0.newestAhead != nil }.sorted { $0.device < $1.device }
    }

    /// For each device, the batch of the group that came last, by device; with the last status of any of them.
    var presences: [Submission] {
        var last: [Int64: Submission] = [:]
        for submission in group where submission.batch.device.installID != nil {
            guard let known = last[submission.device] else {
                last[submission.device] = submission
                continue
            }
            var (older, newer) = (submission, known)
            if known.received <= submission.received { (older, newer) = (known, submission) }
            newer.batch.remarks.status = newer.batch.remarks.status ?? older.batch.remarks.status
            last[submission.device] = newer
        }
        return last.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Batches that came with a token for the first time, by device.
    var newTokens: [Submission] {
        group.filter { $0.newToken != nil }.sorted { $0.device < $1.device }
    }

    /// Results of commands, by device and number, each once.
    ///
    /// - Parameter places: of the batches whose results count.
    func results(
        of places: [Int]
    ) -> [(device: Int64, number: Int64, submission: Submission, result: CommandResult)] {
        struct Name: Hashable {
            let device: Int64
            let number: Int64
        }
        var known: Set<Name> = []
        let results = places.map { group[$0] }.flatMap { submission in
            submission.results.compactMap { result in
                known.insert(Name(device: submission.device, number: result.number)).inserted
                    ? (
                        device: submission.device, number: result.number, submission: submission,
                        result: result.result
                    ) : nil
            }
        }
        return results.sorted { ($0.device, $0.number) < ($1.device, $1.number) }
    }

    /// The devices of the group, each once.
    var devices: [Int64] { Set(group.map(\.device)).sorted() }

    /// The moment of the group.
    var received: Timestamp { group.map(\.received).max() ?? Timestamp(milliseconds: 0) }

    /// The moment of the group by which commands expire.
    var age: Timestamp { group.map(\.age).max() ?? Timestamp(milliseconds: 0) }

    /// The latest moment that it can be.
    var latest: Timestamp { group.map(\.latest).max() ?? Timestamp(milliseconds: 0) }

    /// The extras of the new batches, each once, by key.
    func extras(
        of places: [Int]
    ) -> [(device: Int64, digest: Int64, text: [UInt8], newestDay: Int64)] {
        var found: [Int64: [Int64: (text: [UInt8], newestDay: Int64)]] = [:]
        for place in places {
            guard let extras = group[place].batch.extras else { continue }
            let (device, digest) = (group[place].device, Digest.short(extras))
            let known = found[device]?[digest]?.newestDay ?? 0
            found[device, default: [:]][digest] = (extras, max(known, group[place].newestDay))
        }
        return found.sorted { $0.key < $1.key }.flatMap { device, texts in
            texts.sorted { $0.key < $1.key }.map { (device, $0.key, $0.value.text, $0.value.newestDay) }
        }
    }

    /// - Parameters:
    ///   - fresh: the batches that were to be stored.
    ///   - inserted: keys of the rows that were new; nil: all of these batches were.
    func receipts(_ fresh: Fresh, inserted: Set<RowKey>?, commands: [Int64: [WaitingCommand]]) -> [Receipt] {
        var receipts = receipts(new: Set(fresh.places), inserted: inserted)
        for place in group.indices {
            receipts[place].commands = commands[group[place].device] ?? []
            receipts[place].hasOtherRows = fresh.withOtherRows.contains(place)
        }
        return receipts
    }

    /// What was new, of the uploads that have rules, by device.
    ///
    /// - Parameters:
    ///   - fresh: the batches that were to be stored.
    ///   - inserted: keys of the rows that were new; nil: all of these batches were.
    func newRows(_ fresh: Fresh, inserted: Set<RowKey>?) -> [NewRows] {
        guard group.contains(where: { $0.rules != nil }) else { return [] }
        let stored = Set(fresh.places)
        return places.filter { group[$0].rules != nil }.map { place in
            let submission = group[place]
            var rows = NewRows(submission: submission)
            // A status counts, whether its rows do or not.
            guard stored.contains(place) else { return rows }
            func isNew(_ time: Timestamp, _ id: UUIDv7) -> Bool {
                guard submission.isKept(time) else { return false }
                let key = RowKey(device: submission.device, time: time.milliseconds, id: id)
                return inserted?.contains(key) ?? true
            }
            rows.locations = submission.batch.locations.filter { isNew($0.time, $0.id) }
            rows.events = submission.batch.events.filter { isNew($0.time, $0.id) }
            rows.vehicleEvents = submission.batch.remarks.events.filter { isNew($0.time, $0.id) }
            return rows
        }
    }

    /// What the outbox gets, in the order of the group.
    ///
    /// - Parameters:
    ///   - fresh: the batches that were to be stored.
    ///   - inserted: keys of the rows that were new; nil: all of these batches were.
    func outbox(_ fresh: Fresh, inserted: Set<RowKey>?) -> [(submission: Submission, row: Outbox.Row)] {
        guard group.contains(where: { $0.forwarding != nil }) else { return [] }
        var left = inserted
        return fresh.places.sorted().compactMap { place in
            let submission = group[place]
            let isNewID = digests[place] != nil && !fresh.withOtherRows.contains(place)
            let row = Outbox.row(of: submission, isNewID: isNewID) { time, id in
                guard left != nil else { return true }
                return left?.remove(
                    RowKey(device: submission.device, time: time.milliseconds, id: id)) != nil
            }
            return row.map { (submission: submission, row: $0) }
        }
    }

    /// What each upload of the group is to its device, in the order of the group.
    ///
    /// - Parameters:
    ///   - known: the installations of the devices.
    ///   - current: places of those that came with a token that is still their device's, as far as that matters.
    func judgements(
        _ known: [Int64: Installations.Known], current: Set<Int>
    ) -> [(standing: Installations.Standing, change: Installations.Change?)] {
        var known = known
        return group.indices.map { place in
            known[group[place].device, default: Installations.Known()].judge(
                group[place], isCurrent: current.contains(place))
        }
    }

    /// Places of the batches whose token has ended since it was judged.
    ///
    /// - Parameter revocations: of their devices.
    func ended(by revocations: [(device: Int64, number: Int64)]) -> Set<Int> {
        guard !revocations.isEmpty else { return [] }
        let newest = Dictionary(revocations.map { ($0.device, $0.number) }, uniquingKeysWith: max)
        return Set(
            group.indices.filter { place in
                guard let known = group[place].nextRevocation, let number = newest[group[place].device] else {
                    return false
                }
                return number >= known
            })
    }

    /// Places of the batches that may bind an installation, and of those that come with no token.
    func unbound(_ known: [Int64: Installations.Known]) -> (shown: [Int], others: [Int]) {
        let places = group.indices.filter { known[group[$0].device]?.bound == nil }
        return (places.filter { group[$0].token != nil }, places.filter { group[$0].token == nil })
    }

    private func receipts(new: Set<Int>, inserted: Set<RowKey>?) -> [Receipt] {
        var inserted = inserted
        return group.indices.map { place in
            let submission = group[place]
            let kept = submission.keptRows
            let expired = submission.rows - kept
            guard new.contains(place) else { return Receipt(duplicates: kept, expired: expired) }
            guard inserted != nil else { return Receipt(stored: kept, expired: expired) }
            let keys =
                submission.batch.locations.filter { submission.isKept($0.time) }.map {
                    RowKey(device: submission.device, time: $0.time.milliseconds, id: $0.id)
                }
                + submission.batch.events.filter { submission.isKept($0.time) }.map {
                    RowKey(device: submission.device, time: $0.time.milliseconds, id: $0.id)
                }
                + submission.batch.remarks.events.filter { submission.isKept($0.time) }.map {
                    RowKey(device: submission.device, time: $0.time.milliseconds, id: $0.id)
                }
            let stored = keys.count { inserted?.remove($0) != nil }
            return Receipt(stored: stored, duplicates: kept - stored, expired: expired)
        }
    }
}

/// What identifies a row.
struct RowKey: Hashable {
    let device: Int64
    let time: Int64
    let id: UUIDv7
}

/// What locations and events have in common.
protocol TimedRow {
    var time: Timestamp { get }
    var id: UUIDv7 { get }
}

extension LocationRow: TimedRow {}
extension EventRow: TimedRow {}
extension VehicleEvent: TimedRow {}
