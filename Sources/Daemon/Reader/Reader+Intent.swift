internal import Base
internal import Configuration
internal import Linux
internal import Storage
internal import Tracking

extension Reader {
    /// What the file of the intent says; nil when only the database can tell, which is asked then.
    func readIntent() -> SmallFiles.Intent? {
        let reading = hub.files.readIntent()
        let trouble = reading.trouble
        if let trouble { hub.board.note(damaged: trouble.name) }
        guard let intent = reading.content else {
            lostIntent = trouble
            return nil
        }
        if let trouble { Log.error(.fileDamaged, trouble.text) }
        return intent
    }

    /// Takes up what the database knows, which no file says any more. A session without an end goes on. One with an end
    /// shows that somebody has stopped: nothing tracks until somebody starts. Without any this is the first run.
    ///
    /// The file is asked first, and the database once it answers: until then nothing tracks.
    func takeUpIntent(
        of latest: (session: (id: UUIDv7, startedAt: Timestamp), isOpen: Bool)?, now: BootInstant
    ) {
        let trouble = lostIntent
        lostIntent = nil
        guard state == .idle else { return }
        guard let latest else {
            if let trouble {
                let after = settings.tracking.autostart ? "tracking starts anew" : "to track, beekonctl start"
                Log.error(
                    .fileDamaged,
                    "\(trouble.text): whether tracking was on is not known, and no session is stored; \(after)"
                )
            }
            if settings.tracking.autostart, case .failure(let failure) = start(.autostart, now: now) {
                Log.error(.storageFailed, "autostart failed: \(failure.reason)")
            }
            return
        }
        let text = trouble?.text ?? "\(SmallFiles.Name.intent) is gone"
        let (id, startedAt) = latest.session
        if latest.isOpen {
            Log.error(.fileDamaged, "\(text): the database has an open session, so tracking goes on in it")
            resume(session: id, startedAt: startedAt)
        } else {
            Log.error(
                .fileDamaged,
                "\(text): the latest session in the database has ended, so tracking stays stopped; "
                    + "to track, beekonctl start")
            state = .stopped
            stateReason = .user
            latestSession = id
        }
        do {
            if trouble?.isPassing != true {
                try write(
                    SmallFiles.Intent(
                        state: latest.isOpen ? .tracking : .stopped, session: id, startedAt: startedAt))
            }
        } catch {
            Log.error(.storageFailed, "the intent could not be written again: \(error)")
        }
        hub.board.note(damaged: SmallFiles.Name.intent)
        adjustSource(now: now)
        publishState(now: now)
    }

    func resume(session id: UUIDv7, startedAt: Timestamp) {
        enter(session: id, startedAt: startedAt)
        stateReason = .resumed
        // What waits belongs to sessions before this one, and is written before it.
        if recorder.waiting == 0 { missing.insert(.tail) }
        Log.notice(.sessionResumed, "tracking goes on in session \(id)", [(.session, id.description)])
    }

    /// The database cannot say yet what was intended, and now somebody has said it: the end of tracking.
    func stopUnknown(now: BootInstant) -> Result<Void, Failure> {
        let time = hub.clock.time(now: now)
        do {
            try write(SmallFiles.Intent(state: .stopped, session: ids.next(at: time), startedAt: time))
        } catch {
            return .failure(Failure(reason: "the wish to stop could not be written: \(error)"))
        }
        missing.remove(.intent)
        state = .stopped
        stateReason = .user
        closeLeftOpen()
        publishState(now: now)
        return .success(())
    }

    /// A stop that was interrupted after the intent was written and before the end of the session was.
    func closeLeftOpen() {
        guard let open = (try? hub.store.openTrackingSession()) ?? nil else { return }
        let end = max(lastLocation?.fix.time ?? open.startedAt, open.startedAt)
        // If it fails, the next start does it.
        try? hub.store.close(session: open.id, at: end)
    }

    /// Returns the content of a file, and notes when it was unusable.
    func content<Content>(of reading: SmallFiles.Reading<Content>, otherwise: String) -> Content? {
        if let trouble = reading.trouble {
            hub.board.note(damaged: trouble.name)
            let loss = reading.content == nil ? ": " + otherwise : ""
            Log.error(.fileDamaged, trouble.text + loss)
        }
        return reading.content
    }
}
