internal import Base
internal import Configuration
internal import GPSD
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

typealias Failure = MainMessage.Failure

/// Commands to the parts, and their answers.
extension Reader {
    func perform(_ command: ReaderCommand, now: BootInstant) {
        switch command {
        case .start(let token):
            hub.tell(.started(token, Result { () throws(Failure) in try start(.user, now: now) }))
        case .stop(let token):
            hub.tell(.stopped(token, Result { () throws(Failure) in try stop(now: now) }))
        case .delete(let cutoff, let token):
            begin({ .deleted(token, .failure($0)) }) { () throws(Failure) in
                try delete(before: cutoff, for: token, now: now)
            }
        case .rejected(let act, let token):
            begin({ .rejected(act, token, .failure($0)) }) { () throws(Failure) in
                try work.begin(act, for: token, isDeletionKnown: !sessions.recall.isMissing(.deletion))
            }
        case .resend(let resend, let token):
            begin({ .resent(token, .failure($0)) }) { () throws(Failure) in
                try work.begin(resend, for: token, isDeletionKnown: !sessions.recall.isMissing(.deletion))
            }
        case .setExtras(let wanted, let token):
            let result = Result { () throws(Failure) in
                try extras.set(wanted, configured: settings.extras)
            }
            hub.tell(.extrasSet(token, result))
        case .addGeofences(let list, let token):
            let result = Result { () throws(Failure) in try fences.add(list, now: now) }
            // The snapshot first: clients that are notified read it.
            publish(now: now)
            hub.tell(.geofencesAdded(token, result))
        case .removeGeofences(let ids, let token):
            let result = Result { () throws(Failure) in try fences.remove(ids, now: now) }
            publish(now: now)
            hub.tell(.geofencesRemoved(token, result))
        case .listGeofences(let id, let limit, let token):
            let page = fences.geofences.page(after: id, limit: limit)
            hub.tell(.geofences(token, page.items, isLast: page.isLast))
        case .locate(let request): locate(request, now: now)
        case .forget(let token): pipeline.cancelRequest(of: token)
        case .configure(let settings, let kept):
            let result = Result { () throws(Failure) in
                try configure(settings, keeping: kept, now: now)
            }
            hub.tell(.settingsTaken(result))
        case .end: break
        }
    }

    // MARK: Tracking

    func start(_ reason: StateChange.Reason, now: BootInstant) throws(Failure) -> UUIDv7 {
        if let session = sessions.session { return session.id }
        let session = newSession(now: now)
        try sessions.start(reason, in: session, now: now)
        beginSession()
        adjustLink(now: now)
        publishState(now: now)
        return session.id
    }

    private func newSession(now: BootInstant) -> Session {
        let time = hub.clock.time(now: now)
        return Session(id: pipeline.newID(at: time), startedAt: time)
    }

    /// What the parts forget when a session is entered.
    func beginSession() {
        pipeline.beginSession()
        fences.eventSession = nil
    }

    private func stop(now: BootInstant) throws(Failure) {
        if sessions.recall.isMissing(.intent) {
            try sessions.stopUnknown(newSession(now: now))
            sessions.closeLeftOpen(latest: recorder.latest?.fix.time)
            return publishState(now: now)
        }
        // Epochs that are still open belong to the session.
        if sessions.session != nil { for event in link.flush(now: now) { follow(event, now: now) } }
        guard let session = try sessions.stop() else { return }
        adjustLink(now: now)
        flush(now: now)
        sessions.close(session, at: hub.clock.time(now: now), now: now)
        if hub.store.counts().pending > 0 { hub.tellUploader(.trigger(.sessionStopped)) }
        publishState(now: now)
    }

    // MARK: Work in steps

    private func begin(
        _ answer: (Failure) -> StepwiseWork.Answer, _ body: () throws(Failure) -> Void
    ) {
        do {
            try body()
        } catch {
            post(answer(error))
        }
    }

    /// One step of what is under way.
    func runSteps(now: BootInstant) {
        for answer in work.run(now: now) { post(answer) }
    }

    private func post(_ answer: StepwiseWork.Answer) {
        switch answer {
        case .deleted(let token, let result): hub.tell(.deleted(token, result))
        case .resent(let token, let result): hub.tell(.resent(token, result))
        case .rejected(.requeue, let token, let result): hub.tell(.requeued(token, result))
        case .rejected(.purge, let token, let result): hub.tell(.purged(token, result))
        }
    }

    private func delete(before cutoff: Timestamp?, for token: Token, now: BootInstant) throws(Failure) {
        try work.refuseWhileDeleting()
        // What can be stored is deleted like everything else, and the rest in memory.
        flush(now: now)
        pipeline.forgetLatestFix(upTo: try work.delete(before: cutoff, for: token))
        guard recorder.latest == nil || work.isDoomed(recorder.latest?.fix.time) else { return }
        recorder.forgetLatest()
        pipeline.forgetPositions()
    }

    // MARK: Single locations

    private func locate(_ request: OneShots.Request, now: BootInstant) {
        switch pipeline.locate(request, obstacle: link.obstacle, now: now) {
        case .located(let location): answer(request.id, .success(location))
        case .waiting: adjustLink(now: now)
        case .impossible(let reason): refuse([request.id], reason)
        }
    }

    func expireRequests(now: BootInstant) {
        for token in pipeline.expireRequests(now: now) { answer(token, .success(nil)) }
    }

    /// No fix can come.
    func refuseRequests(_ reason: String) { refuse(pipeline.cancelAllRequests(), reason) }

    private func refuse(_ tokens: [Token], _ reason: String) {
        for token in tokens { answer(token, .failure(Failure(kind: .location, reason: reason))) }
    }

    func answer(_ token: Token, _ result: Result<Location?, Failure>) {
        hub.tell(.located(token, result))
    }

    // MARK: Settings

    /// Durable before it is in force: nobody may see a setting that a power cut takes back. All of it, or nothing.
    private func configure(
        _ new: Settings, keeping kept: KeptSettings?, now: BootInstant
    ) throws(Failure) {
        switch kept {
        case nil: break
        case .files(let copy, let options): copy.keep(options)
        case .runtime(let file, let bytes):
            do {
                try hub.makingRoom { () throws(SystemError) in try file.replace(with: bytes) }
            } catch {
                throw Failure(reason: "the settings could not be written, and nothing was changed: \(error)")
            }
        }
        configure(new, now: now)
    }

    /// New thresholds apply to the next fix; only a change of gpsd itself makes a new connection.
    private func configure(_ new: Settings, now: BootInstant) {
        settings = new
        hub.store.configure(StoreOptions(new))
        work.noteChangedCap()
        extras.apply(to: new.extras)
        pipeline.configure(
            thresholds: Admission.Thresholds(new.tracking), isReplay: new.gpsd.replay)
        guard let last = link.configure(new.gpsd, now: now) else { return }
        for event in last { follow(event, now: now) }
        pipeline.unsettle()
        adjustLink(now: now)
    }
}
