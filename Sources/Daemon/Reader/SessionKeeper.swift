internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking

/// Whether the daemon tracks, in which session, and why. Each change is durable in the file of the intent before it is in
/// force; without that file the database tells what was intended.
///
/// Confined to the reader's thread.
final class SessionKeeper {
    private enum Phase: Equatable {
        case idle
        case tracking(Session)
        case stopped
    }

    /// What the file of the intent says.
    enum Intent: Equatable {
        case tracking
        case stopped
        /// Nothing: only the database can tell.
        case unknown
    }

    /// What followed from the database where the file of the intent said nothing.
    enum Inference: Equatable {
        /// Somebody has decided meanwhile, or this is a first run without autostart.
        case nothing
        /// A first run: tracking is to start.
        case autostart
        case resumed
        case stopped
    }

    private let hub: Hub
    private let recorder: Recorder
    private var phase = Phase.idle
    /// The reason for the phase, for subscribers.
    private var reason: StateChange.Reason?
    /// The current session, or the last one that ended.
    private var latest: UUIDv7?
    /// Why the file of the intent does not say what was intended; nil when there is none.
    private var lostIntent: SmallFiles.Trouble?
    /// How often the disk did not give the file of the intent when it was asked again.
    private var failedRereads = 0
    /// Then the database tells what was intended: a file that never reads again must not keep a vehicle from being tracked.
    private static let mostFailedRereads = 10
    /// Who decided whether to track, as far as that is known; nil before anybody has.
    private(set) var wish: Wish?
    /// When a person's stop came that holds; nil where that is not known, and while none does.
    private(set) var stoppedAt: Timestamp?
    /// What somebody says the vehicle does, until a location is stored that goes by it; nil: nothing.
    private(set) var motion: MotionState?
    /// What the store could not tell yet.
    var recall = Recall()

    init(hub: Hub, recorder: Recorder) {
        self.hub = hub
        self.recorder = recorder
    }

    /// The session of tracking; nil when nothing is tracked.
    var session: Session? {
        if case .tracking(let session) = phase { session } else { nil }
    }

    var state: ReaderSnapshot.State {
        switch phase {
        case .idle: .idle
        case .tracking: .tracking
        case .stopped: .stopped
        }
    }

    /// For subscribers.
    var change: StateChange {
        StateChange(state: state, reason: reason, session: latest, decidedBy: wish?.origin)
    }

    // MARK: Whose wish counts

    /// What holds against the server. Where nobody knows who has stopped, it was a person.
    private var wishAgainstServer: Wish? {
        wish ?? (phase == .stopped ? Wish(tracks: false, origin: .person, time: nil) : nil)
    }

    /// A person has stopped tracking, and nobody else has started it since.
    var holdsAgainstServer: Bool { wishAgainstServer?.isPersonsStop == true }

    /// What becomes of a wish made now.
    ///
    /// - Throws: while only the database knows what was intended, and does not answer. A person need not wait for that.
    func judge(_ wish: Wish) throws(CommandFailure) -> Wish.Verdict {
        if wish.origin == .person { return .taken }
        try requireIntent()
        return wish.judge(after: wish.origin == .server ? wishAgainstServer : self.wish)
    }

    /// - Throws: while a person's stop holds against what the server asks for.
    func admit(_ request: Wish.ServerRequest) throws(CommandFailure) {
        if request != .harmless { try requireIntent() }
        guard Wish.allows(request, while: wishAgainstServer) else {
            throw CommandFailure(kind: .stoppedByPerson)
        }
    }

    private func requireIntent() throws(CommandFailure) {
        guard !recall.isMissing(.intent) else {
            throw CommandFailure(kind: .busy(seconds: 10), reason: "what was intended is not known yet")
        }
    }

    // MARK: After a restart

    /// Takes up what the file of the intent says.
    func resume() -> Intent {
        let reading = hub.files.read(StoredIntent.self)
        let trouble = reading.trouble
        if let trouble { hub.board.note(damaged: trouble.name) }
        guard let intent = reading.content, let id = intent.session else {
            lostIntent = trouble
            return .unknown
        }
        // It was whole, and only not given before.
        if trouble == nil, let lostIntent { hub.board.note(renewed: lostIntent.name) }
        lostIntent = nil
        if let trouble { Log.error(.fileDamaged, trouble.text) }
        wish = intent.wish
        switch intent.state {
        case .tracking:
            motion = intent.statedMotion
            resume(Session(id: id, startedAt: Timestamp(milliseconds: intent.startedAt)))
            recall.add(.tail)
            return .tracking
        case .stopped:
            (phase, reason, latest) = (.stopped, intent.wish.isSystems ? .system : .user, id)
            stoppedAt = intent.stoppedAt.map { Timestamp(milliseconds: $0) }
            return .stopped
        }
    }

