/// What one thread does: it takes work from its queue, and keeps a session to do it with.
struct Worker {
    let queue: Monitor<WorkQueue>
    let open: @Sendable () throws(StoreError) -> any Session
    /// Told of what nobody else is: that the database does not answer, and that it does again.
    let report: @Sendable (StoreError) -> Void

    func run() {
        var session: (any Session)?
        while true {
            switch queue.wait(until: { $0.take() }) {
            case .end: return
            case .job(let job):
                perform(job, &session)
            case .group(let group):
                store(group, &session)
            }
            if session?.isUsable == false { session = nil }
        }
    }

    private func perform(_ job: WorkQueue.Job, _ session: inout (any Session)?) {
        guard job.due > .now else { return job.fail(WorkQueue.late) }
        do throws(StoreError) {
            if job.run(try current(&session), false) { return }
            session = nil
            _ = job.run(try current(&session), true)
        } catch {
            report(error)
            job.fail(error)
        }
    }

    private func current(_ session: inout (any Session)?) throws(StoreError) -> any Session {
        if let session { return session }
        let new = try open()
        session = new
        return new
    }

    private func store(_ group: [WorkQueue.Waiting], _ session: inout (any Session)?) {
        let now = ContinuousClock.now
        for waiting in group where waiting.due <= now { waiting.reply(.failure(WorkQueue.late)) }
        let current = group.filter { $0.due > now }
        guard !current.isEmpty else { return }
        do throws(StoreError) {
            let receipts = try stored(current.map(\.submission), &session)
            for (waiting, receipt) in zip(current, receipts) { waiting.reply(.success(receipt)) }
        } catch {
            report(error)
            // One batch that the database refuses, or that needs too much of it, must not take the others with it.
            let isOfOne = error.kind == .failed || error.kind == .overloaded
            if isOfOne, current.count > 1, session?.isUsable == true {
                for waiting in current { store([waiting], &session) }
            } else {
                for waiting in current { waiting.reply(.failure(error)) }
            }
        }
    }

    /// A connection that was lost, since the database was restarted, says so when it is used next. The group goes again on a
    /// new one, once: should the COMMIT have reached the database, it now counts as duplicates.
    private func stored(
        _ group: [Submission], _ session: inout (any Session)?
    ) throws(StoreError) -> [Receipt] {
        do throws(StoreError) {
            return try current(&session).store(group)
        } catch {
            guard error.kind == .unavailable, session?.isUsable == false else { throw error }
            report(error)
        }
        session = nil
        return try current(&session).store(group)
    }
}
