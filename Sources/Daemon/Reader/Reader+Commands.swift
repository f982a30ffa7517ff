internal import Base
internal import Configuration
internal import GPSD
internal import Glibc
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

extension Reader {
    /// Takes up what was intended before the daemon ended, however it ended.
    func resume(now: BootInstant) {
        resumeExtras()
        resumeGeofences(now: now)
        // Subscribers and status show the newest location until the next fix arrives.
        recall([.deletion, .latest, .ages], now: now)
        let intent = readIntent()
        switch intent?.state {
        case .tracking:
            guard let intent, let id = intent.session else { break }
            resume(session: id, startedAt: Timestamp(milliseconds: intent.startedAt))
            recall(.tail, now: now)
        case .stopped:
            state = .stopped
            latestSession = intent?.session
            closeLeftOpen()
        case nil: recall(.intent, now: now)
        }
        if state != .tracking { recall(.eventSession, now: now) }
        adjustSource(now: now)
        if state != .idle { stateReason = stateReason ?? (state == .tracking ? .resumed : .user) }
        publishState(now: now)
    }

    func perform(_ command: ReaderCommand, now: BootInstant) {
        switch command {
        case .start(let token): hub.complete(token, start(.user, now: now).map { .session($0) })
        case .stop(let token): hub.complete(token, stop(now: now).map { .done })
        case .delete(let cutoff, let token): delete(before: cutoff, token, now: now)
        case .rejected(let act, let token): begin(act, token)
        case .resend(let work, let token): begin(work, token)
        case .setExtras(let wanted, let token): set(extras: wanted, token)
        case .addGeofences(let list, let token): add(geofences: list, token, now: now)
        case .removeGeofences(let ids, let token): remove(geofences: ids, token, now: now)
        case .listGeofences(let id, let limit, let token):
            let page = fences.page(after: id, limit: limit)
            hub.complete(token, .success(.geofences(page.items, isLast: page.isLast)))
        case .locate(let request): locate(request, now: now)
        case .forget(let token): oneShots.cancel(token)
        case .end: break
        }
    }

    func start(
        _ reason: StateChange.Reason, now: BootInstant
    ) -> Result<UUIDv7, Failure> {
        if state == .tracking, let session { return .success(session.id) }
        let time = hub.clock.time(now: now)
        let id = ids.next(at: time)
        do {
            try write(SmallFiles.Intent(state: .tracking, session: id, startedAt: time))
        } catch {
            return .failure(Failure(reason: "the wish to track could not be written: \(error)"))
        }
        enter(session: id, startedAt: time)
        stateReason = reason
        do {
            _ = try hub.store.enter(session: id, startedAt: time)
        } catch {
            recorder.note(error, now: now)
        }
        adjustSource(now: now)
        Log.notice(.sessionStarted, "tracking in session \(id)", [(.session, id.description)])
        publishState(now: now)
        return .success(id)
    }

    /// A store that fails now is no reason not to track: the session is written with its first location.
    func enter(session id: UUIDv7, startedAt: Timestamp) {
        state = .tracking
        session = (id, startedAt)
        latestSession = id
        eventSession = nil
        admission = Admission(thresholds: Admission.Thresholds(settings.tracking))
        admittedInSession = 0
        // Rows of the previous session may still be waiting: this session must not be written before them.
        missing.remove(.tail)
        missing.remove(.intent)
    }

    private func stop(now: BootInstant) -> Result<Void, Failure> {
        if missing.contains(.intent) { return stopUnknown(now: now) }
        guard state == .tracking, let session else { return .success(()) }
        // Epochs that are still open belong to the session.
        for event in source.flush(now: now) { handle(event, now: now) }
        let intent = SmallFiles.Intent(state: .stopped, session: session.id, startedAt: session.startedAt)
        do {
            try write(intent)
        } catch {
            return .failure(Failure(reason: "the wish to stop could not be written: \(error)"))
        }
        state = .stopped
        stateReason = .user
        self.session = nil
        adjustSource(now: now)
        flush(now: now)
        let time = hub.clock.time(now: now)
        do {
            try hub.store.close(session: session.id, at: time)
        } catch {
            recorder.note(error, now: now) { [store = hub.store] () throws(StorageError) in
                try store.close(session: session.id, at: time)
            }
        }
        Log.notice(
            .sessionStopped, "tracking stopped, session \(session.id) ended",
            [(.session, session.id.description)])
        if hub.store.counts().pending > 0 { hub.post(toUploader: .trigger(.sessionStopped)) }
        publishState(now: now)
        return .success(())
    }

    /// A disk that is full is no reason to go on tracking somebody who has asked for the end of it.
    func write(_ intent: SmallFiles.Intent) throws(SystemError) {
        try makingRoom { () throws(SystemError) in try hub.files.write(intent) }
        hub.board.note(renewed: SmallFiles.Name.intent)
    }

    private func makingRoom(_ write: () throws(SystemError) -> Void) throws(SystemError) {
        do {
            try write()
        } catch {
            guard error.code == ENOSPC, hub.store.makeRoom() else { throw error }
            try write()
        }
    }

    /// The state directory is not the one it was: what is intended does not stand there.
    func writeIntentAgain() {
        guard state == .tracking, let session else { return }
        do {
            try write(
                SmallFiles.Intent(state: .tracking, session: session.id, startedAt: session.startedAt))
        } catch {
            Log.error(.storageFailed, "the wish to track could not be written again: \(error)")
        }
    }

    /// The snapshot first: whoever is told looks at it.
    func publishState(now: BootInstant) {
        publish(now: now)
        hub.post(.stateChanged(stateChange))
    }

    var stateChange: StateChange {
        StateChange(state: state, reason: stateReason, session: latestSession)
    }

    // MARK: Configuration

    /// Durable before it is in force: nobody may see a setting that a power cut takes back. All of it, or nothing.
    func configure(_ new: NewSettings, now: BootInstant) -> Result<Void, Failure> {
        switch new.kept {
        case .nothing: break
        case .files(let copy, let options): copy.keep(options)
        case .runtime(let file, let bytes):
            do {
                try makingRoom { () throws(SystemError) in try file.replace(with: bytes) }
            } catch {
                let reason = "the settings could not be written, and nothing was changed: \(error)"
                return .failure(Failure(reason: reason))
            }
        }
        configure(new.settings, now: now)
        return .success(())
    }

    /// New thresholds apply to the next fix; only a change of gpsd itself makes a new connection.
    private func configure(_ new: Settings, now: BootInstant) {
        let old = settings
        settings = new
        hub.store.configure(StoreOptions(new))
        mayShrink = true
        adoptExtras()
        admission.thresholds = Admission.Thresholds(new.tracking)
        receiverTime.isReplay = new.gpsd.replay
        guard new.gpsd != old.gpsd, let fresh = Source(new.gpsd) else { return }
        for event in source.release(now: now) { handle(event, now: now) }
        source = fresh
        link = .none
        receiverTime.unsettle()
        adjustSource(now: now)
    }
}
