internal import Base
internal import Configuration
internal import ControlProtocol
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Systemd
internal import Tracking
internal import Upload

/// The main thread: signals, the control socket, the watchdog, the network's coming and going, and the order of the end.
final class Supervisor {
    /// Seconds that the threads have for their last act: SIGTERM to exit takes two at most, whatever hangs.
    private static let patience = 1.5
    /// Seconds after the start, or after new settings, when every thread has begun its work, and what only that needed can
    /// go.
    private static let settlingTime = 2.0

    private let hub: Hub
    private let handlers: Handlers
    private let server: ControlServer
    private let configurator: Configurator
    private var monitor: RouteMonitor?
    private var routeLostAt: BootInstant?
    private var watchdog: Watchdog?
    private var running: Set<String> = ["reader", "uploader"]
    /// The reader has taken up what was intended: before that, a client would be told of an idle daemon.
    private var hasResumed = false
    private var stopBy: BootInstant?
    private var statusText = ""
    /// When memory is given back; nil once it has been.
    private var releaseAt: BootInstant?

    init(
        _ options: Daemon.Options, _ directory: StateDirectory, _ configurator: Configurator,
        _ place: consuming SocketPlace, startedAt: BootInstant
    ) throws {
        self.configurator = configurator
        let settings = configurator.loaded.settings
        let long = LongStart()
        defer { long?.end() }
        let identification = Identification(
            directory, root: options.machineRoot, at: WallClock(now: startedAt).time(now: startedAt))
        let installation = try identification.find()
        let lacksDatabase = installation.hadDatabase && Store.isMissing(in: directory.path)
        let store = try Store(directory: directory.path, options: StoreOptions(settings))
        hub = try Hub(store: store, files: SmallFiles(directory))
        for event in store.takeEvents() { event.report(hub.board) }
        for trouble in installation.troubles { hub.board.note(damaged: trouble.name) }
        if lacksDatabase { hub.tellOfMissingDatabase(in: directory.path) }
        identification.noteDatabase()
        handlers = Handlers(
            hub: hub, directory: directory.path, installID: installation.id, configurator: configurator,
            startedAt: startedAt)
        server = try ControlServer(in: place, handlers: handlers)
        routeLostAt = startedAt
        releaseAt = startedAt.advanced(bySeconds: Self.settlingTime)
        if let interval = Notifier.watchdogInterval() {
            watchdog = Watchdog(timeout: interval, now: startedAt)
        }
        watchRoutes()
    }

    /// Starts the threads and serves until the end.
    ///
    /// - Returns: the exit code.
    func run(_ signals: borrowing Signals) -> Int32 {
        do {
            try startThreads()
        } catch {
            Log.error(.started, error.description)
            return 71
        }
        Log.notice(.started, "beekond \(Release.version) is running, state in \(handlers.directory)")
        Notifier.ready()
        while !isDone(now: .current()) {
            var poll = PollSet()
            poll.add(signals.raw)
            poll.add(hub.main.wakeup.descriptor)
            poll.add(monitor?.raw ?? -1)
            let serves = hasResumed
            if serves { server.addTo(&poll, at: 3) }
            poll.wait(seconds: nextDeadline.map { max($0.seconds(since: .current()), 0) })
            let now = BootInstant.current()
            if poll.isReadable(0) { for signal in signals.receive() { take(signal, now: now) } }
            server.miss(hub.takeUnheard())
            for message in hub.main.takeAll() { take(message, now: now) }
            if poll.isReadable(2) { followRoutes(now: now) }
            if serves { server.serve(poll, now: now) }
            feedWatchdog(now: now)
            if let due = releaseAt, now >= due {
                releaseUnusedMemory()
                releaseAt = nil
            }
        }
        return end()
    }

    private func startThreads() throws(SystemError) {
        let (hub, settings, installID) = (hub, configurator.loaded.settings, handlers.installID)
        let tokens = TokenStore(
            directory: try StateDirectory(handlers.directory),
            credentials: SecretPlaces.ofThisProcess().credentialsDirectory)
        try startThread(named: "reader") {
            guard let reader = Reader(hub: hub, settings: settings) else { return hub.tell(.readerEnded) }
            reader.run()
        }
        try startThread(named: "uploader") {
            guard
                let uploader = Uploader(
                    hub: hub, settings: settings, installID: installID, tokens: tokens, now: .current())
            else {
                return hub.tell(.uploaderEnded)
            }
            uploader.run()
        }
    }

