package import Base
internal import Simulation
package import Upload

/// What beekond's uploader does, with the same decisions.
extension Fleet {
    /// An upload is due.
    mutating func upload(_ vehicle: Int, now: BootInstant) {
        record(vehicle, now: now)
        members[vehicle].beginUpload(now: now)
        let isMore = members[vehicle].schedule.heartbeat.isDue(now: now)
        let step = members[vehicle].drain.begin(
            hasWork: members[vehicle].rows.pending > 0 || isMore, isForced: false)
        follow(step, vehicle, now: now)
    }

    private mutating func follow(_ first: Drain.Step, _ vehicle: Int, now: BootInstant) {
        var step = first
        while true {
            switch step {
            case .finish(let outcome):
                members[vehicle].endUpload(outcome, now: now)
                return
            // The flight goes on.
            case .perform(.awaitAnswer): return
            case .perform(let action):
                step = members[vehicle].drain.handle(perform(action, vehicle, now: now))
            }
        }
    }

    private mutating func perform(_ action: Drain.Action, _ vehicle: Int, now: BootInstant) -> Drain.Event {
        switch action {
        case .registerEndpoint, .record, .countTimeout: return .done
        case .freezeNext:
            record(vehicle, now: now)
            return freeze(vehicle, now: now)
        case .checkToken: return .token(.usable)
        case .send:
            send(vehicle, now: now)
            return .underway
        case .acknowledge:
            let count = members[vehicle].rows.frozen
            members[vehicle].rows.acknowledge()
            mill.acknowledge(count, of: vehicle)
            return .done
        case .makeUnqueued:
            guard members[vehicle].schedule.beginHeartbeat(now: now) else { return .nothingPending }
            ledger.heartbeatBytes = mill.heartbeat(
                of: vehicle, isMoving: members[vehicle].whereabouts.isDriving, now: now)
            return .made(.envelope)
        case .settle: return .done
        // Nothing here refuses a batch for good, and there are no tokens that could expire.
        case .checkRefusedToken, .refreshToken, .awaitToken, .awaitAnswer, .cancelRequest, .reject, .isolate,
            .markPermanent,
            .countRefusal, .freezeProbe, .deadLetterProbed:
            return .storageFailed
        }
    }

    /// Batches have as many rows as by default.
    private static let batchSize = 100

    private mutating func freeze(_ vehicle: Int, now: BootInstant) -> Drain.Event {
        let rows = members[vehicle].rows
        if rows.frozen > 0 { return .frozen(rows: rows.frozen, isIsolating: false) }
        guard rows.pending > 0 else { return .nothingPending }
        let count = min(rows.pending, Self.batchSize)
        let bytes = mill.freeze(count, of: vehicle, on: members[vehicle].habits.road, now: now)
        members[vehicle].rows.freeze(count, bytes: bytes)
        return .frozen(rows: count, isIsolating: false)
    }

    // MARK: On the way

    private mutating func send(_ vehicle: Int, now: BootInstant) {
        members[vehicle].noteRequest(now: now)
        guard members[vehicle].whereabouts.hasRoute else {
            members[vehicle].flight = .failing(
                at: now.advanced(bySeconds: Link.noRoute), isForTime: false)
            return
        }
        if plan.isLive {
            guard let (batch, request) = mill.requests[vehicle] else { return }
            members[vehicle].flight = .outside
            return departures.append(Departure(vehicle: vehicle, batch: batch, request: request))
        }
        let habits = members[vehicle].habits
        let bytes = members[vehicle].rows.frozen > 0 ? members[vehicle].rows.bytes : ledger.heartbeatBytes
        let seconds = habits.latency * (1 + 2 * Link.handshakes) + Double(bytes) / habits.bandwidth
        members[vehicle].flight = .arriving(at: now.advanced(bySeconds: seconds), tries: 0)
    }

