/// What waits for a worker: batches, which are stored in groups, and single jobs. Bounded, so that what cannot be done soon
/// is refused at once.
struct WorkQueue {
    /// Something to be done with a session.
    struct Job {
        /// - Returns: false when its connection was lost and it may be run again on another one.
        let run: @Sendable (_ session: any Session, _ isLast: Bool) -> Bool
        /// Answers in place of `run`.
        let fail: @Sendable (StoreError) -> Void
        let due: ContinuousClock.Instant
    }

    /// A batch and who waits for its receipt.
    struct Waiting {
        let submission: Submission
        let reply: @Sendable (Result<Receipt, StoreError>) -> Void
        var since: ContinuousClock.Instant
        var due: ContinuousClock.Instant
        /// How often it was given back, since something had to be made for it first.
        var returns = 0
    }

    enum Work {
        case group([Waiting])
        case job(Job)
        case end
    }

    /// How much may wait, and how much is done at once.
    struct Bounds {
        /// Rows that wait: a second's work of PostgreSQL, and 15 MB.
        var rows = 100_000
        /// How long the first in the line may have waited while others join it. Whoever joined then would wait as long.
        var delay = Duration.milliseconds(400)
        var jobs = 1000
        /// Rows of one transaction: more make nothing faster, but each wait longer.
        var group = 5000
    }

    private let bounds: Bounds
    private var batches: [Waiting] = []
    private var jobs: [Job] = []
    private var rows = 0
    private(set) var isClosed = false
    /// Groups so far.
    private(set) var groups: UInt64 = 0
    /// Jobs and groups take turns, so that neither starves.
    private var jobWasLast = false

    init(_ bounds: Bounds = Bounds()) {
        self.bounds = bounds
    }

    /// Whether anybody waits, and is not being served.
    var isWaitedFor: Bool { !batches.isEmpty || !jobs.isEmpty }

    /// - Returns: why a batch would be refused; nil when it would not be.
    func refusal(now: ContinuousClock.Instant) -> StoreError? {
        if isClosed { return Self.ending }
        guard let first = batches.first, now - first.since > bounds.delay else { return nil }
        return Self.full
    }

    /// A batch costs something even when it is empty.
    private static func cost(_ waiting: Waiting) -> Int { waiting.submission.load + 1 }

    /// - Returns: why it is refused; nil when it waits now.
    mutating func add(_ waiting: Waiting) -> StoreError? {
        let cost = Self.cost(waiting)
        if let refusal = refusal(now: waiting.since) { return refusal }
        guard rows + cost <= bounds.rows else { return Self.full }
        rows += cost
        batches.append(waiting)
        return nil
    }

    /// Takes one back that was taken from it, and is ready now. It has a place: it was accepted before.
    mutating func giveBack(_ waiting: Waiting) {
        rows += Self.cost(waiting)
        batches.append(waiting)
    }

    /// - Returns: why it is refused; nil when it waits now.
    mutating func add(_ job: Job) -> StoreError? {
        if isClosed { return Self.ending }
        guard jobs.count < bounds.jobs else { return Self.full }
        jobs.append(job)
        return nil
    }

    /// No more is accepted; what waits is still done.
    mutating func close() {
        isClosed = true
    }

    /// - Returns: what is next; nil when there is nothing.
    mutating func take() -> Work? {
        if !jobs.isEmpty, batches.isEmpty || !jobWasLast {
            jobWasLast = true
            return .job(jobs.removeFirst())
        }
        jobWasLast = false
        guard !batches.isEmpty else { return isClosed ? .end : nil }
        var (count, size) = (0, 0)
        while count < batches.count, count == 0 || size + batches[count].submission.load <= bounds.group {
            size += batches[count].submission.load
            count += 1
        }
        rows -= size + count
        groups += 1
        defer { batches.removeFirst(count) }
        return .group(Array(batches[..<count]))
    }

    static let full = StoreError(.overloaded, operation: "queue", message: "too much work is waiting")
    static let late = StoreError(.overloaded, operation: "queue", message: "it has waited too long")
    static let ending = StoreError(.unavailable, operation: "queue", message: "the server is ending")
}
