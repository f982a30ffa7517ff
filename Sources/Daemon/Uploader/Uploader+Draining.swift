internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Upload

/// A drain that is under way, from its trigger to its result.
struct DrainAttempt {
    /// What is to be done first in the next turn.
    enum Next {
        /// What the drain has asked for.
        case step(Drain.Step)
        /// The drain is told of this.
        case event(Drain.Event)
    }

    fileprivate var next: Next
    /// Clients that wait for the result.
    fileprivate let askers: [Token]
    /// Rows that had been uploaded before it.
    fileprivate let uploadedBefore: Int
    /// Rows were pending, or nobody knew.
    fileprivate let hadWork: Bool
    /// Something besides rows was to be sent.
    fileprivate let hadMore: Bool
}

/// One drain: what `Drain` decides is done here, and what came of it is reported back.
extension Uploader {
    /// Seconds after which a turn ends though the drain could go on: somebody may wait for an answer.
    private static let turnLimit = 0.5

    func beginDrain(now: BootInstant) {
        let isForced = attempts.isForced
        let askers = attempts.begin(now: now)
        postscripts.begin(isForced: isForced)
        let before = report.snapshot.uploaded
        report.drainBegan()
        // While storage fails nobody knows what is pending.
        let hadWork =
            drain.isOwed || report.snapshot.storageError != nil || pending > 0
        let hadMore = postscripts.isDue(attempts, now: now)
        attempt = DrainAttempt(
            next: .step(drain.begin(hasWork: hadWork || hadMore, isForced: isForced)), askers: askers,
            uploadedBefore: before, hadWork: hadWork, hadMore: hadMore)
    }

    /// Goes on with the drain, until it waits for an answer, or the turn is over.
    func proceed(now: BootInstant, _ stopwatch: Stopwatch) -> Rest {
        while let attempt {
            if isStopping { drain.stop() }
            let step =
                switch attempt.next {
                case .step(let step): step
                // What has come since then may change what follows from it.
                case .event(let event): drain.handle(event)
                }
            guard case .perform(let action) = step else {
                if case .finish(let outcome) = step { end(attempt, outcome, now: now) }
                break
            }
            let event = carryOut(action, now: now)
            self.attempt?.next = .event(event)
            if event == .underway, let rest = rest(after: action, now: now) { return rest }
            if port.hasWork || stopwatch.elapsed >= Self.turnLimit { break }
        }
        return .none
    }

    private func carryOut(_ action: Drain.Action, now: BootInstant) -> Drain.Event {
        do {
            return try perform(action, now: now)
        } catch {
            report.storageFailed(error)
            return .storageFailed
        }
    }

    /// Until an answer that is awaited may have come; nil: there is more to do before.
    private func rest(after action: Drain.Action, now: BootInstant) -> Rest? {
        switch action {
        case .awaitAnswer:
            var rest = carrier.rest(now: now)
            rest.add(port.commands.wakeup.descriptor)
            return rest
        case .awaitToken: return tokenRest(now: now)
        default: return nil
        }
    }

    private func end(_ attempt: DrainAttempt, _ outcome: DrainOutcome, now: BootInstant) {
        self.attempt = nil
        // The reader reports what has happened to the database.
        if attempt.hadWork { outbox.wakeReader() }
        // One connection for each drain: nothing is held open until the next, which may be hours away, unless it is to be.
        carrier.pause(sync)
        lane?.end()
        postscripts.end()
        if !drain.isOwed { queue.endBatch() }
        let delay = isStopping ? nil : attempts.end(outcome, now: now)
        report.drainEnded(
            outcome, retryIn: delay, hadWork: attempt.hadWork || attempt.hadMore, isOwed: drain.isOwed,
            authAdvice: tokens.advice,
            sync, now: now)
        // The url may have been removed meanwhile: pending rows then stay pending.
        let refused = report.refusedRows
        let result = SyncResult(
            outcome: sync == nil
                ? .disabled : SyncResult.Outcome(outcome, hadWork: attempt.hadWork, hasRefused: refused > 0),
            uploaded: report.snapshot.uploaded - attempt.uploadedBefore, pending: pending, rejected: refused,
            trouble: report.trouble(outcome))
        for token in attempt.askers { outbox.complete(token, .success(.synced(result))) }
        if result.uploaded >= Self.longDrain { queue.releaseMemory() }
    }