    /// Something becomes of a request.
    mutating func fly(_ vehicle: Int, now: BootInstant) {
        switch members[vehicle].flight {
        case .none, .outside: return
        case .arriving(_, let tries): arrive(vehicle, tries: tries, now: now)
        case .answered(_, let status, let retryAfter):
            conclude(vehicle, Judgement(status: status, retryAfter: retryAfter.map { Double($0) }), now: now)
        case .failing(_, let isForTime): fail(vehicle, isForTime: isForTime, now: now)
        }
    }

    /// What a real server has made of a request; nil: there is no answer. Ignored if the vehicle does not wait any more.
    package mutating func deliver(_ judgement: Judgement?, to vehicle: Int, now: BootInstant) {
        guard members[vehicle].flight == .outside else { return }
        if let judgement {
            conclude(vehicle, judgement, now: now)
        } else {
            fail(vehicle, isForTime: false, now: now)
        }
        schedule(vehicle, now: now)
    }

    private mutating func conclude(_ vehicle: Int, _ judgement: Judgement, now: BootInstant) {
        members[vehicle].flight = .none
        if judgement.verdict == .accepted {
            members[vehicle].schedule.accepted()
            ledger.note(members[vehicle], acceptedAt: now)
            members[vehicle].waitsSince = nil
        }
        let rowsBefore = members[vehicle].rows.pending - members[vehicle].rows.frozen
        let step = members[vehicle].drain.handle(.answered(judgement, canRenew: false))
        if judgement.verdict == .accepted, rowsBefore > 0 { members[vehicle].waitsSince = now }
        follow(step, vehicle, now: now)
    }

    /// There is no answer.
    private mutating func fail(_ vehicle: Int, isForTime: Bool, now: BootInstant) {
        members[vehicle].flight = .none
        follow(members[vehicle].drain.handle(.failed(isForTime: isForTime)), vehicle, now: now)
    }

    /// Seconds within which beekon-server wants to see a vehicle again that it sends away: it draws them.
    private static let retryAfter = 5.0...30.0

    private mutating func arrive(_ vehicle: Int, tries: Int, now: BootInstant) {
        let (latency, rows) = (members[vehicle].habits.latency, members[vehicle].rows)
        let bytes = rows.frozen > 0 ? rows.bytes : ledger.heartbeatBytes
        if tries == 0 {
            traffic.note(now) {
                $0.requests += 1
                $0.bytes += UInt32(clamping: bytes)
            }
        }
        switch server.take(rows: rows.frozen, at: now) {
        case .answered(let end, let status):
            let isAccepted = status == 200
            if isAccepted { receive(vehicle) }
            traffic.note(now) {
                if isAccepted { $0.accepted += 1 } else { $0.shed += 1 }
                if isAccepted { $0.rows += UInt32(rows.frozen) }
            }
            // The vehicle does not wait for ever.
            guard end.seconds(since: now) + latency < Link.timeout else {
                members[vehicle].flight = .failing(
                    at: now.advanced(bySeconds: Link.timeout), isForTime: true)
                return
            }
            let seconds = members[vehicle].random.uniform(Self.retryAfter)
            members[vehicle].flight = .answered(
                at: end.advanced(bySeconds: latency), status: status,
                retryAfter: isAccepted ? nil : Int(seconds.rounded()))
        case .refused:
            traffic.note(now) { $0.lost += 1 }
            members[vehicle].flight = .failing(at: now.advanced(bySeconds: latency), isForTime: false)
        case .ignored where tries < Link.connectRetries.count:
            members[vehicle].flight = .arriving(
                at: now.advanced(bySeconds: Link.connectRetries[tries]), tries: tries + 1)
        case .ignored:
            traffic.note(now) { $0.lost += 1 }
            let rest = Link.connectTimeout - Link.connectRetries.reduce(0, +)
            members[vehicle].flight = .failing(at: now.advanced(bySeconds: rest), isForTime: false)
        }
    }

    /// The server stores a batch, unless it has it.
    private mutating func receive(_ vehicle: Int) {
        guard members[vehicle].rows.frozen > 0 else { return }
        if members[vehicle].rows.isReceived {
            ledger.repeated += 1
        } else {
            ledger.received += members[vehicle].rows.frozen
            members[vehicle].rows.isReceived = true
        }
    }
}
