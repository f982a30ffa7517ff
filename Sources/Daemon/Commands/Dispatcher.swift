internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Storage
internal import Tracking
internal import Upload

/// The one way to give a command: asks whether it is permitted, logs who gave it, hands it to the thread that carries it
/// out, and remembers who waits for the result. Confined to the main thread.
final class Dispatcher {
    /// A closure that is given the result of a command, once.
    typealias Waiter = (Result<Completion, CommandFailure>, BootInstant) -> Void

    enum Answer {
        case now(Completion)
        /// Another thread completes it.
        case later(Token)
    }

    private let hub: Hub
    private let configurator: Configurator
    /// For what makes beekond ask the backend at once.
    private var attempts = Allowance(burst: 60, perSecond: 1)
    private var lastToken: Token = 0
    private var waiters: [Token: Waiter] = [:]
    /// Fences that the reader has not accepted yet. They stay in memory even when their client has gone.
    private var fencesUnderWay: [Token: Int] = [:]

    init(hub: Hub, configurator: Configurator) {
        self.hub = hub
        self.configurator = configurator
    }

    /// - Parameter waiter: is given the result when the answer comes later; nil when nobody needs it.
    func dispatch(
        _ command: Command, by caller: Caller, now: BootInstant, waiter: Waiter? = nil
    ) throws(CommandFailure) -> Answer {
        try enforce(Authority.decide(command, for: caller.origin), on: caller)
        if case .seedAuth(let seed, let name) = command {
            let destination = settings.destination(name.text)
            try seed.check(
                against: destination?.sync, of: name, sharesMain: destination?.sharesMainTokens == true)
        }
        if caller.isLogged {
            Log.info(.control, "\(caller.request) by \(caller.name)", caller.fields)
        }
        let answer = try route(command, of: caller, now: now)
        if case .later(let token) = answer { waiters[token] = waiter }
        return answer
    }

    /// Hands the result to the waiter, if there still is one.
    ///
    /// - Returns: whether the command has taken much memory, which can be given back now.
    func complete(_ token: Token, _ result: Result<Completion, CommandFailure>, now: BootInstant) -> Bool {
        let hadFences = fencesUnderWay.removeValue(forKey: token) != nil
        waiters.removeValue(forKey: token)?(result, now)
        return hadFences
    }

    /// Drops a command that nobody waits for any more: the reader need not work on it.
    func forget(_ token: Token) {
        waiters[token] = nil
        _ = hub.reader.post(.forget(token))
    }

    /// Refuses a caller without permission, and logs that.
    func enforce(_ permission: Authority.Permission, on caller: Caller) throws(CommandFailure) {
        switch permission {
        case .granted: return
        case .denied:
            Log.warning(.control, "\(caller.request) denied to \(caller.name)", caller.fields)
            throw CommandFailure(kind: .denied)
        }
    }

    // MARK: Routes

    private var settings: Settings { configurator.loaded.settings }

    /// What the configuration files let the server of a destination ask for.
    func allowedToServer(of destination: DestinationName) -> Set<Settings.Commands.Name> {
        settings.sync(of: destination.text)?.commands?.allow ?? []
    }