    private func perform(_ action: Drain.Action, now: BootInstant) throws(StorageError) -> Drain.Event {
        if let event = try postscripts.perform(action, sync, &attempts, now: now) { return event }
        if let event = try lane?.perform(action, now: now) { return event }
        switch action {
        case .registerEndpoint:
            try queue.registerEndpoint(sync)
            return .done
        case .freezeNext:
            guard let sync, let batch = try queue.freezeNext(sync, now: now) else { return .nothingPending }
            report.frozen(batch)
            return .frozen(rows: batch.rows, isIsolating: sync.onReject == .isolate)
        case .checkToken(let isForced): return .token(tokens.check(isForced: isForced, now: now))
        case .checkRefusedToken(let isForced):
            return .token(tokens.checkRefused(isForced: isForced, now: now))
        case .refreshToken: return beginExchange(now: now)
        case .awaitToken:
            return tokens.advance(isStopping: isStopping, now: now).map { .token($0) } ?? .underway
        case .awaitAnswer: return try awaitAnswer(now: now)
        case .cancelRequest:
            carrier.cancel()
            report.cancelled(now: now)
            report.requestEnded()
            return .cancelled
        case .send:
            if let postscript = postscripts.current { return send(postscript, now: now) }
            return try send(batch(), now: now)
        // Carried out above.
        case .makePostscript, .settle: return .done
        case .record(let judgement):
            try record(judgement, batch(), now: now)
            return .done
        case .countTimeout:
            report.oversized(try queue.count(.tooSlow, batch()))
            return .done
        case .acknowledge(let freezesNext):
            let batch = try batch()
            let heard = sync?.commands == nil ? nil : try listener.take(now: now)
            let journaling = try queue.acknowledge(
                batch, freezingNextFor: freezesNext ? sync : nil, journaling: heard, now: now)
            report.acknowledged(batch, at: hub.clock.time(now: now))
            listener.written(journaling)
            commands.journaled(journaling, isAnswerToRows: true)
            followServer(now: now)
            return .done
        case .reject(let status):
            let batch = try batch()
            let (fate, expired) = try queue.reject(
                batch, status: status, reason: report.snapshot.lastReason, now: now)
            report.expired(expired)
            return rejected(batch, fate, now: now)
        case .isolate:
            let batch = try batch()
            return rejected(batch, try queue.isolate(batch, for: sync, now: now), now: now)
        case .markPermanent:
            try queue.markPermanent(batch())
            return .done
        case .weighRefusal(let doubt, let isScheduled):
            let status = report.snapshot.lastHTTPStatus ?? 0
            let mayBeBlamed = try queue.weighRefusal(
                of: batch(), doubt, status: status, reason: report.refusalReason, isScheduled: isScheduled)
            return mayBeBlamed ? .mayBeBlamed : .done
        case .freezeProbe:
            guard let sync, let probe = try queue.freezeProbe(sync, now: now) else { return .nothingPending }
            return .frozen(rows: probe.rows, isIsolating: false)
        case .condemn:
            guard let (batch, fate, expired) = try queue.condemn(now: now) else { return .done }
            report.expired(expired)
            report.blamed(status: queue.record.status, reason: queue.record.reason)
            return rejected(batch, fate, now: now)
        }
    }

    private func batch() throws(StorageError) -> FrozenBatch {
        if let batch = lane?.current ?? queue.current { return batch }
        throw StorageError(operation: "upload", kind: .other, message: "no batch is under way")
    }

    private func beginExchange(now: BootInstant) -> Drain.Event {
        guard let sync else { return .token(.due(hasToken: false)) }
        let factory = RequestFactory(sync, version: Release.version)
        return tokens.begin(with: factory, isIdle: false, now: now).map { .token($0) } ?? .underway
    }

    private func send(_ batch: FrozenBatch, now: BootInstant) throws(StorageError) -> Drain.Event {
        guard let sync, let request = lane?.request ?? queue.request else { return .gone }
        // Before the store is asked: whoever dissolves the batch after the store's answer aborts the request.
        report.claimed(batch.id)
        guard lane?.current != nil ? true : try queue.beginAttempt(batch) else {
            report.requestEnded()
            return .gone
        }
        return begin(request, of: batch.id, to: sync, now: now)
    }

    private func send(_ postscript: Postscripts.Current, now: BootInstant) -> Drain.Event {
        guard let sync else { return .gone }
        return begin(postscript.request, of: postscript.id, to: sync, now: now)
    }

