/// What a drain asks for, and what it is told.
extension Drain {
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
        /// Look whether the token can be used, after the backend has refused the one that was sent.
        case checkRefusedToken(isForced: Bool)
        /// Begin an exchange with the token endpoint.
        case refreshToken
        /// Advance the exchange of tokens, and look for what has happened meanwhile.
        case awaitToken
        /// Begin a request with the batch.
        case send
        /// Advance the request under way, and look for what has happened meanwhile.
        case awaitAnswer
        /// Break off the request under way.
        case cancelRequest
        /// The answer counts: record what it says.
        case record(Judgement)
        /// The time ran out while the batch was being sent: count that as a failure for its size.
        case countTimeout
        /// Delete what the backend has; freeze the next batch in the same transaction, or not.
        case acknowledge(freezingNext: Bool)
        /// Make the rows of the batch dead letters.
        case reject(status: Int)
        /// Put the two halves of the batch in its place, to find the rows that are to blame.
        case isolate
        /// Remember that only another endpoint can take the batch.
        case markPermanent
        /// Count a batch that was refused for good. Scheduled: nobody asked for this drain.
        case countRefusal(Doubt?, isScheduled: Bool)
        /// Take the batch behind the refused one: all other actions are about that from then on.
        case freezeProbe
        /// The probe was accepted, and is deleted: make the row of the batch before it a dead letter.
        case deadLetterProbed
        /// Nothing is pending: make what else is to be sent, if there is anything. It is what `send`, `awaitAnswer`,
        /// `cancelRequest` and `record` are about from then on.
        case makeUnqueued
        /// Settle what was made: this answer to it is the last word.
        case settle(Judgement)
    }

    /// How an action went, or what has become of the request.
    package enum Event: Equatable, Sendable {
        /// Carried out; there is nothing else to say.
        case done
        /// There is a batch of so many rows. `isIsolating`: if it is rejected, the search is for the rows to blame.
        case frozen(rows: Int, isIsolating: Bool)
        case nothingPending
        /// There is something to be sent besides rows: the log, of which any answer will do, or an envelope, which ends the drain.
        case made(ShipmentKind)
        case token(TokenCheck)
        case underway
        /// The batch is gone: the user has deleted rows of it.
        case gone
        case cancelled
        /// No complete answer. `isForTime`: the time ran out while the batch was being sent.
        case failed(isForTime: Bool)
        /// An answer that was not made for this request: it does not count.
        case unmatched
        /// No answer, and the connection closed, so often in a row that it counts as a permanent refusal.
        case closed
        /// `canRenew`: there are credentials that a 401 or 403 may be answered with.
        case answered(Judgement, canRenew: Bool)
        /// The endpoint is suspected, not the batch, which stays where it is.
        case suspected
        /// There is no room among the dead letters; the batch stays where it is.
        case full
        /// The only row of the batch may be why: the row behind it is to be tried.
        case needsProbe
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
        /// There is no token, and none can be had.
        case dead
    }
}