    private func route(
        _ command: Command, of caller: Caller, now: BootInstant
    ) throws(CommandFailure) -> Answer {
        lastToken += 1
        let token = lastToken
        switch command {
        case .start: try post(.start(token, by: caller.wishes))
        case .stop: try post(.stop(token, by: caller.wishes))
        case .delete(let cutoff): try post(.delete(before: cutoff, token))
        case .requeueRejected(let name):
            try takeAttempt(now: now)
            try post(.rejected(.requeue, of: known(name), token))
        case .purgeRejected(let name): try post(.rejected(.purge, of: known(name), token))
        case .resend(let work):
            try takeAttempt(now: now)
            try refuseOrphan(work.destination)
            try requireQueue(known(work.destination))
            try post(.owe(.resend(work), token))
        case .backfill(let work):
            try takeAttempt(now: now)
            try refuseOrphan(work.destination)
            try requireQueue(configured(work.destination).name)
            try post(.owe(.backfill(work), token))
        case .forgetDestination(let name): try post(.owe(.forget(Forgetting(orphan(name))), token))
        case .rebatch(let name):
            try requireQueue(name)
            try post(.rebatch(token), to: configured(name))
        case .sync(let name?, let isAwaited):
            return try sync(configured(name), token, isAwaited: isAwaited, now: now)
        case .sync(nil, let isAwaited): return try syncAll(token, isAwaited: isAwaited, now: now)
        case .syncEach(let isAwaited):
            let ports = hub.uploaders.all.filter { settings.sync(of: $0.name.text) != nil }
            return try syncEach(of: ports, token, isAwaited: isAwaited, now: now)
        case .seedAuth(let seed, let name):
            try takeAttempt(now: now)
            try post(.seed(seed.tokens, for: configurator.inForce, token), to: configured(name))
        case .setExtras(let extras): try post(.setExtras(extras.values, token))
        case .setOdometer(let wanted): try post(.setOdometer(wanted.metres, token))
        case .addGeofences(let fences): try add(fences, token, of: caller)
        case .removeGeofences(let ids): try post(.removeGeofences(ids, token))
        case .removeAllGeofences: try post(.removeGeofences(nil, token))
        case .listGeofences(let id, let limit): try post(.listGeofences(after: id, limit: limit, token))
        case .locate(let wanted):
            let request = OneShots.Request(
                id: token, timeout: wanted.timeout, maxAge: wanted.maxAge, accuracy: wanted.accuracy,
                isServers: caller.origin == .server)
            try post(.locate(request), showing: .locate, token, to: caller)
        case .setMotion(let wanted): try post(.setMotion(wanted.motion, token))
        case .setIgnition(let isOn): try post(.setIgnition(isOn, token))
        case .configure(let offers):
            configurator.ask(caller.origin == .server ? .serve(offers) : .set(offers, by: caller), token, hub)
        case .resetConfig(let names):
            configurator.ask(
                caller.origin == .server ? .resetServed(names, byServer: true) : .reset(names), token, hub)
        case .resetServerConfig(let names):
            configurator.ask(.resetServed(names, byServer: false), token, hub)
        case .reload: configurator.ask(.reload, token, hub)
        }
        return .later(token)
    }

    private func sync(
        _ port: UploaderPort, _ token: Token, isAwaited: Bool, now: BootInstant
    ) throws(CommandFailure) -> Answer {
        let isConfigured = settings.sync(of: port.name.text) != nil
        if isConfigured {
            try takeAttempt(now: now)
            try post(isAwaited ? .sync(token) : .trigger(.command), to: port)
            if isAwaited { return .later(token) }
        }
        let isQueued = settings.sync(of: port.name.text)?.isLatestOnly != true
        let pending = isQueued ? hub.store.counts()[port.name]?.pending ?? 0 : 0
        let outcome: SyncResult.Outcome =
            !isConfigured ? .disabled : pending > 0 ? .transient : .nothingPending
        return .now(.synced(SyncResult(outcome: outcome, uploaded: 0, pending: pending)))
    }

    /// All of them try. The answer is that of `main` or, where it has no url, the worst of the others.
    private func syncAll(_ token: Token, isAwaited: Bool, now: BootInstant) throws(CommandFailure) -> Answer {
        let others = hub.uploaders.all.filter { $0.name != .main }
        guard settings.sync == nil, isAwaited, !others.isEmpty else {
            for port in others { port.deliver(.trigger(.command)) }
            return try sync(hub.uploaders.main, token, isAwaited: isAwaited, now: now)
        }
        return try syncEach(of: others, token, isAwaited: true, now: now)
    }

    /// Triggers these uploaders, all at once. The answer is the worst of theirs, once each has one.
    private func syncEach(
        of ports: [UploaderPort], _ token: Token, isAwaited: Bool, now: BootInstant
    ) throws(CommandFailure) -> Answer {
        guard !ports.isEmpty else {
            return .now(.synced(SyncResult(outcome: .disabled, uploaded: 0, pending: 0)))
        }
        try takeAttempt(now: now)
        guard isAwaited else {
            for port in ports { port.deliver(.trigger(.command)) }
            let counts = hub.store.counts()
            let pending = ports.reduce(0) { sum, port in
                let isQueued = settings.sync(of: port.name.text)?.isLatestOnly != true
                return sum + (isQueued ? counts[port.name]?.pending ?? 0 : 0)
            }
            let outcome: SyncResult.Outcome = pending > 0 ? .transient : .nothingPending
            return .now(.synced(SyncResult(outcome: outcome, uploaded: 0, pending: pending)))
        }
        var gathering = SyncGathering(waitingFor: ports.count)
        for port in ports {
            lastToken += 1
            waiters[lastToken] = { [weak self] result, now in
                guard let worst = gathering.add(result, of: port.name) else { return }
                _ = self?.complete(token, worst, now: now)
            }
            port.commands.deliver(.sync(lastToken))
        }
        return .later(token)
    }

