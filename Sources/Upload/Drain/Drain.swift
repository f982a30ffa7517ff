/// Decides what an upload does next, from the first batch until nothing is pending or one fails. Pure: whoever owns it
/// carries out each action and says how it went.
///
/// Once nothing is pending, a postscript may follow: the log, then an envelope without rows. These are made afresh for each
/// attempt, and no answer to them does anything to a row.
///
/// A batch that the backend has accepted, and that could not be deleted, is remembered: the next drain begins with its
/// deletion, and never sends it again.
package struct Drain: Sendable {
    /// What to do next.
    package enum Step: Equatable, Sendable {
        case perform(Action)
        /// The drain has ended.
        case finish(DrainOutcome)
    }

    /// What the owner can be asked to do.
    package enum Action: Equatable, Sendable {
        /// Tell the store where batches go, unless it knows.
        case registerEndpoint
        /// Take the frozen batch, or freeze the next rows. It is the batch that all other actions are about.
        case freezeNext
        /// Look whether the token can be used. Forced: the user asks, so no back-off counts.
        case checkToken(isForced: Bool)
        /// The same, after the backend has refused the one that was sent.
        case checkRefusedToken(isForced: Bool)
        /// One exchange with the token endpoint.
        case refreshToken
        /// Begin a request with the batch.
        case send
        /// Advance that request, and look for what has happened meanwhile.
        case awaitAnswer
        /// Break it off.
        case cancelRequest
        /// The answer counts: record what it says.
        case record(Judgement)
        /// The time ran out while the batch was being sent: count that as a failure for its size.
        case countTimeout
        /// Delete what the backend has; freeze the next batch in the same transaction, or not.
        case acknowledge(freezingNext: Bool)
        /// Make its rows dead letters.
        case reject(status: Int)
        /// Put its two halves in its place, to find the rows that are to blame.
        case isolate
        /// Remember that only another endpoint can take it.
        case markPermanent
        /// It was refused for good: count that. Scheduled: nobody asked for this drain.
        case weighRefusal(Doubt?, isScheduled: Bool)
        /// Take the batch behind it, which is the one that all other actions are about from then on.
        case freezeProbe
        /// The probe was accepted, and is deleted: make the row of the batch before it a dead letter.
        case condemn
        /// Nothing is pending: make what else is to be sent, if there is anything. It is what `send`, `awaitAnswer`,
        /// `cancelRequest` and `record` are about from then on.
        case makePostscript
        /// This answer to it is the last word.
        case settle(Judgement)
    }

    /// What may follow the rows.
    package enum Postscript: Equatable, Sendable {
        /// The daemon's own log. Any answer to it will do.
        case log
        /// An envelope without rows: a heartbeat, or results of commands. It ends the drain.
        case envelope
    }

    /// How an action went, or what has become of the request.
    package enum Event: Equatable, Sendable {
        /// Carried out; there is nothing else to say.
        case done
        /// There is a batch of so many rows. `isIsolating`: if it is rejected, the search is for the rows to blame.
        case frozen(rows: Int, isIsolating: Bool)
        case nothingPending
        /// There is something to be sent besides rows.
        case made(Postscript)
        case token(TokenCheck)
        case underway
        /// The batch is gone: the user has deleted rows of it.
        case gone
        case cancelled
        /// No complete answer. `isForTime`: the time ran out while the batch was being sent.
        case failed(isForTime: Bool)
        /// None, as so many times before that it counts as a permanent refusal.
        case closed
        /// `canRenew`: there are credentials that a 401 or 403 may be answered with.
        case answered(Judgement, canRenew: Bool)
        /// The endpoint is suspected, not the batch, which stays where it is.
        case suspected
        /// There is no room among the dead letters; the batch stays where it is.
        case full
        /// Its only row may be to blame: the row behind it is to be tried.
        case mayBeBlamed
        /// The action failed because the disk did.
        case storageFailed
    }

    /// What the credentials are good for.
    package enum TokenCheck: Equatable, Sendable {
        /// The batch can be sent.
        case usable
        /// An exchange is due, or could not begin. `hasToken`: there is something to send meanwhile.
        case due(hasToken: Bool)
        /// An exchange has failed; seconds until the next. A lost network has a back-off of its own.
        case resting(seconds: Double, isNetwork: Bool)
        /// There is a new pair, which must not be used before the disk has it.
        case unsaved
        /// There is none, and none can be had.
        case dead
    }

    private enum State: Equatable {
        case idle
        /// Deleting a batch that an earlier drain has delivered.
        case acknowledgingOwed
        case registering
        case freezing
        case checkingToken
        case refreshingToken
        /// After an exchange.
        case recheckingToken
        /// `isRepeat`: with a token that was renewed after a refusal.
        case sending(isRepeat: Bool)
        case cancelling
        case checkingRefusedToken
        case refreshingRefusedToken
        case recording(Judgement)
        case countingTimeout
        case acknowledging
        case rejecting
        case isolating
        case marking(Doubt?)
        case blaming(Blame)
        case following(Following)
    }

    /// The way from a refused row to its end. With the failure that the drain has come to unless it goes on.
    private enum Blame: Equatable {
        case weighing(DrainOutcome.Failure)
        case freezingProbe(DrainOutcome.Failure)
        case condemning
    }

    /// The way of a postscript; in between it goes that of a batch.
    private enum Following: Equatable {
        case making
        case settling(Postscript)
    }

    private var state = State.idle
    /// Of the batch under way.
    private var rows = 0
    private var isIsolating = false
    /// It is sent to learn whether the one before it is to blame, which was refused like this.
    private var probes: DrainOutcome.Failure?
    /// What is under way instead of a batch; nil: a batch is, or nothing.
    private var postscript: Postscript?
    private var isForced = false
    private var isStopping = false
    private var isAborted = false
    /// Uploading is configured.
    private var isEnabled = true
    /// The settings have changed since the batch was frozen.
    private var hasNewSettings = false
    /// The backend has a batch that is yet to be deleted.
    package private(set) var isOwed = false

    /// Nothing has been uploaded yet.
    package init() {}

    // MARK: What may happen at any time

    /// The daemon stops: what is under way is broken off, and nothing else is begun.
    package mutating func stop() {
        isStopping = true
    }

    /// The batch that is being sent no longer exists as it was.
    package mutating func abort() {
        isAborted = true
    }

    /// Other settings.
    ///
    /// - Parameters:
    ///   - isEnabled: there is somewhere to upload to.
    ///   - isOtherRequest: they change what a request looks like, so the one under way is broken off. The batch stays
    ///     frozen and goes out again at once. What only says when to send must not keep a batch from ever getting through.
    package mutating func change(isEnabled: Bool, isOtherRequest: Bool) {
        self.isEnabled = isEnabled
        hasNewSettings = true
        if isOtherRequest { isAborted = true }
    }

    // MARK: Steps

    /// A drain begins.
    ///
    /// - Parameters:
    ///   - hasWork: something is pending, or nobody knows because storage fails; or a postscript is due.
    ///   - isForced: the user asks for it, so no back-off counts.
    package mutating func begin(hasWork: Bool, isForced: Bool) -> Step {
        self.isForced = isForced
        isEnabled = true
        probes = nil
        postscript = nil
        if isOwed { return perform(.acknowledge(freezingNext: false), in: .acknowledgingOwed) }
        return hasWork ? perform(.registerEndpoint, in: .registering) : finish(.drained)
    }

    /// The next step. An event that the state has no exit for ends the drain as a failure that is tried again: the batch
    /// is frozen, so nothing is lost.
    package mutating func handle(_ event: Event) -> Step {
        switch (state, event) {
        case (.acknowledgingOwed, .done):
            isOwed = false
            return perform(.registerEndpoint, in: .registering)

        case (.registering, .done): return freezeNext()

        case (.freezing, .frozen(let rows, let isIsolating)):
            (self.rows, self.isIsolating) = (rows, isIsolating)
            hasNewSettings = false
            return perform(.checkToken(isForced: isForced), in: .checkingToken)
        case (.freezing, .nothingPending): return makePostscript()

        case (.checkingToken, .token(.usable)): return send(isRepeat: false)
        case (.checkingToken, .token(.due)): return perform(.refreshToken, in: .refreshingToken)
        case (.checkingToken, .token(let check)): return give(up: check)

        // What matters is what the token is like now.
        case (.refreshingToken, .token): return perform(.checkToken(isForced: false), in: .recheckingToken)

        case (.recheckingToken, .token(.usable)): return send(isRepeat: false)
        // The exchange could not even begin. The present token is used as long as it lasts.
        case (.recheckingToken, .token(.due(hasToken: true))) where !isStopping: return send(isRepeat: false)
        case (.recheckingToken, .token(let check)): return give(up: check)

        case (.sending, .underway):
            guard isStopping || isAborted else { return .perform(.awaitAnswer) }
            return perform(.cancelRequest, in: .cancelling)
        case (.sending, .gone), (.sending, .cancelled), (.cancelling, .cancelled):
            return isStopping ? retryLater() : freezeNext()
        case (.sending, .closed) where postscript == nil:
            return perform(.markPermanent, in: .marking(nil))
        case (.sending, .failed(isForTime: true)) where postscript == nil:
            return perform(.countTimeout, in: .countingTimeout)
        case (.sending, .failed), (.sending, .closed):
            return finish(.transient(isNetwork: true, retryAfter: nil))
        case (.sending(let isRepeat), .answered(let judgement, let canRenew)):
            guard judgement.verdict == .unauthorised, !isRepeat, canRenew, !isStopping, postscript != .log
            else {
                return perform(.record(judgement), in: .recording(judgement))
            }
            // The settings may have mended it: the batch goes by the new ones.
            if hasNewSettings { return freezeNext() }
            return perform(.checkRefusedToken(isForced: isForced), in: .checkingRefusedToken)

        case (.checkingRefusedToken, .token(.usable)): return send(isRepeat: true)
        case (.checkingRefusedToken, .token(.due)): return perform(.refreshToken, in: .refreshingRefusedToken)
        case (.checkingRefusedToken, .token(let check)): return give(up: check)

        case (.refreshingRefusedToken, .token(.usable)): return send(isRepeat: true)
        case (.refreshingRefusedToken, .token(let check)): return give(up: check)

        case (.recording(let judgement), .done): return conclude(judgement)

        case (.countingTimeout, .done): return finish(.transient(isNetwork: true, retryAfter: nil))

        case (.acknowledging, .done):
            isOwed = false
            if probes == nil { return freezeNext() }
            probes = nil
            return perform(.condemn, in: .blaming(.condemning))

        case (.rejecting, .done), (.isolating, .done): return freezeNext()
        case (.rejecting, .suspected), (.isolating, .suspected): return finish(.failed(.rejected))
        case (.rejecting, .full): return finish(.failed(.deadLettersFull))

        case (.marking(let doubt), .done): return weigh(doubt)

        case (.blaming(let blame), _): return handle(event, blame)

        case (.following(let following), _): return handle(event, following)

        case (.idle, _), (.acknowledgingOwed, _), (.registering, _), (.freezing, _), (.checkingToken, _),
            (.refreshingToken, _), (.recheckingToken, _), (.sending, _), (.cancelling, _),
            (.checkingRefusedToken, _), (.refreshingRefusedToken, _), (.recording, _), (.countingTimeout, _),
            (.acknowledging, _), (.rejecting, _), (.isolating, _), (.marking, _):
            // `storageFailed`, which every state must expect, and what no state does.
            return retryLater()
        }
    }

    private mutating func handle(_ event: Event, _ blame: Blame) -> Step {
        switch (blame, event) {
        case (.weighing(let failure), .done): return finish(.failed(failure))
        case (.weighing(let failure), .mayBeBlamed):
            return isStopping || isAborted || !isEnabled
                ? finish(.failed(failure)) : perform(.freezeProbe, in: .blaming(.freezingProbe(failure)))

        case (.freezingProbe(let failure), .frozen(let rows, let isIsolating)):
            (self.rows, self.isIsolating, probes) = (rows, isIsolating, failure)
            hasNewSettings = false
            return perform(.checkToken(isForced: false), in: .checkingToken)
        case (.freezingProbe(let failure), .nothingPending): return finish(.failed(failure))

        case (.condemning, .done): return freezeNext()
        case (.condemning, .full): return finish(.failed(.deadLettersFull))

        case (.weighing, _), (.freezingProbe, _), (.condemning, _): return retryLater()
        }
    }

    private mutating func handle(_ event: Event, _ following: Following) -> Step {
        switch (following, event) {
        case (.making, .made(let postscript)):
            self.postscript = postscript
            hasNewSettings = false
            return perform(.checkToken(isForced: isForced), in: .checkingToken)
        case (.making, .nothingPending): return finish(.drained)

        case (.settling(.log), .done): return makePostscript()
        case (.settling(.envelope), .done): return finish(.drained)

        case (.making, _), (.settling, _): return retryLater()
        }
    }

    private mutating func perform(_ action: Action, in state: State) -> Step {
        self.state = state
        return .perform(action)
    }

    private mutating func finish(_ outcome: DrainOutcome) -> Step {
        state = .idle
        // Whatever has become of the probe: what is before it was refused, and waits for the schedule.
        if let probes, !isOwed, case .transient = outcome { return .finish(.failed(probes)) }
        return .finish(outcome)
    }

    private mutating func retryLater() -> Step {
        finish(.transient(isNetwork: false, retryAfter: nil))
    }

    private mutating func freezeNext() -> Step {
        probes = nil
        postscript = nil
        // Disabled, pending rows stay pending.
        return isStopping || !isEnabled ? finish(.drained) : perform(.freezeNext, in: .freezing)
    }

    private mutating func makePostscript() -> Step {
        postscript = nil
        return isStopping || !isEnabled ? finish(.drained) : perform(.makePostscript, in: .following(.making))
    }

    private mutating func send(isRepeat: Bool) -> Step {
        isAborted = false
        return perform(.send, in: .sending(isRepeat: isRepeat))
    }

    private mutating func give(up check: TokenCheck) -> Step {
        switch check {
        case .usable, .due, .unsaved: retryLater()
        case .resting(_, isNetwork: true): finish(.transient(isNetwork: true, retryAfter: nil))
        case .resting(let seconds, isNetwork: false):
            finish(.transient(isNetwork: false, retryAfter: seconds))
        case .dead: finish(.failed(.auth))
        }
    }

    /// Applies the answer to the batch.
    private mutating func conclude(_ judgement: Judgement) -> Step {
        if let postscript { return conclude(judgement, of: postscript) }
        switch judgement.verdict {
        case .accepted:
            isOwed = true
            let freezesNext = !isStopping && !isAborted && isEnabled && probes == nil
            return perform(.acknowledge(freezingNext: freezesNext), in: .acknowledging)
        case .rejected:
            return isIsolating && rows > 1
                ? perform(.isolate, in: .isolating)
                : perform(.reject(status: judgement.status), in: .rejecting)
        case .unauthorised: return finish(.failed(.auth))
        case .transient(let retryAfter):
            return finish(.transient(isNetwork: false, retryAfter: retryAfter))
        case .permanent:
            // Without its acknowledgement the rows may be stored all the same: in another batch they would arrive twice.
            guard judgement.size != .tooLarge, judgement.doubt != .noAck else {
                return weigh(judgement.doubt)
            }
            return perform(.markPermanent, in: .marking(judgement.doubt))
        }
    }

    /// No answer to a postscript feeds, begins or ends a suspicion.
    private mutating func conclude(_ judgement: Judgement, of postscript: Postscript) -> Step {
        if postscript == .log || judgement.refusesEnvelope {
            return perform(.settle(judgement), in: .following(.settling(postscript)))
        }
        switch judgement.verdict {
        case .accepted: return perform(.settle(judgement), in: .following(.settling(postscript)))
        case .unauthorised: return finish(.failed(.auth))
        case .transient(let retryAfter):
            return finish(.transient(isNetwork: false, retryAfter: retryAfter))
        case .rejected, .permanent:
            return finish(.failed(judgement.doubt.map { DrainOutcome.Failure($0) } ?? .permanent))
        }
    }

    /// A refused probe says that the batch before it is not to blame.
    private mutating func weigh(_ doubt: Doubt?) -> Step {
        if let probes { return finish(.failed(probes)) }
        let failure = doubt.map { DrainOutcome.Failure($0) } ?? .permanent
        return perform(.weighRefusal(doubt, isScheduled: !isForced), in: .blaming(.weighing(failure)))
    }
}