    /// Takes up what the file of the intent says, where the disk did not give it before: it may be whole.
    ///
    /// - Throws: while the disk does not give it, a number of times.
    func resumeAgain() throws(StorageError) -> Intent {
        guard phase == .idle, lostIntent?.isPassing == true else { return .unknown }
        let intent = resume()
        if intent == .unknown, failedRereads < Self.mostFailedRereads {
            failedRereads += 1
            try requireReadIntent()
        }
        return intent
    }

    /// - Throws: while the disk does not give the file of the intent, and the database has not been asked in its place.
    func requireReadIntent() throws(StorageError) {
        guard recall.isMissing(.intent), let trouble = lostIntent, trouble.isPassing else { return }
        throw StorageError(operation: "reading \(trouble.name)", kind: .io, message: trouble.reason)
    }

    /// Takes up what the database knows, which no file says any more. A session without an end goes on. One with an end
    /// shows that somebody has stopped: nothing tracks until somebody starts. Without any this is the first run.
    ///
    /// The file is asked first, and the database once it answers: until then nothing tracks.
    ///
    /// - Parameter stored: the latest session; nil when there has been none.
    func infer(from stored: (session: Session, isOpen: Bool)?, autostarts: Bool) -> Inference {
        let trouble = lostIntent
        lostIntent = nil
        guard phase == .idle else { return .nothing }
        guard let (session, isOpen) = stored else {
            if let trouble {
                let after = autostarts ? "tracking starts anew" : "to track, beekonctl start"
                Log.error(
                    .fileDamaged,
                    "\(trouble.text): whether tracking was on is not known, and no session is stored; \(after)"
                )
            }
            return autostarts ? .autostart : .nothing
        }
        let text = trouble?.text ?? "\(SmallFiles.Name.intent) is gone"
        if isOpen {
            Log.error(.fileDamaged, "\(text): the database has an open session, so tracking goes on in it")
            resume(session)
        } else {
            Log.error(
                .fileDamaged,
                "\(text): the latest session in the database has ended, so tracking stays stopped; "
                    + "to track, beekonctl start")
            (phase, reason, latest) = (.stopped, .user, session.id)
        }
        do {
            if trouble?.isPassing != true { try write(isOpen ? .tracking : .stopped, session, nil) }
        } catch {
            Log.error(.storageFailed, "the intent could not be written again: \(error)")
        }
        hub.board.note(damaged: SmallFiles.Name.intent)
        return isOpen ? .resumed : .stopped
    }

    private func resume(_ session: Session) {
        enter(session, .resumed)
        // What waits belongs to sessions before this one, and is written before it.
        if recorder.waiting == 0 { recall.add(.tail) }
        Log.notice(
            .sessionResumed, "tracking goes on in session \(session.id)",
            [(.session, session.id.description)])
    }

    /// A stop that was interrupted after the intent was written and before the end of the session was.
    ///
    /// - Parameter latest: the time of the newest location.
    func closeLeftOpen(latest: Timestamp?) {
        guard let open = (try? hub.store.openTrackingSession()) ?? nil else { return }
        // If it fails, the next start does it.
        try? hub.store.close(session: open.id, at: max(latest ?? open.startedAt, open.startedAt))
    }

    // MARK: Start and stop

    /// Begins tracking in a new session; the wish to track is durable when it returns.
    ///
    /// A store that fails now is no reason not to track: the session is written with its first location.
    func start(
        _ reason: StateChange.Reason, in session: Session, for wish: Wish? = nil, now: BootInstant
    ) throws(CommandFailure) {
        do {
            try write(.tracking, session, wish)
        } catch {
            throw CommandFailure(reason: "the intent to track could not be written: \(error)")
        }
        self.wish = wish
        enter(session, reason)
        do {
            _ = try hub.store.enter(session: session.id, startedAt: session.startedAt)
        } catch {
            recorder.note(error, now: now)
        }
        Log.notice(
            .sessionStarted, "tracking in session \(session.id)", [(.session, session.id.description)])
    }

    private func enter(_ session: Session, _ reason: StateChange.Reason) {
        (phase, self.reason, latest) = (.tracking(session), reason, session.id)
        stoppedAt = nil
        // Rows of the previous session may still be waiting: this session must not be written before them.
        recall.remove(.tail)
        recall.remove(.intent)
    }

