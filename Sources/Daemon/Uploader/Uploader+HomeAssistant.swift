internal import Base
internal import Linux
internal import Storage

/// What Home Assistant is told, between two steps of a drain or between drains.
extension Uploader {
    /// Begins to tell it what is new, in a drain: where that may go out, this may.
    ///
    /// - Returns: whether something is under way.
    func announces(now: BootInstant) -> Bool {
        guard let sync, !isStopping else { return false }
        homeAssistant.observe(&carrier, isLost: false, sync, now: now)
        guard homeAssistant.isDue(now: now) else { return false }
        // What is to be removed may be at the same broker, under another url.
        if let due = homeAssistant.removalDue(inForce.settings), due <= now { return false }
        homeAssistant.beginTelling(&carrier, sync, now: now)
        return homeAssistant.isUnderway
    }

    /// Begins what is due while nothing else is.
    ///
    /// - Returns: whether something is under way.
    func beginsHomeAssistant(now: BootInstant) -> Bool {
        if let trouble = hub.announcements.takeTrouble() {
            hub.board.note(damaged: trouble.name)
            Log.error(
                .fileDamaged,
                trouble.text + ": what brokers retain for Home Assistant may have to be removed there by hand"
            )
        }
        if let due = homeAssistant.removalDue(inForce.settings), due <= now {
            homeAssistant.beginRemoval(&carrier, inForce.settings, now: now)
        } else if let sync, homeAssistant.isDue(now: now),
            attempts.metered.admitsAnnouncement(sync, now: now)
        {
            homeAssistant.beginTelling(&carrier, sync, now: now)
            attempts.metered.announcementsDone()
        }
        return homeAssistant.isUnderway
    }

    /// Goes on with what is under way. Nothing else is begun before it has ended.
    func followHomeAssistant(now: BootInstant) -> Rest {
        if isStopping { homeAssistant.cancel(&carrier) }
        guard var rest = homeAssistant.proceed(&carrier, sync, now: now) else { return .none }
        rest.add(port.commands.wakeup.descriptor)
        return rest
    }
}