    private var nextDeadline: BootInstant? {
        [server.deadline, stopBy, watchdog?.next, releaseAt].compactMap(\.self).min()
    }

    // MARK: The end

    private func isDone(now: BootInstant) -> Bool {
        if running.isEmpty { return true }
        return stopBy.map { now >= $0 } ?? false
    }

    private func stop(now: BootInstant) {
        guard stopBy == nil else { return }
        Notifier.stopping()
        stopBy = now.advanced(bySeconds: Self.patience)
        hub.board.isStopping.store(true, ordering: .relaxed)
        hub.reader.deliver(.end)
        hub.uploader.deliver(.end)
    }

    private func end() -> Int32 {
        server.removeSocket()
        guard running.isEmpty else {
            // Its work is safe: what was stored is stored, and what was being sent is sent again.
            Log.warning(.stopped, "stopped without waiting for: " + running.sorted().joined(separator: ", "))
            return 0
        }
        hub.store.close()
        Log.notice(.stopped, "beekond has stopped")
        return stopBy == nil ? 70 : 0
    }

    // MARK: What comes in

    private func take(_ signal: Signals.Signal, now: BootInstant) {
        switch signal {
        case .terminate: stop(now: now)
        case .reload: configurator.ask(.reload, nil, hub)
        }
    }

    private func take(_ message: MainMessage, now: BootInstant) {
        do {
            switch message {
            case .started(let token, let result):
                let reply = result.map { Wire.Start.Result(state: .tracking, sessionId: $0.description) }
                try complete(token, Wire.Start.self, reply, now: now)
            case .stopped(let token, let result):
                let state = Wire.State(hub.board.readerSnapshot.state)
                try complete(token, Wire.Stop.self, result.map { .init(state: state) }, now: now)
            case .deleted(let token, let result):
                try complete(
                    token, Wire.DeleteLocations.self,
                    result.map { .init(removed: $0.removed, kept: $0.kept.isEmpty ? nil : $0.kept) },
                    now: now)
            case .requeued(let token, let result):
                try complete(token, Wire.RetryRejected.self, result.map { .init(requeued: $0) }, now: now)
            case .purged(let token, let result):
                try complete(token, Wire.PurgeRejected.self, result.map { .init(removed: $0) }, now: now)
            case .extrasSet(let token, let result):
                try complete(token, Wire.SetExtras.self, result.map { .init() }, now: now)
            case .resent(let token, let result):
                try complete(token, Wire.Resend.self, result.map { .init(requeued: $0) }, now: now)
            case .rebatched(let token, let result):
                let reply = result.map { Wire.Rebatch.Result(batchId: $0.batch.description, rows: $0.rows) }
                try complete(token, Wire.Rebatch.self, reply, now: now)
            case .synced(let token, let result):
                let reply = Wire.Sync.Result(
                    outcome: result.outcome.rawValue, uploaded: result.uploaded, pending: result.pending)
                try complete(token, Wire.Sync.self, .success(reply), now: now)
            case .seeded(let token, let result):
                try complete(token, Wire.SeedAuth.self, result.map { .init() }, now: now)
            case .settingsTaken(let result):
                configurator.take(result, hub)
                watchRoutes()
                // To read a configuration takes a megabyte, of which nothing remains.
                releaseAt = now.advanced(bySeconds: Self.settlingTime)
            case .configured(let token, let result):
                try complete(token, Wire.Configure.self, result.map { .init() }, now: now)
            case .geofencesAdded(let token, let result):
                handlers.noteTaken(token)
                // Reading a fleet's worth of them takes tens of megabytes.
                releaseAt = now.advanced(bySeconds: Self.settlingTime)
                try complete(token, Wire.AddGeofences.self, result.map { .init() }, now: now)
            case .geofencesRemoved(let token, let result):
                try complete(token, Wire.RemoveGeofences.self, result.map { .init(removed: $0) }, now: now)
            case .geofences(let token, let items, let isLast):
                server.complete(token, page: items, isLast: isLast)
            case .located(let token, let result):
                let reply = result.map { Wire.GetCurrentLocation.Result(location: $0.map { .init($0) }) }
                try complete(token, Wire.GetCurrentLocation.self, reply, now: now)
            case .crossed(let event):
                server.publish(
                    Wire.Event(kind: "geofence_event", geofenceEvent: Wire.GeofenceEvent(event)), now: now)
            case .location(let location):
                server.publish(Wire.Event(kind: "location", location: Wire.Location(location)), now: now)
            case .stateChanged(let change):
                hasResumed = true
                changed(handlers.stateEvent(change), now: now)
            case .sourceChanged: changed(handlers.sourceEvent(), now: now)
            case .syncChanged: changed(handlers.syncEvent(now: now), now: now)
            case .authChanged: changed(handlers.authEvent(), now: now)
            case .readerEnded: ended("reader", now: now)
            case .uploaderEnded: ended("uploader", now: now)
            }
        } catch {
            Log.error(.control, "an answer could not be written: \(error)")
        }
    }

