/// Decides what an upload does next, from the first batch until nothing is pending or one fails. Pure: whoever owns it
/// carries out each action and says how it went.
///
/// Once nothing is pending, what is not queued may follow: the log, then an envelope without rows. These are made afresh for each
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
        /// `mayProbe`: the row may be why.
        case marking(Doubt?, mayProbe: Bool)
        case probing(Probing)
        case sendingUnqueued(Unqueued)
    }

    /// The way from a refused row to its end. With the failure that the drain has come to unless it goes on.
    private enum Probing: Equatable {
        case counting(DrainOutcome.Failure)
        case freezing(DrainOutcome.Failure)
        case deadLettering
    }

    /// The way of what is not queued; in between it goes that of a batch.
    private enum Unqueued: Equatable {
        case making
        case settling(ShipmentKind)
    }

    private var state = State.idle
    /// The batch under way.
    private var batch = (rows: 0, isIsolating: false)
    /// Why the batch before this one was refused: this one is sent to learn whether that was for its row.
    private var probes: DrainOutcome.Failure?
    /// Answers in a row that were not made for the request under way.
    private var unmatched = 0
    /// Attempts, each on a connection of its own, before such answers are taken for a server that is out of order.
    private static let unmatchedLimit = 3
    /// Kind of the shipment that is under way.
    private var kind = ShipmentKind.rows
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
    ///   - hasWork: something is pending, or nobody knows because storage fails; or what is not queued is due.
    ///   - isForced: the user asks for it, so no back-off counts.
    package mutating func begin(hasWork: Bool, isForced: Bool) -> Step {
        self.isForced = isForced
        isEnabled = true
        unmatched = 0
        probes = nil
        kind = .rows
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
        case (.freezing, .nothingPending): return makeUnqueued()

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
        case (.sending, .closed) where kind.hasRows:
            return perform(.markPermanent, in: .marking(nil, mayProbe: true))
        case (.sending, .failed(isForTime: true)) where kind.hasRows:
            return perform(.countTimeout, in: .countingTimeout)
        case (.sending, .failed), (.sending, .closed):
            return finish(.transient(isNetwork: true, retryAfter: nil))
        case (.sending(let isRepeat), .answered(let judgement, let canRenew)):
            unmatched = 0
            guard judgement.verdict == .unauthorised, !isRepeat, canRenew, !isStopping, kind != .log
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
            return perform(.deadLetterProbed, in: .probing(.deadLettering))

        case (.rejecting, .done), (.isolating, .done): return freezeNext()
        case (.rejecting, .suspected), (.isolating, .suspected): return finish(.failed(.rejected))
        case (.rejecting, .full): return finish(.failed(.deadLettersFull))

        case (.marking(let doubt, let mayProbe), .done):
            return mayProbe ? probe(doubt) : finish(.failed(probes ?? .permanent))

        case (.probing(let probing), _): return handle(event, probing)

        case (.sendingUnqueued(let unqueued), _): return handle(event, unqueued)

        case (.idle, _), (.acknowledgingOwed, _), (.registering, _), (.freezing, _), (.checkingToken, _),
            (.refreshingToken, _), (.recheckingToken, _), (.sending, _), (.cancelling, _),
            (.checkingRefusedToken, _), (.refreshingRefusedToken, _), (.recording, _), (.countingTimeout, _),
            (.acknowledging, _), (.rejecting, _), (.isolating, _), (.marking, _):
            // `storageFailed`, which every state must expect, and what no state does.
            return retryLater()
        }
    }

    private mutating func handle(_ event: Event, _ probing: Probing) -> Step {
        switch (probing, event) {
        case (.counting(let failure), .done): return finish(.failed(failure))
        case (.counting(let failure), .needsProbe):
            return isStopping || isAborted || !isEnabled
                ? finish(.failed(failure)) : perform(.freezeProbe, in: .probing(.freezing(failure)))

        case (.freezing(let failure), .frozen(let rows, let isIsolating)):
            (batch, probes) = ((rows, isIsolating), failure)
            hasNewSettings = false
            return perform(.checkToken(isForced: false), in: .checkingToken)
        case (.freezing(let failure), .nothingPending): return finish(.failed(failure))

        case (.deadLettering, .done): return freezeNext()
        case (.deadLettering, .full): return finish(.failed(.deadLettersFull))

        case (.counting, _), (.freezing, _), (.deadLettering, _): return retryLater()
        }
    }

    private mutating func handle(_ event: Event, _ unqueued: Unqueued) -> Step {
        switch (unqueued, event) {
        case (.making, .made(let kind)):
            self.kind = kind
            hasNewSettings = false
            return perform(.checkToken(isForced: isForced), in: .checkingToken)
        case (.making, .nothingPending): return finish(.drained)

        case (.settling(.log), .done): return makeUnqueued()
        case (.settling, .done): return finish(.drained)

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
        kind = .rows
        // Disabled, pending rows stay pending.
        return isStopping || !isEnabled ? finish(.drained) : perform(.freezeNext, in: .freezing)
    }

    private mutating func makeUnqueued() -> Step {
        kind = .rows
        return isStopping || !isEnabled
            ? finish(.drained) : perform(.makeUnqueued, in: .sendingUnqueued(.making))
    }

    private mutating func send(isRepeat: Bool) -> Step {
        isAborted = false
        return perform(.send, in: .sending(isRepeat: isRepeat))
    }

    /// Sends the batch again, or makes afresh what else is under way: at once, because the request may never
    /// have been read.
    private mutating func sendAgain(isRepeat: Bool) -> Step {
        unmatched += 1
        if isStopping || unmatched == Self.unmatchedLimit { return retryLater() }
        if isAborted || hasNewSettings { return freezeNext() }
        return kind.hasRows ? send(isRepeat: isRepeat) : makeUnqueued()
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
        guard kind.hasRows else { return concludeUnqueued(judgement) }
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
                return probe(judgement.doubt)
            }
            return perform(
                .markPermanent, in: .marking(judgement.doubt, mayProbe: judgement.mayBeAboutRow))
        }
    }

    /// No answer to what is not queued feeds, begins or ends a suspicion.
    private mutating func concludeUnqueued(_ judgement: Judgement) -> Step {
        if kind == .log || judgement.refusesEnvelope { return settle(judgement) }
        switch judgement.verdict {
        case .accepted: return settle(judgement)
        case .unauthorised: return finish(.failed(.auth))
        case .transient(let retryAfter):
            return finish(.transient(isNetwork: false, retryAfter: retryAfter))
        case .rejected, .permanent:
            return finish(.failed(judgement.doubt.map { DrainOutcome.Failure($0) } ?? .permanent))
        }
    }

    private mutating func settle(_ judgement: Judgement) -> Step {
        perform(.settle(judgement), in: .sendingUnqueued(.settling(kind)))
    }

    /// A refused probe says that the row of the batch before it is not why.
    private mutating func probe(_ doubt: Doubt?) -> Step {
        if let probes { return finish(.failed(probes)) }
        let failure = doubt.map { DrainOutcome.Failure($0) } ?? .permanent
        return perform(.countRefusal(doubt, isScheduled: !isForced), in: .probing(.counting(failure)))
    }
}