    // MARK: Destinations

    /// - Throws: when it is not configured.
    private func configured(_ name: DestinationName) throws(CommandFailure) -> UploaderPort {
        if let port = hub.uploaders[name], name == .main || settings.sync(of: name.text) != nil {
            return port
        }
        throw CommandFailure(kind: .parameter("destination"))
    }

    /// - Throws: when nothing is known of it.
    func known(_ name: DestinationName) throws(CommandFailure) -> DestinationName {
        if hub.store.counts()[name] != nil || settings.sync(of: name.text) != nil { return name }
        throw CommandFailure(kind: .parameter("destination"))
    }

    /// - Throws: unless it is owed what it does not get any more: it is not configured, or only for the newest location.
    private func orphan(_ name: DestinationName) throws(CommandFailure) -> DestinationName {
        if name != .main, settings.sync(of: name.text)?.isLatestOnly == true,
            hub.store.counts()[name]?.isOrphaned == true
        {
            return name
        }
        guard isOrphan(name) else { throw CommandFailure(kind: .parameter("destination")) }
        // Its thread may be about to write tokens.
        guard name == .main || hub.uploaders[name] == nil else {
            throw CommandFailure(kind: .busy(seconds: 1))
        }
        return name
    }

    private func isOrphan(_ name: DestinationName) -> Bool {
        settings.sync(of: name.text) == nil && hub.store.counts()[name]?.isOrphaned == true
    }

    /// - Throws: when it is not configured any more: nobody would ever get what it would be owed.
    private func refuseOrphan(_ name: DestinationName) throws(CommandFailure) {
        guard isOrphan(name) else { return }
        let table = name == .main ? "sync" : "destination.\(name)"
        throw CommandFailure(
            kind: .setting(key: table),
            reason: "is not configured any more, so nothing can be sent to it; put [\(table)] back first")
    }

    /// - Throws: when it gets only the newest location, so that nothing can be owed to it.
    private func requireQueue(_ name: DestinationName) throws(CommandFailure) {
        guard settings.sync(of: name.text)?.isLatestOnly == true else { return }
        throw CommandFailure(kind: .parameter("destination"))
    }

    private func add(_ fences: [Geofence], _ token: Token, of caller: Caller) throws(CommandFailure) {
        // Each waits for the disk; whole fleets' fences from clients that come and go would not fit into memory.
        let waiting = fencesUnderWay.values.reduce(0, +)
        guard waiting == 0 || waiting + fences.count <= Geofences.limit else {
            throw CommandFailure(kind: .busy(seconds: 1))
        }
        let origin: Geofences.Origin = caller.origin == .server ? .server : .person
        try post(.addGeofences(fences, token, by: origin), showing: .addGeofences, token, to: caller)
        fencesUnderWay[token] = fences.count
    }

    private func post(_ command: ReaderCommand) throws(CommandFailure) {
        guard hub.reader.post(command) else { throw CommandFailure(kind: .busy(seconds: 1)) }
    }

    /// - Parameter request: what the server is not to be shown while a person's stop holds.
    private func post(
        _ command: ReaderCommand, showing request: Wish.ServerRequest, _ token: Token, to caller: Caller
    ) throws(CommandFailure) {
        try post(caller.origin == .server ? .ofServer(request, command, token) : command)
    }

    private func post(_ command: UploaderCommand, to port: UploaderPort) throws(CommandFailure) {
        guard port.commands.post(command) else { throw CommandFailure(kind: .busy(seconds: 1)) }
    }

    /// What makes beekond ask the backend at once, whatever back-off or `Retry-After` say, is limited.
    private func takeAttempt(now: BootInstant) throws(CommandFailure) {
        guard let wait = attempts.take(now: now) else { return }
        throw CommandFailure(kind: .busy(seconds: wait))
    }
}
