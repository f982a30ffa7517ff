/// Batches that wait until something is made for them. Bounded, and few of each device.
struct MakerQueue {
    enum Work {
        /// Of one device.
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

    mutating func close() {
        isClosed = true
    }

    /// Devices are served in turn: one that needs more comes behind all others.
    ///
    /// - Returns: what is next; nil when there is nothing.
    mutating func take() -> Work? {
        guard let device = batches.first?.submission.device else { return isClosed ? .end : nil }
        let group = batches.filter { $0.submission.device == device }
        batches.removeAll { $0.submission.device == device }
        return .group(group)
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

    func run() {
        var session: (any Session)?
        while case .group(let group) = queue.wait(until: { $0.take() }) {
            let now = ContinuousClock.now
            let isLate = { (waiting: WorkQueue.Waiting) in now - waiting.since > patience }
            for waiting in group where isLate(waiting) { waiting.reply(.failure(WorkQueue.late)) }
            make(group.filter { !isLate($0) }, &session)
            // Weeks are seldom new: no connection is held for them.
            if session?.isUsable == false || queue.look({ $0.isEmpty }) { session = nil }
        }
    }

    private func make(_ group: [WorkQueue.Waiting], _ session: inout (any Session)?) {
        guard !group.isEmpty else { return }
        do throws(StoreError) {
            let room = try made(group.map(\.submission), &session)
            var others: [WorkQueue.Waiting] = []
            for (var waiting, isWhole) in zip(group, room.isWhole) {
                guard isWhole else {
                    others.append(waiting)
                    continue
                }
                waiting.since = .now
                waiting.due = waiting.since + batchPatience
                writes.change { $0.giveBack(waiting) }
            }
            if room.isMore {
                queue.change { $0.giveBack(others) }
            } else {
                for waiting in others { waiting.reply(.failure(Self.noRoom)) }
            }
        } catch {
            report(error)
            for waiting in group { waiting.reply(.failure(error)) }
        }
    }

    /// On a new connection, if this one turns out to be lost.
    private func made(
        _ group: [Submission], _ session: inout (any Session)?
    ) throws(StoreError) -> Room {
        for isLast in [false, true] {
            do throws(StoreError) {
                let current = if let session { session } else { try open() }
                session = current
                return try current.makeRoom(for: group)
            } catch {
                guard !isLast, error.kind == .unavailable, session?.isUsable == false else { throw error }
                report(error)
                session = nil
            }
        }
        return Room(isWhole: group.map { _ in false }, isMore: false)
    }

    private static let noRoom = StoreError(
        .overloaded, operation: "make partitions",
        message:
            "it has rows of more weeks that are new than its device may have now, or of one that cannot be made"
    )
}
