internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Upload

/// One drain: what `Drain` decides is done here, and what came of it is reported back.
extension Uploader {
    /// One drain, from its trigger to its result.
    func upload(now: BootInstant) {
        let isForced = attempts.isForced
        let askers = attempts.begin(now: now)
        postscripts.begin(isForced: isForced)
        let before = report.snapshot.uploaded
        report.drainBegan()
        // While storage fails nobody knows what is pending.
        let hadWork =
            drain.isOwed || report.snapshot.storageError != nil || pending > 0
        let isMore = postscripts.isDue(attempts, now: now)
        let outcome = runDrain(hasWork: hadWork || isMore, isForced: isForced)
        // The reader reports what has happened to the database.
        if hadWork { outbox.wakeReader() }
        let ended = BootInstant.current()
        // One connection for each drain: nothing is held open until the next, which may be hours away, unless it is to be.
        carrier.rest(sync)
        lane?.end()
        postscripts.end()
        if !drain.isOwed { queue.endBatch() }
        let delay = isStopping ? nil : attempts.end(outcome, now: ended)
        report.drainEnded(
            outcome, retryIn: delay, hadWork: hadWork || isMore, isOwed: drain.isOwed,
            authAdvice: tokens.advice,
            sync, now: ended)
        // The url may have been removed meanwhile: pending rows then stay pending.
        let refused = report.refusedRows
        let result = SyncResult(
            outcome: sync == nil
                ? .disabled : SyncResult.Outcome(outcome, hadWork: hadWork, hasRefused: refused > 0),
            uploaded: report.snapshot.uploaded - before, pending: pending, rejected: refused,
            trouble: report.trouble(outcome))
        for token in askers { outbox.complete(token, .success(.synced(result))) }
        if result.uploaded >= Self.longDrain { queue.releaseMemory() }
    }

    private func runDrain(hasWork: Bool, isForced: Bool) -> DrainOutcome {
        var step = drain.begin(hasWork: hasWork, isForced: isForced)
        while true {
            switch step {
            case .finish(let outcome): return outcome
            case .perform(let action):
                let now = BootInstant.current()
                port.work.begin(now)
                let event: Drain.Event
                do {
                    event = try perform(action, now: now)
                } catch {
                    report.storageFailed(error)
                    event = .storageFailed
                }
                if isStopping { drain.stop() }
                step = drain.handle(event)
                endStep(now: .current())
            }
        }
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
        case .refreshToken: return .token(exchangeToken(now: now))
        case .awaitAnswer: return try awaitAnswer()
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

    private func exchangeToken(now: BootInstant) -> Drain.TokenCheck {
        guard let sync else { return .due(hasToken: false) }
        return tokens.exchange(
            with: RequestFactory(sync, version: Release.version), isIdle: false, now: now,
            meanwhile: adoptAhead)
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
            postscripts.current?.kind.content ?? (lane == nil ? .rows : .latest),
            at: hub.clock.time(now: now), now: now)
        // What has arrived meanwhile may prevent the first byte from being sent.
        runCommands(now: now)
        return .underway
    }

    private func awaitAnswer() throws(StorageError) -> Drain.Event {
        let progress = carrier.advance(wakeup: port.commands.wakeup)
        // It has waited.
        let now = BootInstant.current()
        switch progress {
        case .underway:
            runCommands(now: now)
            return .underway
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
                as: request.format, of: batch.id, by: sync, at: hub.clock.time(now: now))
            if sync?.rejects(judgement, in: request.format) == true { judgement.verdict = .rejected }
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
        var sync = sync
        // Nobody but the server decides what the log is answered with.
        if postscript.kind == .log {
            sync?.requireAck = false
            sync?.acceptMember = nil
        }
        var judgement = reply.judged(
            as: postscript.request.format, of: postscript.id, by: sync, at: hub.clock.time(now: now))
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