    private func begin(_ request: Request, of id: UUIDv7, to sync: Settings.Sync, now: BootInstant)
        -> Drain.Event
    {
        // The log says nothing of the vehicle.
        if postscripts.current?.kind != .log { attempts.requested(now: now) }
        report.sending(id, request, at: hub.clock.time(now: now), now: now)
        carrier.begin(
            request, of: id, to: sync, authorization: tokens.authorise(),
            kind,
            at: hub.clock.time(now: now), now: now)
        return .underway
    }

    /// Of what is under way.
    private var kind: ShipmentKind { postscripts.current?.kind.shipment ?? (lane == nil ? .rows : .latest) }

    private func awaitAnswer(now: BootInstant) throws(StorageError) -> Drain.Event {
        switch carrier.advance(now: now) {
        case .underway: return .underway
        case .ended(let delivery):
            report.requestEnded()
            report.unrequested(carrier.unrequested, now: now)
            attempts.metered.connected(to: carrier.peer)
            if postscripts.current == nil, let format = queue.request?.format,
                queue.record.observe(.init(delivery), in: format),
                case .failure(let failure) = delivery
            {
                report.failed(failure, now: now)
                return .closed
            }
            return try event(delivery, now: now)
        }
    }

    private func event(_ delivery: Delivery, now: BootInstant) throws(StorageError) -> Drain.Event {
        switch delivery {
        case .cancelled:
            report.cancelled(now: now)
            return .cancelled
        case .failure(let failure):
            report.failed(failure, now: now)
            return .failed(isForTime: failure.isForTime)
        case .unmatched(let fault):
            report.unmatched(fault, now: now)
            // Only the newest location counts there, and that may be another one by now.
            return try lane?.renew(now: now) == false ? .gone : .unmatched
        case .answer(let reply):
            if let postscript = postscripts.current { return answered(reply, to: postscript, now: now) }
            guard let batch = lane?.current ?? queue.current, let request = lane?.request ?? queue.request
            else { return .gone }
            var judgement = reply.judged(
                as: request.format, kind, of: batch.id, by: sync, at: hub.clock.time(now: now))
            judgement.reason = reason(in: reply, judgement)
            tokens.note(judgement.verdict)
            if judgement.verdict == .accepted {
                attempts.accepted()
                if lane == nil { listener.hear(reply, to: batch.id, sync) }
            }
            report.answered(judgement, now: now)
            if judgement.verdict == .unauthorised, judgement.broker != nil, try queue.renewTopic(of: batch) {
                return .gone
            }
            return .answered(judgement, canRenew: tokens.isActive)
        }
    }

    private func answered(_ reply: Upload.Reply, to postscript: Postscripts.Current, now: BootInstant)
        -> Drain.Event
    {
        var judgement = reply.judged(
            as: postscript.request.format, kind, of: postscript.id, by: sync, at: hub.clock.time(now: now))
        judgement.reason = reason(in: reply, judgement)
        if postscript.kind == .envelope {
            tokens.note(judgement.verdict)
            if judgement.verdict == .accepted { attempts.accepted() }
        }
        postscripts.answered(reply)
        report.answered(judgement, now: now)
        return .answered(judgement, canRenew: tokens.isActive)
    }

    /// Looks up how the newest of the dead letters were refused. What fails is tried again with the next start.
    func recallRefusal() {
        guard hub.store.counts()[port.name]?.rejected ?? 0 > 0 else { return report.known(nil) }
        if let newest = try? hub.store.newestRefusal(by: port.name) { report.known(newest) }
    }

    /// What the server says of its refusal, without what it has been sent in confidence.
    private func reason(in reply: Upload.Reply, _ judgement: Judgement) -> String? {
        guard judgement.verdict != .accepted else { return nil }
        let secrets = SecretTexts(
            (sync?.secretTexts ?? [])
                + [tokens.sent, tokens.sent?.split(separator: " ").last.map { String($0) }].compactMap(\.self),
            addresses: sync?.addresses ?? [])
        return reply.reason(hiding: secrets.hidden)
    }

    private func record(_ judgement: Judgement, _ batch: FrozenBatch, now: BootInstant)
        throws(StorageError)
    {
        report.recorded(judgement, of: batch, now: now)
        // Accepted, it will be forgotten with the batch.
        if judgement.verdict != .accepted { report.oversized(try queue.count(judgement.size, batch)) }
    }

    private func rejected(_ batch: FrozenBatch, _ fate: BatchQueue.Fate, now: BootInstant) -> Drain.Event {
        report.rejected(fate, batch, at: hub.clock.time(now: now))
        switch fate {
        case .deadLettered, .split: return .done
        case .suspected:
            recallRefusal()
            return .suspected
        case .full: return .full
        }
    }
}