    private func complete<Method: ControlMethod>(
        _ token: Token, _ method: Method.Type, _ result: Result<Method.Result, MainMessage.Failure>,
        now: BootInstant
    ) throws {
        switch result {
        case .success(let value): server.complete(token, with: try Reply.encode(method, value), now: now)
        case .failure(let failure):
            server.complete(token, with: Reply.encode(ControlError(failure)), now: now)
        }
    }

    private func changed(_ event: Wire.Event, now: BootInstant) {
        server.publish(event, now: now)
        let reader = hub.board.readerSnapshot
        let pending = hub.store.counts().pending
        let text = "\(reader.state.rawValue), receiver \(reader.health.rawValue), \(pending) pending"
        if text != statusText { Notifier.status(text) }
        statusText = text
    }

    /// A thread that ends before it was asked to could not work at all; without it nothing else makes sense.
    private func ended(_ name: String, now: BootInstant) {
        running.remove(name)
        guard stopBy == nil else { return }
        Log.error(.stopped, "the \(name) cannot work here: no memory, or an unfit libgps, libcurl or zlib")
        stop(now: now)
    }

    // MARK: Watchdog and network

    private func feedWatchdog(now: BootInstant) {
        let busy = [
            ("reader", hub.board.readerWork.busyFor(now)), ("uploader", hub.board.uploaderWork.busyFor(now)),
        ]
        switch watchdog?.look(now: now, busy: busy) {
        case nil, .wait: break
        case .feed: Notifier.feedWatchdog()
        case .starve(let stuck):
            guard !stuck.isEmpty else { return }
            Log.error(.threadStuck, "stuck for two minutes: " + stuck.joined(separator: ", "))
        }
    }

    /// Without an upload nobody asks what the network does.
    private func watchRoutes() {
        guard configurator.loaded.settings.sync != nil else {
            monitor = nil
            return
        }
        guard monitor == nil else { return }
        do {
            monitor = try RouteMonitor()
        } catch {
            Log.warning(.uploadFailed, "the network's return will not be noticed: \(error)")
        }
    }

    private func followRoutes(now: BootInstant) {
        for change in monitor?.receive() ?? [] {
            switch change {
            case .vanished: routeLostAt = routeLostAt ?? now
            case .appeared:
                let outage = routeLostAt.map { now.seconds(since: $0) } ?? 0
                routeLostAt = nil
                if hub.store.counts().pending > 0 {
                    hub.tellUploader(.trigger(.networkReturned(outage: outage)))
                }
            }
        }
    }
}

extension StoreOptions {
    init(_ settings: Settings) {
        self.init(
            retention: settings.store.retentionDays * 86_400, maxRows: settings.store.maxRows,
            durability: settings.store.durability == .full ? .full : .normal,
            keepsUploaded: settings.store.keepUploaded,
            isSyncing: settings.sync != nil || settings.awaitsSync,
            holdsRows: settings.holdsRows)
    }
}
