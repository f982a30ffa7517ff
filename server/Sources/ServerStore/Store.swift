internal import Synchronization

/// The database, as handlers see it: they wait in continuations while threads of its own do the work.
package final class Store: Sendable {
    /// Where the data is.
    package enum Place: Equatable, Sendable, CustomStringConvertible {
        /// A path.
        case sqlite(String)

        /// A connection string of libpq.
        case postgres(String)

        /// `postgres://…` and `postgresql://…` are PostgreSQL; anything else is a path.
        package init(_ text: String) {
            let isAddress = text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
            self = isAddress ? .postgres(text) : .sqlite(text)
        }

        /// For people to read; an address may hold a password.
        package var description: String {
            switch self {
            case .sqlite(let path): "the database \(path)"
            case .postgres: "the database in PostgreSQL"
            }
        }
    }

    private let writes: Monitor<WorkQueue>
    private let reads: Monitor<WorkQueue>
    /// For what may be read from a copy that is a little older; nil: there is none.
    private let copies: Monitor<WorkQueue>?
    /// Who asks is looked up by a thread that does nothing else: lists are in nobody's way.
    private let looks: Monitor<WorkQueue>
    /// A session that keeps locks for as long as the server runs, and does nothing else.
    private let locks: Monitor<WorkQueue>
    private let locker: Mutex<Locker>
    private let makes: Monitor<MakerQueue>
    private let maker: WorkerThread
    private let threads: [WorkerThread]
    /// Kept so that no other process writes to the file; nil with PostgreSQL, and when it is closed.
    private let file: Mutex<DatabaseFile?>
    private let checked = IntegrityCheck.Meter()
    /// With PostgreSQL.
    private let hosts: PostgresHosts?
    /// What the threads are at that PostgreSQL may hold for long; none with SQLite.
    private let occupations: [Occupation]
    private let report: @Sendable (StoreError) -> Void
    /// How long work may wait before it is refused: the sender has something better to do, and asks again.
    private let patience: Duration
    /// How long a batch may wait before it is refused. Short: what has waited longer is not the work of a
    /// moment's crowd, and the line only grows.
    private let batchPatience: Duration

    /// Opens the database, and makes or upgrades its tables.
    ///
    /// - Parameters:
    ///   - copy: address of a standby of it, from which what may be a little older is read; nil: there is none.
    ///   - partitionDays: of a partition of PostgreSQL, 1 or 7; nil: as the database has it.
    ///   - patience: how long work may wait for a thread.
    ///   - batchPatience: how long a batch may.
    ///   - batchDelay: how long the first in the line may have waited while others join it; nil: as usual.
    ///   - note: told of what is no error, such as that another PostgreSQL is the primary now.
    ///   - report: told of errors, from any of the threads.
    package init(
        _ place: Place, copy: Place? = nil, partitionDays: Int? = nil, patience: Duration = .seconds(10),
        batchPatience: Duration = .milliseconds(700), batchDelay: Duration? = nil,
        note: @escaping @Sendable (String) -> Void = { _ in },
        report: @escaping @Sendable (StoreError) -> Void
    ) throws(StoreError) {
        var bounds = WorkQueue.Bounds()
        if let batchDelay { bounds.delay = batchDelay }
        let (writes, makes) = (Monitor(WorkQueue(bounds)), Monitor(MakerQueue()))
        let (reads, looks, locks) = (Monitor(WorkQueue()), Monitor(WorkQueue()), Monitor(WorkQueue()))
        self.writes = writes
        self.reads = reads
        self.looks = looks
        self.locks = locks
        self.makes = makes
        self.patience = patience
        self.batchPatience = batchPatience
        let quiet = Quieter(report, note: note)
        self.report = { quiet.report($0) }
        let opened = try Self.prepare(place, partitionDays, quiet)
        hosts = opened.hosts
        file = Mutex(opened.file)
        var jobs = Array(
            repeating: (queue: writes, open: opened.writing, report: self.report), count: opened.writers)
        for queue in [reads, reads, looks] {
            jobs.append((queue: queue, open: opened.reading, report: self.report))
        }
        var copies: Monitor<WorkQueue>?
        if let copy {
            let quiet = Quieter(
                { error in
                    var error = error
                    error.message = "read_database: \(error.message)"
                    report(error)
                }, note: { note("read_database: \($0)") })
            let replica = try PostgresReplica(copy, of: opened.hosts, quiet: quiet)
            let queue = Monitor(WorkQueue())
            let open: Opening = { () throws(StoreError) in try replica.open() }
            let heard: @Sendable (StoreError) -> Void = { quiet.report($0) }
            jobs += Array(repeating: (queue: queue, open: open, report: heard), count: 2)
            copies = queue
        }
        self.copies = copies
        // The last two are of the maker and of who keeps locks.
        let occupations = (0..<jobs.count + 2).map { _ in Occupation() }
        self.occupations = opened.hosts == nil ? [] : occupations
        let workers = zip(jobs, occupations).map { job, occupation in
            Worker(queue: job.queue, makes: makes, open: job.open, report: job.report, occupation: occupation)
        }
        let maker = Maker(
            queue: makes, writes: writes, open: opened.writing, report: self.report, patience: patience,
            batchPatience: batchPatience, occupation: occupations[jobs.count])
        self.maker = WorkerThread { maker.run() }
        locker = Mutex(
            .waiting(
                Worker(
                    queue: locks, makes: makes, open: opened.reading, report: self.report,
                    occupation: occupations[jobs.count + 1])))
        var threads = workers.map { worker in WorkerThread { worker.run() } }
        if let file = opened.file, file.wasLeftOpen {
            let check = IntegrityCheck(file: file, writes: writes, report: self.report, meter: checked)
            threads.append(WorkerThread { check.run() })
        }
        self.threads = threads
    }

    /// The thread of `locks`, which few need: it begins with the first lock that is asked for.
    private enum Locker {
        case waiting(Worker)
        case running(WorkerThread)
        case ended
    }

    /// Whether there is a thread that keeps locks.
    var hasLocker: Bool {
        locker.withLock { if case .running = $0 { true } else { false } }
    }

    private typealias Opening = @Sendable () throws(StoreError) -> any Session

    /// The database, and how sessions of it are made.
    private struct Opened {
        let writers: Int
        let writing: Opening
        let reading: Opening
        var file: DatabaseFile?
        var hosts: PostgresHosts?
    }

    /// Days that a partition of PostgreSQL can have.
    package static let partitionDays = PostgresPartitions.Span.allCases.map { Int($0.rawValue) }

    private static func prepare(
        _ place: Place, _ partitionDays: Int?, _ quiet: Quieter
    ) throws(StoreError) -> Opened {
        switch place {
        case .sqlite(let path):
            guard partitionDays == nil else {
                throw StoreError(
                    .failed, operation: "open",
                    message: "partition_days is for PostgreSQL: a file has no partitions")
            }
            let file = try DatabaseFile(path)
            return Opened(
                writers: 1, writing: { () throws(StoreError) in try file.session(isReader: false) },
                reading: { () throws(StoreError) in try file.session(isReader: true) }, file: file)
        case .postgres(let address):
            let hosts = try PostgresHosts(address, quiet: quiet)
            try hosts.prepare()
            if let span = partitionDays.flatMap({ PostgresPartitions.Span(rawValue: Int64($0)) }) {
                try hosts.open(isReader: false).choose(span)
            }
            return Opened(
                writers: 2, writing: { () throws(StoreError) in try hosts.open(isReader: false) },
                reading: { () throws(StoreError) in try hosts.open(isReader: true) }, hosts: hosts)
        }
    }

    /// Sentences about PostgreSQL servers that answer, and whose changes would be lost.
    package var strays: [String] { hosts?.strays ?? [] }

    /// Asks all hosts of PostgreSQL who they are, where there are several: one that turns out to be an old primary ends its
    /// connections to servers.
    package func lookAtHosts() async {
        guard let hosts, hosts.areMany else { return }
        var thread: WorkerThread?
        await withCheckedContinuation { continuation in
            thread = WorkerThread {
                hosts.look()
                continuation.resume()
            }
        }
        thread?.join()
    }

    /// Whether there is a copy for what may be read from one.
    package var hasCopy: Bool { copies != nil }

    /// Whether a thread has waited for PostgreSQL for so long: a COMMIT for a standby that is away has no other end.
    package func isHeld(for duration: Duration) -> Bool {
        occupations.contains { $0.hasLasted(duration) }
    }

    /// From now on the present timeline of a PostgreSQL counts, whatever was seen before.
    ///
    /// - Returns: what was accepted, in a sentence.
    package static func acceptTimeline(_ address: String) throws(StoreError) -> String {
        try PostgresHosts(address, quiet: Quieter { _ in }).accept()
    }

    /// Makes the tables, unless they are there, and distributes those of vehicles over the workers of Citus.
    ///
    /// - Parameters:
    ///   - address: of the coordinator.
    ///   - shards: of each table; nil: as many as suit the workers that there are.
    /// - Returns: what there is now, in a sentence.
    package static func distribute(_ address: String, shards: Int?) throws(StoreError) -> String {
        try PostgresHosts(address, quiet: Quieter { _ in }).distribute(shards: shards)
    }

    /// How often the database was looked through after it had been left open, and what was found.
    package struct Checks: Equatable, Sendable {
        package var sound: UInt64 = 0
        package var damaged: UInt64 = 0
    }

    package var checks: Checks { checked.checks }

    /// What of the database is damaged; nil when nothing was found.
    package var damage: String? { file.withLock { $0?.damage } }

    /// Transactions so far in which batches were to be stored.
    package var groups: UInt64 { writes.look { $0.groups } }

    /// Stores a batch, with others of the same moment.
    ///
    /// - Returns: when it can no longer be lost.
    package func submit(_ submission: Submission) async throws(StoreError) -> Receipt {
        let now = ContinuousClock.now
        let result: Result<Receipt, StoreError> = await withCheckedContinuation { continuation in
            let waiting = WorkQueue.Waiting(
                submission: submission, reply: { continuation.resume(returning: $0) }, since: now,
                due: now + batchPatience)
            if let refusal = writes.change({ $0.add(waiting) }) {
                continuation.resume(returning: .failure(refusal))
            }
        }
        return try result.get()
    }

    /// - Throws: why a batch would be refused at this moment, so that nobody reads its body for nothing.
    package func admit() throws(StoreError) {
        if let refusal = writes.look({ $0.refusal(now: .now) }) { throw refusal }
    }

    /// Runs `body` on a thread that may write.
    ///
    /// - Parameter isRepeatable: it may be run twice when the connection is lost in the middle.
    package func write<Value: Sendable>(
        isRepeatable: Bool = false, _ body: @escaping @Sendable (any Session) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let report = report
        return try await run(writes, isRepeatable) { session throws(StoreError) in
            let value = try body(session)
            do throws(StoreError) {
                try session.confirm()
            } catch {
                report(error)
                throw error
            }
            return value
        }
    }

    /// Runs `body` on a thread that only reads.
    ///
    /// - Parameter mayLag: it may be read from a copy, which may be older than what was stored last.
    package func read<Value: Sendable>(
        mayLag: Bool = false, _ body: @escaping @Sendable (any Session) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await run(mayLag ? copies ?? reads : reads, true, body)
    }

    /// Runs `body`, which looks up who asks, on a thread that only reads.
    package func look<Value: Sendable>(
        _ body: @escaping @Sendable (any Session) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await run(looks, true, body)
    }

    /// Runs `body` on a thread whose session keeps the locks that it takes.
    package func lock<Value: Sendable>(
        _ body: @escaping @Sendable (any Session) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        locker.withLock { locker in
            guard case .waiting(let worker) = locker else { return }
            locker = .running(WorkerThread { worker.run() })
        }
        return try await run(locks, true, body)
    }

    private func run<Value: Sendable>(
        _ queue: Monitor<WorkQueue>, _ isRepeatable: Bool,
        _ body: @escaping @Sendable (any Session) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let due = ContinuousClock.now + patience
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let job = WorkQueue.Job(
                run: { session, isLast in
                    let result = Result { () throws(StoreError) in try body(session) }
                    if isRepeatable, !isLast, !session.isUsable, case .failure = result { return false }
                    continuation.resume(returning: result)
                    return true
                }, fail: { continuation.resume(returning: .failure($0)) }, due: due)
            if let refusal = queue.change({ $0.add(job) }) {
                continuation.resume(returning: .failure(refusal))
            }
        }
        return try result.get()
    }

    /// Does what waits, and closes the connections. Afterwards everything is refused.
    package func close() {
        // What it has made room for is still stored.
        makes.change { $0.close() }
        maker.join()
        writes.change { $0.close() }
        reads.change { $0.close() }
        copies?.change { $0.close() }
        looks.change { $0.close() }
        locks.change { $0.close() }
        for thread in threads { thread.join() }
        let last = locker.withLock { locker in
            defer { locker = .ended }
            return locker
        }
        if case .running(let thread) = last { thread.join() }
        file.withLock { $0 = nil }
    }
}
