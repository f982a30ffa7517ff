internal import Synchronization

/// What one thread does: it takes work from its queue, and keeps a session to do it with.
struct Worker {
    let queue: Monitor<WorkQueue>
    /// Takes batches for which something has to be made first.
    let makes: Monitor<MakerQueue>
    let open: @Sendable () throws(StoreError) -> any Session
    let report: @Sendable (StoreError) -> Void
    let occupation: Occupation

    func run() {
        var session = ThreadSession(open: open)
        while true {
            let work = queue.wait(until: { $0.take() })
            occupation.begin()
            defer { occupation.end() }
            switch work {
            case .end: return
            case .job(let job):
                perform(job, &session)
            case .group(let group):
                store(group, &session)
            }
            session.closeIfLost()
        }
    }

    private func perform(_ job: WorkQueue.Job, _ session: inout ThreadSession) {
        guard job.due > .now else { return job.fail(WorkQueue.late) }
        do throws(StoreError) {
            if job.run(try session.current(), false) { return }
            session.close()
            _ = job.run(try session.current(), true)
        } catch {
            report(error)
            job.fail(error)
        }
    }

    private func store(_ group: [WorkQueue.Waiting], _ session: inout ThreadSession) {
        let now = ContinuousClock.now
        for waiting in group where waiting.due <= now { waiting.reply(.failure(WorkQueue.late)) }
        var current = group.filter { $0.due > now }
        do throws(StoreError) {
            current = try setAside(current, &session)
            guard !current.isEmpty else { return }
            let submissions = current.map(\.submission)
            let receipts = try session.attempt { (session) throws(StoreError) in
                try session.store(submissions)
            }
            for (waiting, receipt) in zip(current, receipts) { waiting.reply(.success(receipt)) }
        } catch  where error.kind == .missing {
            session.doubtRoom()
            again(current, error, &session)
        } catch {
            report(error)
            // One batch that the database refuses, or that needs too much of it, must not take the others with it.
            if !error.isOfAll, current.count > 1, session.isUsable {
                for waiting in current { store([waiting], &session) }
            } else {
                for waiting in current { waiting.reply(.failure(error)) }
            }
        }
    }

    /// Batches that have to wait for something else are no longer in the way of others.
    ///
    /// - Returns: the others.
    private func setAside(
        _ group: [WorkQueue.Waiting], _ session: inout ThreadSession
    ) throws(StoreError) -> [WorkQueue.Waiting] {
        let submissions = group.map(\.submission)
        let places = Set(
            try session.attempt { (session) throws(StoreError) in try session.unready(submissions) })
        guard !places.isEmpty else { return group }
        for place in places.sorted() {
            if let refusal = makes.change({ $0.add(group[place]) }) {
                group[place].reply(.failure(refusal))
            }
        }
        return group.indices.filter { !places.contains($0) }.map { group[$0] }
    }

    /// A row had no place, which was there a moment ago: what retention has dropped meanwhile is made again. Whoever sent it asks
    /// again in the end; to them it must not look as if they had sent something wrong.
    private func again(
        _ group: [WorkQueue.Waiting], _ error: StoreError, _ session: inout ThreadSession
    ) {
        let (hopeless, others) = (
            group.filter { $0.returns >= Self.mostReturns }, group.filter { $0.returns < Self.mostReturns }
        )
        if !hopeless.isEmpty { report(error) }
        for waiting in hopeless { waiting.reply(.failure(error)) }
        // The one that fails is by itself from the second time on.
        let groups = others.contains { $0.returns > 0 } ? others.map { [$0] } : [others]
        for var group in groups where !group.isEmpty {
            for place in group.indices { group[place].returns += 1 }
            store(group, &session)
        }
    }

    /// How often a batch is tried while what it needs is dropped again and again.
    private static let mostReturns = 20
}

/// For how long a thread has been at one piece of work.
final class Occupation: Sendable {
    private let since = Mutex<ContinuousClock.Instant?>(nil)

    func begin() { since.withLock { $0 = .now } }

    func end() { since.withLock { $0 = nil } }

    func hasLasted(_ duration: Duration) -> Bool {
        since.withLock { $0.map { .now - $0 >= duration } ?? false }
    }
}