    /// Ends tracking; the wish to stop is durable when it returns.
    ///
    /// - Parameter time: the present, by the best clock there is.
    /// - Returns: the session to be closed once its last rows are stored; nil when nothing was tracked.
    func stop(for wish: Wish? = nil, at time: Timestamp) throws(CommandFailure) -> Session? {
        guard let session else { return nil }
        try writeStop(session, wish, at: time)
        (phase, reason) = (.stopped, wish?.isSystems == true ? .system : .user)
        return session
    }

    /// Another has decided the same, or it has become known when that was.
    func note(_ wish: Wish?) {
        guard wish != self.wish else { return }
        self.wish = wish
        guard let wish, var intent = hub.files.read(StoredIntent.self).content,
            intent.wish.tracks == wish.tracks
        else {
            return
        }
        intent.take(wish)
        do {
            try hub.makingRoom { () throws(SystemError) in try hub.files.write(intent) }
            hub.board.note(renewed: SmallFiles.Name.intent)
        } catch {
            Log.error(.storageFailed, "who decided whether to track could not be written: \(error)")
        }
    }

    /// Nothing is tracked, and somebody wishes it to stay so. A stop that was another's becomes a person's, which holds, also
    /// before anything has ever been tracked: durable when it returns.
    ///
    /// - Parameters:
    ///   - placeholder: stands in for the session where there has been none.
    ///   - time: the present, by the best clock there is.
    func stayStopped(for wish: Wish, _ placeholder: Session, at time: Timestamp) throws(CommandFailure) {
        // What holds already need not be written again, and a disk that fails is no reason to refuse it.
        guard wish.isPersonsStop, self.wish?.isPersonsStop != true else {
            note(wish)
            if phase == .stopped { reason = wish.isSystems ? .system : .user }
            return
        }
        let known = hub.files.read(StoredIntent.self).content.flatMap { intent in
            intent.session.map { Session(id: $0, startedAt: Timestamp(milliseconds: intent.startedAt)) }
        }
        try writeStop(known ?? placeholder, wish, at: time)
        if phase == .stopped { reason = .user }
    }

    /// The database cannot say yet what was intended, and now somebody has said it: the end of tracking.
    ///
    /// - Parameters:
    ///   - placeholder: stands in for the session, which is not known.
    ///   - time: the present, by the best clock there is.
    func stopUnknown(_ placeholder: Session, for wish: Wish? = nil, at time: Timestamp) throws(CommandFailure)
    {
        try writeStop(placeholder, wish, at: time)
        recall.remove(.intent)
        (phase, reason) = (.stopped, .user)
    }

    /// Stores the end of a session.
    func close(_ session: Session, at time: Timestamp, now: BootInstant) {
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
    }

    // MARK: What the vehicle does

    /// Somebody says what the vehicle does: durable when it returns.
    func keep(_ motion: MotionState) throws(CommandFailure) {
        guard let session else { throw CommandFailure(kind: .notTracking) }
        let former = self.motion
        self.motion = motion
        do {
            try write(.tracking, session, wish)
        } catch {
            self.motion = former
            throw CommandFailure(reason: "what the vehicle does could not be written: \(error)")
        }
    }

    /// A location is stored that goes by it, and the database has it from now on.
    func forgetMotion() {
        guard let session, let former = motion else { return }
        motion = nil
        do {
            try write(.tracking, session, wish)
        } catch {
            // With the next location; until then it would only be said once more.
            motion = former
            Log.debug(.storageFailed, "what the vehicle was said to do could not be forgotten: \(error)")
        }
    }

    // MARK: The file of the intent

    private func writeStop(_ session: Session, _ wish: Wish?, at time: Timestamp) throws(CommandFailure) {
        let moment = wish?.isPersonsStop == true ? time : nil
        do {
            try write(.stopped, session, wish, stoppedAt: moment)
        } catch {
            throw CommandFailure(reason: "the intent to stop could not be written: \(error)")
        }
        self.wish = wish
        stoppedAt = moment
        motion = nil
    }

    /// A full disk is no reason to go on tracking somebody who has asked for it to end.
    private func write(
        _ state: StoredIntent.State, _ session: Session, _ wish: Wish?, stoppedAt: Timestamp? = nil
    ) throws(SystemError) {
        let intent = StoredIntent(
            state: state, session: session.id, startedAt: session.startedAt, origin: wish?.origin,
            decidedAt: wish?.time, stoppedAt: stoppedAt, motion: state == .tracking ? motion : nil)
        try hub.makingRoom { () throws(SystemError) in try hub.files.write(intent) }
        hub.board.note(renewed: SmallFiles.Name.intent)
    }

    /// The state directory was replaced: the intent is not in it.
    func writeIntentAgain() {
        guard let session else { return }
        do {
            try write(.tracking, session, wish)
        } catch {
            Log.error(.storageFailed, "the intent to track could not be written again: \(error)")
        }
    }
}
