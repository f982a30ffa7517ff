internal import Configuration
internal import Linux
internal import Storage
internal import Tracking

extension Reader {
    /// What was intended before the daemon ended. If no file says so any more, the database does: a tracking session
    /// without an end continues.
    func recallIntent(now: BootInstant) -> SmallFiles.Intent? {
        let reading = hub.files.readIntent()
        let trouble = reading.trouble
        if let trouble { hub.board.note(damaged: trouble.name) }
        if let intent = reading.content {
            if let trouble { Log.error(.fileDamaged, trouble.text) }
            return intent
        }
        let text = trouble?.text ?? "\(SmallFiles.Name.intent) is gone"
        var open: (id: UUIDv7, startedAt: Timestamp)?
        do {
            open = try hub.store.openTrackingSession()
        } catch {
            recorder.note(error, now: now) { [store = hub.store] () throws(StorageError) in
                _ = try store.openTrackingSession()
            }
        }
        guard let open else {
            guard trouble != nil else { return nil }
            let after = settings.tracking.autostart ? "tracking starts anew" : "to track, beekonctl start"
            Log.error(
                .fileDamaged,
                "\(text): whether tracking was on is not known, and no session is open; \(after)")
            return nil
        }
        let intent = SmallFiles.Intent(state: .tracking, session: open.id, startedAt: open.startedAt)
        Log.error(.fileDamaged, "\(text): the database has an open session, so tracking goes on in it")
        do {
            if trouble?.isPassing != true { try write(intent) }
        } catch {
            Log.error(.storageFailed, "the intent to track could not be written again: \(error)")
        }
        hub.board.note(damaged: SmallFiles.Name.intent)
        return intent
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
