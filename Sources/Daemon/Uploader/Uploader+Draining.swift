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
    /// The answer to the envelope that is under way: it may ask for something.
    fileprivate var reply: ServerAnswer?
}

/// One drain: what `Drain` decides is done here, and what came of it is reported back.
extension Uploader {
    /// Seconds after which a turn ends though the drain could go on: somebody may wait for an answer.
    private static let turnLimit = 0.5

    func beginDrain(now: BootInstant) {
        let isForced = attempts.schedule.isForced
        let askers = attempts.begin(now: now)
        log.begin(isForced: isForced)
        let before = report.snapshot.uploaded
        report.drainBegan()
        // While storage fails nobody knows what is pending.
        let hadWork =
            drain.isOwed || report.snapshot.storageError != nil || pending > 0
        let hadMore = isMoreDue(isForced: isForced, now: now)
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
            // A long drain is not to keep Home Assistant from what is new.
            if action == .send, announces(now: now) {
                self.attempt?.next = .step(step)
                return followHomeAssistant(now: now)
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

    /// The rest until an awaited answer may have come; nil: there is more to do before.
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
        homeAssistant.drainEnded(now: now)
        if !drain.isOwed { shipment = nil }
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
        if result.uploaded >= Self.longDrain { releaseMemory() }
        releaseUnusedStack()
    }

    /// Gives back what a long drain took: the next may be months away.
    private func releaseMemory() {
        maker.releaseMemory()
        hub.store.releaseMemory()
        releaseUnusedMemory()
    }

    private func perform(_ action: Drain.Action, now: BootInstant) throws(StorageError) -> Drain.Event {
        switch action {
        case .registerEndpoint:
            shipment = nil
            if let latest {
                latest.begin()
            } else {
                try queue.registerEndpoint(sync, tellsOdometer: tellsOdometer)
            }
            return .done
        case .freezeNext: return try freezeNext(now: now)
        case .makeUnqueued: return try makeUnqueued(now: now)
        case .checkToken(let isForced): return .token(tokens.check(isForced: isForced, now: now))
        case .checkRefusedToken(let isForced):
            return .token(tokens.checkRefused(isForced: isForced, now: now))
        case .refreshToken: return beginExchange(now: now)
        case .awaitToken:
            return tokens.advance(isStopping: isStopping, now: now).map { .token($0) } ?? .underway
        case .send: return try send(now: now)
        case .awaitAnswer: return try awaitAnswer(now: now)
        case .cancelRequest:
            carrier.cancel()
            report.cancelled(now: now)
            report.requestEnded()
            return .cancelled
        case .record(let judgement): return try record(judgement, now: now)
        case .settle(let judgement): return try settle(judgement, now: now)
        case .countTimeout, .acknowledge, .reject, .isolate, .markPermanent, .countRefusal, .freezeProbe,
            .deadLetterProbed:
            switch shipment?.content {
            case .rows(let batch, let probed):
                return try perform(action, on: batch, probing: probed, now: now)
            case .latest(let batch): return perform(action, onLatest: batch, now: now)
            case .envelope, .log, nil:
                throw StorageError(operation: "upload", kind: .other, message: "no batch is under way")
            }
        }
    }

    // MARK: What goes out next

    private func freezeNext(now: BootInstant) throws(StorageError) -> Drain.Event {
        shipment = nil
        guard let sync else { return .nothingPending }
        if let latest {
            shipment = try latest.next(now: now)
            return shipment == nil ? .nothingPending : .frozen(rows: 1, isIsolating: false)
        }
        shipment = try queue.freezeNext(sync, now: now)
        guard let batch = shipment?.batch else { return .nothingPending }
        report.frozen(batch)
        return .frozen(rows: batch.rows, isIsolating: sync.onReject == .isolate)
    }

    private func makeUnqueued(now: BootInstant) throws(StorageError) -> Drain.Event {
        shipment = nil
        guard let sync else { return .nothingPending }
        shipment = try log.next(sync, now: now)
        if shipment == nil { shipment = try envelopes.next(sync, &attempts, now: now) }
        return shipment.map { .made($0.kind) } ?? .nothingPending
    }

    // MARK: What an answer does

    private func record(_ judgement: Judgement, now: BootInstant) throws(StorageError) -> Drain.Event {
        guard let shipment else { return .gone }
        guard let batch = shipment.batch else {
            report.recorded(judgement, bytes: shipment.request.body.count)
            return .done
        }
        report.recorded(judgement, of: batch, now: now)
        // Accepted, it will be forgotten with the batch.
        if shipment.kind == .rows, judgement.verdict != .accepted {
            report.oversized(try queue.count(judgement.size, batch))
        }
        return .done
    }

    private func settle(_ judgement: Judgement, now: BootInstant) throws(StorageError) -> Drain.Event {
        guard let settled = shipment else { return .gone }
        shipment = nil
        if settled.kind == .log {
            log.settle(judgement, now: now)
        } else {
            try envelopes.settle(settled, attempt?.reply, judgement, sync, &attempts, now: now)
        }
        return .done
    }

    private func perform(
        _ action: Drain.Action, on batch: FrozenBatch, probing probed: FrozenBatch?, now: BootInstant
    ) throws(StorageError) -> Drain.Event {
        switch action {
        case .countTimeout: report.oversized(try queue.count(.tooSlow, batch))
        case .markPermanent: try queue.markPermanent(batch)
        case .acknowledge(let freezesNext):
            let heard = sync?.commands == nil ? nil : try listener.take(now: now)
            let journaling = try queue.acknowledge(
                batch, freezingNextFor: freezesNext ? sync : nil, journaling: heard, now: now)
            report.acknowledged(batch, at: hub.clock.time(now: now))
            listener.written(journaling)
            commands.journaled(journaling, isAnswerToRows: true)
            followServer(now: now)
        case .reject(let status):
            let (fate, expired) = try queue.reject(
                batch, status: status, reason: report.snapshot.lastReason, now: now)
            report.expired(expired)
            return rejected(batch, fate, now: now)
        case .isolate: return rejected(batch, try queue.isolate(batch, for: sync, now: now), now: now)
        case .countRefusal(let doubt, let isScheduled):
            guard shipment?.request.format.traits.isOneRow == true else { return .done }
            let status = report.snapshot.lastHTTPStatus ?? 0
            let needsProbe = try queue.record.count(
                batch, doubt, status: status, reason: report.refusalReason, isScheduled: isScheduled)
            return needsProbe ? .needsProbe : .done
        case .freezeProbe:
            guard let sync, let probe = try queue.freezeProbe(behind: batch, sync, now: now) else {
                return .nothingPending
            }
            shipment = probe
            return .frozen(rows: probe.batch?.rows ?? 0, isIsolating: false)
        case .deadLetterProbed:
            guard let probed, let (fate, expired) = try queue.deadLetter(probed: probed, now: now) else {
                return .done
            }
            report.expired(expired)
            report.probed(status: queue.record.status, reason: queue.record.reason)
            return rejected(probed, fate, now: now)
        default: break
        }
        return .done
    }

    /// Carries out an action on a newest location, of which nothing is in the store.
    private func perform(
        _ action: Drain.Action, onLatest batch: FrozenBatch, now: BootInstant
    ) -> Drain.Event {
        switch action {
        case .acknowledge:
            shipment = nil
            latest?.delivered()
            report.acknowledged(batch, at: hub.clock.time(now: now))
            return .done
        // A location that is refused is not worth keeping, and says that something is wrong with the destination.
        case .reject, .isolate: return .suspected
        default: return .done
        }
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

    // MARK: The request

    private func beginExchange(now: BootInstant) -> Drain.Event {
        guard let sync else { return .token(.due(hasToken: false)) }
        let factory = RequestFactory(sync, version: Release.version)
        return tokens.begin(with: factory, isIdle: false, now: now).map { .token($0) } ?? .underway
    }

    private func send(now: BootInstant) throws(StorageError) -> Drain.Event {
        guard let sync, let shipment else { return .gone }
        // Before the store is asked: whoever dissolves the batch after the store's answer aborts the request.
        if let batch = shipment.batch { report.claimed(batch.id) }
        if case .rows(let batch, _) = shipment.content, try !queue.beginAttempt(batch) {
            report.requestEnded()
            return .gone
        }
        // The log says nothing of the vehicle.
        if shipment.kind != .log { attempts.requested(now: now) }
        let time = hub.clock.time(now: now)
        report.sending(shipment.id, shipment.request, at: time, now: now)
        carrier.begin(
            shipment.request, of: shipment.id, to: sync, authorization: tokens.authorise(), shipment.kind,
            at: time, now: now)
        return .underway
    }

    private func awaitAnswer(now: BootInstant) throws(StorageError) -> Drain.Event {
        switch carrier.advance(now: now) {
        case .underway: return .underway
        case .ended(let delivery):
            report.requestEnded()
            report.unrequested(carrier.unrequested, now: now)
            attempts.metered.connected(to: carrier.peer)
            if let shipment, shipment.kind == .rows,
                queue.record.observe(.init(delivery), in: shipment.request.format),
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
            if shipment?.kind == .latest {
                shipment = try latest?.next(now: now)
                if shipment == nil { return .gone }
            }
            return .unmatched
        case .answer(let reply): return try answered(reply, now: now)
        }
    }

    private func answered(_ reply: ServerAnswer, now: BootInstant) throws(StorageError) -> Drain.Event {
        guard let shipment else { return .gone }
        var judgement = reply.judged(
            as: shipment.request.format, shipment.kind, of: shipment.id, by: sync,
            at: hub.clock.time(now: now))
        judgement.reason = reason(in: reply, judgement)
        if shipment.kind != .log {
            tokens.note(judgement.verdict)
            if judgement.verdict == .accepted { attempts.schedule.accepted() }
        }
        if shipment.kind == .envelope { attempt?.reply = reply }
        if shipment.kind == .rows, latest == nil, judgement.verdict == .accepted {
            listener.hear(reply, to: shipment.id, sync)
        }
        report.answered(judgement, now: now)
        if case .rows(let batch, _) = shipment.content, judgement.verdict == .unauthorised,
            judgement.broker != nil, try queue.renewTopic(of: batch, in: shipment.request)
        {
            return .gone
        }
        return .answered(judgement, canRenew: tokens.isActive)
    }

    /// Looks up how the newest of the dead letters were refused. What fails is tried again with the next start.
    func recallRefusal() {
        guard hub.store.counts()[port.name]?.rejected ?? 0 > 0 else { return report.known(nil) }
        if let newest = try? hub.store.newestRefusal(by: port.name) { report.known(newest) }
    }

    /// What the server says of its refusal, without what it has been sent in confidence.
    private func reason(in reply: ServerAnswer, _ judgement: Judgement) -> String? {
        guard judgement.verdict != .accepted else { return nil }
        let secrets = SecretTexts(
            (sync?.secretTexts ?? [])
                + [tokens.sent, tokens.sent?.split(separator: " ").last.map { String($0) }].compactMap(\.self),
            addresses: sync?.addresses ?? [])
        return reply.reason(hiding: secrets.hidden)
    }
}
