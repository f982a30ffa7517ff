/// Decides what an upload does next, from the first batch until nothing is pending or one fails. Pure: whoever owns it
/// carries out each action and says how it went.
///
/// Once nothing is pending, a postscript may follow: the log, then an envelope without rows. These are made afresh for each
/// attempt, and no answer to them does anything to a row.
///
/// A batch that the backend has accepted, and that could not be deleted, is remembered: the next drain begins with its
/// deletion, and never sends it again.
package struct Drain: Sendable {
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
        /// `mayBlame`: the row may be why.
        case marking(Doubt?, mayBlame: Bool)
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
    /// The batch under way.
    private var batch = (rows: 0, isIsolating: false)
    /// It is sent to learn whether the one before it is to blame, which was refused like this.
    private var probes: DrainOutcome.Failure?
    /// Answers in a row that were not made for the request under way.
    private var unmatched = 0
    /// Attempts, each on a connection of its own, before such answers are taken for a server that is out of order.
    private static let unmatchedLimit = 3
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
        unmatched = 0
        probes = nil
        postscript = nil
        if isOwed { return perform(.acknowledge(freezingNext: false), in: .acknowledgingOwed) }
        return hasWork ? perform(.registerEndpoint, in: .registering) : finish(.drained)
    }

    /// The next step. An event that the state has no exit for ends the drain as a failure that is tried again: the batch
    /// is frozen, so nothing is lost.
    package mutating func handle(_ event: Event) -> Step {
        // An exchange of tokens lasts.
        if event == .underway, state == .refreshingToken || state == .refreshingRefusedToken {
            return .perform(.awaitToken)
        }
        switch (state, event) {
        case (.acknowledgingOwed, .done):
            isOwed = false
            return perform(.registerEndpoint, in: .registering)

        case (.registering, .done): return freezeNext()

        case (.freezing, .frozen(let rows, let isIsolating)):
            batch = (rows, isIsolating)
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
        case (.sending(let isRepeat), .unmatched): return sendAgain(isRepeat: isRepeat)
        case (.sending, .gone), (.sending, .cancelled), (.cancelling, .cancelled):
            return isStopping ? retryLater() : freezeNext()
        case (.sending, .closed) where postscript == nil:
            return perform(.markPermanent, in: .marking(nil, mayBlame: true))
        case (.sending, .failed(isForTime: true)) where postscript == nil:
            return perform(.countTimeout, in: .countingTimeout)
        case (.sending, .failed), (.sending, .closed):
            return finish(.transient(isNetwork: true, retryAfter: nil))
        case (.sending(let isRepeat), .answered(let judgement, let canRenew)):
            unmatched = 0
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

        case (.marking(let doubt, let mayBlame), .done):
            return mayBlame ? weigh(doubt) : finish(.failed(probes ?? .permanent))

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
            (batch, probes) = ((rows, isIsolating), failure)
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

    /// The same batch, or what else is under way made afresh: at once, because the request may never have been read.
    private mutating func sendAgain(isRepeat: Bool) -> Step {
        unmatched += 1
        if isStopping || unmatched == Self.unmatchedLimit { return retryLater() }
        if isAborted || hasNewSettings { return freezeNext() }
        return postscript == nil ? send(isRepeat: isRepeat) : makePostscript()
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
            return batch.isIsolating && batch.rows > 1
                ? perform(.isolate, in: .isolating)
                : perform(.reject(status: judgement.status), in: .rejecting)
        case .unauthorised: return finish(.failed(.auth))
        case .transient(let retryAfter):
            return finish(.transient(isNetwork: false, retryAfter: retryAfter))
        case .permanent:
            guard judgement.size != .tooLarge, judgement.doubt?.leavesOpen != true else {
                return weigh(judgement.doubt)
            }
            return perform(
                .markPermanent, in: .marking(judgement.doubt, mayBlame: judgement.mayBeAboutRow))
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
