internal import Base
internal import DaemonConfiguration
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// Commands to the parts, and their answers.
extension Reader {
    /// Corners of the polygons in one of several replies with geofences: as many bytes as the longest ids
    /// take.
    private static let cornersInPage = 10_000

    func perform(_ command: ReaderCommand, now: BootInstant) {
        switch command {
        case .start(let token, let origin):
            complete(token) { () throws(CommandFailure) in
                try take(wish(tracks: true, of: origin, now: now), now: now)
                return sessions.session.map { .session($0.id) } ?? .done
            }
        case .stop(let token, let origin):
            complete(token) { () throws(CommandFailure) in
                try take(wish(tracks: false, of: origin, now: now), now: now)
                return .done
            }
        case .delete(let cutoff, let token):
            begin(token) { () throws(CommandFailure) in try delete(before: cutoff, for: token, now: now) }
        case .rejected(let act, let destination, let token):
            begin(token) { () throws(CommandFailure) in
                try work.begin(
                    act, of: destination, for: token, isDeletionKnown: !sessions.recall.isMissing(.deletion))
            }
        case .owe(let owed, let token):
            begin(token) { () throws(CommandFailure) in
                try work.begin(owed, for: token, isDeletionKnown: !sessions.recall.isMissing(.deletion))
            }
        case .setExtras(let wanted, let token):
            complete(token) { () throws(CommandFailure) in
                try extras.set(wanted, configured: settings.extras)
                return .done
            }
        case .setOdometer(let metres, let token):
            complete(token) { () throws(CommandFailure) in
                try setOdometer(to: metres, now: now)
                return .done
            }
        case .addGeofences(let list, let token, let origin):
            complete(token) { () throws(CommandFailure) in
                try fences.add(list, by: origin, now: now) { (left, gone) throws(CommandFailure) in
                    try record(exitsFrom: left, forgetting: gone, now: now)
                }
                return .done
            }
        case .removeGeofences(let ids, let token):
            complete(token) { () throws(CommandFailure) in
                let removed = try fences.remove(ids ?? fences.geofences.all.map(\.id), now: now) {
                    (left, gone) throws(CommandFailure) in
                    try record(exitsFrom: left, forgetting: gone, now: now)
                }
                return .count(removed)
            }
        case .listGeofences(let id, let limit, let token):
            let page = fences.geofences.page(
                after: id, limit: limit,
                cornerLimit: limit < Geofences.limit ? Self.cornersInPage : Geofences.cornerLimit)
            outbox.complete(token, .success(.geofences(page.items, isLast: page.isLast)))
        case .locate(let request): locate(request, now: now)
        case .setMotion(let motion, let token):
            complete(token) { () throws(CommandFailure) in
                try sessions.keep(motion)
                pipeline.setMotion(motion)
                return .done
            }
        case .setIgnition(let isOn, let token):
            complete(token) { () throws(CommandFailure) in
                try setIgnition(isOn, now: now)
                return .done
            }
        case .ofServer(let request, let command, let token):
            do throws(CommandFailure) {
                try sessions.admit(request)
                perform(command, now: now)
            } catch {
                outbox.complete(token, .failure(error))
            }
        case .forget(let token): pipeline.cancelRequest(of: token)
        case .end: break
        }
    }

    private func complete(_ token: Token, _ body: () throws(CommandFailure) -> Completion) {
        outbox.complete(token, Result(catching: body))
    }

    /// Begins what is answered later, unless it is refused.
    private func begin(_ token: Token, _ body: () throws(CommandFailure) -> Void) {
        do {
            try body()
        } catch {
            outbox.complete(token, .failure(error))
        }
    }

    // MARK: Work in steps

    /// One step of what is under way.
    func runSteps(now: BootInstant) {
        for answer in work.run(now: now) { outbox.complete(answer.token, answer.result) }
    }

    private func delete(before cutoff: Timestamp?, for token: Token, now: BootInstant) throws(CommandFailure)
    {
        try work.refuseWhileDeleting()
        // What has been read and can be stored is deleted like everything else, and the rest in memory.
        followRest(of: [], now: now)
        flush(now: now)
        try forgetPlaces(upTo: cutoff, now: now)
        let everything = try work.delete(before: cutoff, for: token)
        if everything != cutoff { try forgetPlaces(upTo: everything, now: now) }
        pipeline.forgetLatestFix(upTo: everything)
        if recorder.latest == nil || work.isDoomed(recorder.latest?.fix.time) {
            recorder.forgetLatest()
            pipeline.forgetPositions()
        }
        withdraw(upTo: everything)
    }

    // MARK: Single locations

    private func locate(_ request: OneShots.Request, now: BootInstant) {
        switch pipeline.locate(request, obstacle: link.obstacle, now: now) {
        case .located(let location): answer(request.id, .success(location))
        case .waiting: adjustLink(now: now)
        case .impossible(let reason): refuse([request.id], reason)
        }
    }

    func expireRequests(now: BootInstant) {
        for token in pipeline.expireRequests(now: now) { answer(token, .success(nil)) }
    }

    /// No fix can come.
    func refuseRequests(_ reason: String) { refuse(pipeline.cancelAllRequests(), reason) }

    /// A person has stopped tracking: the server does not learn any more where the vehicle is.
    func refuseServerRequests() {
        for token in pipeline.cancelServerRequests() {
            answer(token, .failure(CommandFailure(kind: .stoppedByPerson)))
        }
    }

    private func refuse(_ tokens: [Token], _ reason: String) {
        for token in tokens { answer(token, .failure(CommandFailure(kind: .location, reason: reason))) }
    }

    func answer(_ token: Token, _ result: Result<Location?, CommandFailure>) {
        outbox.complete(token, result.map { .location($0) })
    }

    // MARK: Settings

    /// Durable before it is in force: nobody may see a setting that a power cut takes back. All of it, or nothing.
    func apply(_ new: NewSettings, now: BootInstant) {
        do throws(CommandFailure) {
            if let request = new.serverRequest { try sessions.admit(request) }
        } catch {
            return outbox.post(.settingsApplied(.failure(error)))
        }
        switch new.kept {
        case .nothing: break
        case .files(let copy, let options): copy.keep(options)
        case .runtime(let file, let bytes):
            do {
                try hub.makingRoom { () throws(SystemError) in try file.replace(with: bytes) }
            } catch {
                let reason = "the settings could not be written, and nothing was changed: \(error)"
                return outbox.post(.settingsApplied(.failure(CommandFailure(reason: reason))))
            }
        }
        configure(new.settings, now: now)
        revision = new.revision
        outbox.post(.settingsApplied(.success(())))
    }

    /// New thresholds apply to the next fix; only a change of gpsd itself makes a new connection.
    private func configure(_ new: Settings, now: BootInstant) {
        settings = new
        battery.configure(new)
        hub.store.configure(StoreOptions(new))
        work.noteChangedCap()
        extras.apply(to: new.extras)
        schedule.configure(new.tracking)
        configureVehicle(now: now)
        pipeline.configure(
            thresholds: Admission.Thresholds(new), trips: Trips.Thresholds(new),
            isReplay: new.gpsd.replay)
        guard let last = link.configure(new.gpsd, now: now) else { return }
        followRest(of: last, now: now)
        pipeline.unsettle()
        adjustLink(now: now)
    }
}
