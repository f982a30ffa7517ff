/// Batches that wait until something is made for them. Bounded, and few of each device.
struct MakerQueue {
    enum Work {
        /// All that wait.
        case group([WorkQueue.Waiting])
        case end
    }

    /// Batches that wait, and those of one device: what one needs serves its others, too.
    private static let most = 1000
    private static let mostOfOne = 64

    private var batches: [WorkQueue.Waiting] = []
    private var isClosed = false

    var isEmpty: Bool { batches.isEmpty }

    /// - Returns: why it is refused; nil when it waits now.
    mutating func add(_ waiting: WorkQueue.Waiting) -> StoreError? {
        if isClosed { return WorkQueue.ending }
        let device = waiting.submission.device
        guard batches.count < Self.most,
            batches.count(where: { $0.submission.device == device }) < Self.mostOfOne
        else { return WorkQueue.full }
        batches.append(waiting)
        return nil
    }

    /// Takes those back for which more is to be made, behind all others.
    mutating func giveBack(_ group: [WorkQueue.Waiting]) {
        batches += group
    }

    /// Takes those back whose turn has not come.
    mutating func restore(_ group: [WorkQueue.Waiting]) {
        batches = group + batches
    }

    mutating func close() {
        isClosed = true
    }

    /// - Returns: what is next; nil when there is nothing.
    mutating func take() -> Work? {
        guard !batches.isEmpty else { return isClosed ? .end : nil }
        defer { batches = [] }
        return .group(batches)
    }
}

/// What one more thread does: it makes what batches need that is not there yet, while those that need nothing go on.
struct Maker {
    let queue: Monitor<MakerQueue>
    /// Where a batch goes once all is there.
    let writes: Monitor<WorkQueue>
    let open: @Sendable () throws(StoreError) -> any Session
    let report: @Sendable (StoreError) -> Void
    /// How long a batch may wait for its turn here, and then once more where it is stored.
    let patience: Duration
    let batchPatience: Duration
    let occupation: Occupation

    func run() {
        var session = ThreadSession(open: open)
        while case .group(let all) = queue.wait(until: { $0.take() }) {
            occupation.begin()
            defer { occupation.end() }
            let now = ContinuousClock.now
            let isLate = { (waiting: WorkQueue.Waiting) in now - waiting.since > patience }
            for waiting in all where isLate(waiting) { waiting.reply(.failure(WorkQueue.late)) }
            serve(all.filter { !isLate($0) }, &session)
            // Weeks are seldom new: no connection is held for them.
            if !session.isUsable || queue.look({ $0.isEmpty }) { session.close() }
        }
    }

    /// One device in its turn; what was made for one may be all that others wait for.
    private func serve(_ all: [WorkQueue.Waiting], _ session: inout ThreadSession) {
        var rest = all
        do throws(StoreError) {
            let waiting = Set(
                try session.attempt { (session) throws(StoreError) in
                    try session.unready(all.map(\.submission))
                })
            for place in all.indices where !waiting.contains(place) { finish(all[place]) }
            rest = all.indices.filter { waiting.contains($0) }.map { all[$0] }
            guard let device = rest.first?.submission.device else { return }
            queue.change { $0.restore(rest.filter { $0.submission.device != device }) }
            rest = rest.filter { $0.submission.device == device }
            try make(&rest, &session)
        } catch {
            report(error)
            for waiting in rest { waiting.reply(.failure(error)) }
        }
    }

    /// - Parameter group: of one device; empty when it has been seen to.
    private func make(
        _ group: inout [WorkQueue.Waiting], _ session: inout ThreadSession
    ) throws(StoreError) {
        let submissions = group.map(\.submission)
        let room = try session.attempt { (session) throws(StoreError) in
            try session.makeRoom(for: submissions)
        }
        var others: [WorkQueue.Waiting] = []
        for (waiting, isWhole) in zip(group, room.isWhole) {
            if isWhole { finish(waiting) } else { others.append(waiting) }
        }
        group = []
        if room.isMore {
            queue.change { $0.giveBack(others) }
        } else {
            for waiting in others { waiting.reply(.failure(Self.noRoom)) }
        }
    }

    /// All is there: it is stored with the next group.
    private func finish(_ waiting: WorkQueue.Waiting) {
        var waiting = waiting
        waiting.since = .now
        waiting.due = waiting.since + batchPatience
        writes.change { $0.giveBack(waiting) }
    }

    private static let noRoom = StoreError(
        .overloaded, operation: "make partitions",
        message:
            "it has rows of more weeks that are new than its device may have now, or of one that cannot be made"
    )
}
