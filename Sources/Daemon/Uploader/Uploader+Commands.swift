internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Upload

/// What others ask of it, and settings that change.
extension Uploader {
    /// Runs what others have asked for, between two steps of a drain or between drains.
    ///
    /// Tokens belong to the host of the settings that they were given for: those come into force before them, and no later
    /// ones do. So what was posted before new settings is done before they are.
    func runCommands(now: BootInstant) {
        for command in port.commands.takeAll() { run(command, now: now) }
        while let latest = port.settings.take() {
            for command in port.commands.takeAll() { run(command, now: now) }
            configure(latest, now: now)
        }
        followServer(now: now)
    }

    /// Goes on with what the server has asked for.
    func followServer(now: BootInstant) {
        commands.proceed(now: now)
        if commands.takeResults() { attempts.trigger(.results, now: now) }
    }

    private func run(_ command: UploaderCommand, now: BootInstant) {
        switch command {
        case .trigger(let trigger):
            if case .networkReturned = trigger {
                tokens.networkReturned()
                carrier.networkReturned()
                homeAssistant.networkReturned(now: now)
            }
            attempts.trigger(trigger, now: now)
        case .sync(let token): sync(token, now: now)
        case .abort(let batches):
            if let current = report.snapshot.inFlightBatch, batches.contains(current) { drain.abort() }
        case .erased(let cutoff):
            commands.erased(upTo: cutoff, now: now)
            if shipment?.holds(upTo: cutoff) == true { drain.abort() }
        case .rebatch(let token): outbox.complete(token, rebatch().map { .rebatched($0) })
        case .seed(let pair, let settings, let token):
            configure(settings, now: now)
            outbox.complete(token, seed(pair, now: now).map { .done })
        case .storageRecovered:
            commands.obstacleGone()
            if report.snapshot.storageError != nil {
                attempts.trigger(.change, now: now)
            }
        case .timeKnown: commands.obstacleGone()
        // It is enough to be awake.
        case .routesChanged, .otherEnded: break
        case .announcementRemoved: homeAssistant.tellAgain(now: now)
        case .commandEnded(let command, let end): commands.ended(command, end, now: now)
        case .end: hasEnded = true
        }
    }

    private func sync(_ token: Token, now: BootInstant) {
        guard sync != nil else {
            let result = SyncResult(outcome: .disabled, uploaded: 0, pending: pending)
            return outbox.complete(token, .success(.synced(result)))
        }
        attempts.ask(token, now: now)
    }

    private func seed(_ pair: Tokens, now: BootInstant) -> Result<Void, CommandFailure> {
        let result = tokens.seed(pair, now: now)
        guard case .success = result else { return result }
        carrier.forgetSessions()
        attempts.trigger(.change, now: now)
        Log.notice(.tokenRefreshed, "new tokens have been given")
        return result
    }

    private func rebatch() -> Result<Rebatched, CommandFailure> {
        guard !drain.isOwed else {
            return .failure(
                .init(
                    kind: .noRebatch,
                    reason: "the batch has been acknowledged, which only waits for the disk"))
        }
        let result = queue.dissolve()
        if case .success(let dissolved) = result {
            if report.snapshot.inFlightBatch == dissolved.batch { drain.abort() }
            report.dissolved(dissolved, sync)
        }
        return result
    }

    private func configure(_ latest: SettingsInForce, now: BootInstant) {
        guard latest.revision > inForce.revision else { return }
        let (old, told) = (destination, fingerprint)
        inForce = latest
        defer { obey(now: now) }
        guard destination != old || fingerprint != told else { return }
        attempts.metered.configured(isElsewhere: sync?.nextHop != old?.sync.nextHop)
        let isOtherRequest =
            sync?.request != old?.sync.request || destination?.sharesMainTokens != old?.sharesMainTokens
        drain.change(isEnabled: sync != nil, isOtherRequest: isOtherRequest)
        // Another server has nothing yet.
        if sync?.fingerprint != old?.sync.fingerprint { self.latest = nil }
        if sync?.url != old?.sync.url || sync?.format.name != old?.sync.format.name {
            attempts.schedule.serverChanged()
            report.serverChanged()
        }
        homeAssistant.cancel(&carrier)
        apply(now: now)
        if let sync { attempts.change(DrainRules(sync), now: now) }
    }

    /// Whether the server may ask for something. What was to be done for one that may not any more is refused: it must not
    /// be done long after, when it may again.
    func obey(now: BootInstant) {
        commands.configure(isEnabled: sync?.commands != nil && latest == nil)
        guard port.name == .main, !hub.store.counts().commands.isEmpty else { return }
        let obeyed = inForce.settings.allDestinations.first { $0.sync.commands != nil }
        let error = CommandError(.notAllowed, "this server may not command any more").text
        // If it fails, the next start does it.
        _ = try? hub.store.refuseCommands(
            besides: obeyed.flatMap { DestinationName($0.name) }, error: error, at: hub.clock.time(now: now))
    }

    /// Fingerprint of everything that may have been refused.
    private var fingerprint: Int64? {
        sync?.fingerprint(tellsOdometer: tellsOdometer)
    }

    var tellsOdometer: Bool { inForce.settings.vehicle.tellsOdometer }

    func apply(now: BootInstant) {
        maker.configure(sync, tellsOdometer: tellsOdometer)
        queue.configured()
        latest =
            sync?.isLatestOnly == true ? latest ?? LatestLocation(port: port, hub: hub, maker: maker) : nil
        report.configured(sync)
        homeAssistant.configure(sync, now: now)
        tokens.configure(sync, sharesMain: destination?.sharesMainTokens == true, now: now)
        do {
            if latest == nil { try queue.registerEndpoint(sync, tellsOdometer: tellsOdometer) }
        } catch {
            report.endpointUnwritten(error, now: now)
        }
    }
}
