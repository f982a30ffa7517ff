internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Systemd
internal import Upload

/// The main thread: signals, the control socket, the watchdog, the network's coming and going, and the order of the end.
final class Supervisor {
    private let hub: Hub
    private let configurator: Configurator
    private let dispatcher: Dispatcher
    private let status: StatusReport
    private let server: ControlServer
    private let uploaders: UploaderThreads
    private var lifecycle = Lifecycle(running: ["reader", UploaderThreads.name(of: .main)])
    private let network: NetworkWatch
    private var memory = MemoryRelease()
    private var watchdog: Watchdog?
    /// What the service manager shows.
    private var statusText = ""

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
        if lacksDatabase { hub.reportMissingDatabase(in: directory.path) }
        identification.noteDatabase()
        dispatcher = Dispatcher(hub: hub, configurator: configurator)
        status = StatusReport(
            hub: hub, configurator: configurator, directory: directory.path, installID: installation.id,
            startedAt: startedAt)
        server = try ControlServer(
            in: place,
            handlers: Handlers(
                hub: hub, configurator: configurator, dispatcher: dispatcher, status: status))
        uploaders = UploaderThreads(hub: hub, directory: directory.path, installID: installation.id)
        network = NetworkWatch(now: startedAt)
        memory.schedule(now: startedAt)
        if let interval = Notifier.watchdogInterval() {
            watchdog = Watchdog(timeout: interval, now: startedAt)
        }
        network.watch(settings.uploads)
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
        Log.notice(.started, "beekond \(Release.version) is running, state in \(status.directory)")
        Notifier.ready()
        while !lifecycle.isOver(now: .current()) {
            var poll = PollSet()
            poll.add(signals.raw)
            poll.add(hub.main.wakeup.descriptor)
            poll.add(network.raw)
            let serves = lifecycle.hasResumed
            if serves { server.addTo(&poll, at: 3) }
            poll.wait(seconds: nextDeadline.map { max($0.seconds(since: .current()), 0) })
            let now = BootInstant.current()
            if poll.isReadable(0) { for signal in signals.receive() { handle(signal, now: now) } }
            server.miss(hub.takeUnheard())
            for message in hub.main.takeAll() { handle(message, now: now) }
            if poll.isReadable(2) { noteNetwork(now: now) }
            if serves { server.serve(poll, now: now) }
            feedWatchdog(now: now)
            memory.runIfDue(now: now)
        }
        return end()
    }

    private func startThreads() throws(SystemError) {
        let (hub, settings) = (hub, configurator.loaded.settings)
        try startThread(named: "reader") {
            guard let reader = Reader(hub: hub, settings: settings) else { return hub.post(.readerEnded) }
            reader.run()
        }
        try uploaders.start(hub.uploaders.main, configurator.inForce)
        startUploaders()
    }

    /// Those of the destinations that are configured and have none yet; the others are told to end.
    private func startUploaders() {
        do {
            let started = try uploaders.follow(configurator.inForce)
            for name in started { lifecycle.started(UploaderThreads.name(of: name)) }
        } catch {
            Log.error(.started, "an uploader could not be started: " + error.description)
        }
    }

    private var nextDeadline: BootInstant? {
        [server.deadline, lifecycle.stopBy, watchdog?.next, memory.dueAt].compactMap(\.self).min()
    }

    // MARK: The end

    private func stop(now: BootInstant) {
        guard lifecycle.stop(now: now) else { return }
        Notifier.stopping()
        hub.board.isStopping.store(true, ordering: .relaxed)
        hub.reader.deliver(.end)
        hub.post(toUploaders: .end)
    }

    private func end() -> Int32 {
        server.removeSocket()
        guard lifecycle.running.isEmpty else {
            // Its work is safe: what was stored is stored, and what was being sent is sent again.
            let hanging = lifecycle.running.sorted().joined(separator: ", ")
            Log.warning(.stopped, "stopped without waiting for: " + hanging)
            return 0
        }
        hub.store.close()
        Log.notice(.stopped, "beekond has stopped")
        return lifecycle.stopBy == nil ? 70 : 0
    }

    private func threadEnded(_ name: String, now: BootInstant) {
        guard !lifecycle.ended(name) else { return }
        Log.error(.stopped, "the \(name) cannot work here: no memory, or an unfit libgps, libcurl or zlib")
        stop(now: now)
    }

    /// That of a destination which is not configured any more ends, and may be wanted again by now.
    private func uploaderEnded(_ name: DestinationName, now: BootInstant) {
        guard uploaders.ended(name), lifecycle.stopBy == nil else {
            return threadEnded(UploaderThreads.name(of: name), now: now)
        }
        _ = lifecycle.ended(UploaderThreads.name(of: name))
        startUploaders()
    }

    // MARK: What comes in

    private func handle(_ signal: Signals.Signal, now: BootInstant) {
        switch signal {
        case .terminate: stop(now: now)
        case .reload:
            // Nobody waits for it. What goes wrong is logged by those who meet it.
            _ = try? dispatcher.dispatch(.reload, by: .hangup, now: now)
        }
    }

    private func handle(_ message: MainMessage, now: BootInstant) {
        switch message {
        case .completed(let token, let result):
            if dispatcher.complete(token, result, now: now) { memory.schedule(now: now) }
        case .settingsApplied(let result):
            configurator.finish(result, hub)
            network.watch(configurator.loaded.settings.uploads)
            if lifecycle.stopBy == nil { startUploaders() }
            // To read a configuration takes a megabyte, of which nothing remains.
            memory.schedule(now: now)
        case .crossed(let event): server.publish(Wire.Event(event), now: now)
        case .location(let location): server.publish(Wire.Event(location), now: now)
        case .requestEnded(let name, let record): server.publish(Wire.Event(record, of: name), now: now)
        case .stateChanged(let change):
            lifecycle.resumed()
            publish(Wire.Event(change), now: now)
        case .sourceChanged: publish(status.sourceEvent(), now: now)
        case .syncChanged(let name): publish(status.syncEvent(of: name, now: now), now: now)
        case .authChanged(let name): publish(status.authEvent(of: name), now: now)
        case .readerEnded: threadEnded("reader", now: now)
        case .uploaderEnded(let name): uploaderEnded(name, now: now)
        }
    }

    /// To subscribers, and in short to the service manager.
    private func publish(_ event: Wire.Event, now: BootInstant) {
        server.publish(event, now: now)
        let reader = hub.board.readerSnapshot
        let pending = hub.store.counts().pending
        let text = "\(reader.state.rawValue), receiver \(reader.health.rawValue), \(pending) pending"
        if text != statusText { Notifier.status(text) }
        statusText = text
    }

    private func noteNetwork(now: BootInstant) {
        for outage in network.outages(now: now) where hub.store.counts().hasPending {
            hub.post(toUploaders: .trigger(.networkReturned(outage: outage)))
        }
    }

    private func feedWatchdog(now: BootInstant) {
        let busy =
            [("reader", hub.board.readerWork.busyFor(now))]
            + hub.uploaders.all.map { (UploaderThreads.name(of: $0.name), $0.work.busyFor(now)) }
        switch watchdog?.look(now: now, busy: busy) {
        case nil, .wait: break
        case .feed: Notifier.feedWatchdog()
        case .starve(let stuck):
            guard !stuck.isEmpty else { return }
            Log.error(.threadStuck, "stuck for two minutes: " + stuck.joined(separator: ", "))
        }
    }
}

extension StoreOptions {
    init(_ settings: Settings) {
        self.init(
            retention: settings.store.retentionDays * 86_400, maxRows: settings.store.maxRows,
            durability: settings.store.durability == .full ? .full : .normal,
            keepsUploaded: settings.store.keepUploaded,
            destinations: settings.owedDestinations,
            holdsRows: settings.holdsRows)
    }
}

extension Settings {
    /// Those that every row is owed to.
    fileprivate var owedDestinations: [StoreOptions.Destination] {
        var owed = allDestinations.filter { $0.sync.deliver == .all }.compactMap { destination in
            DestinationName(destination.name).map {
                StoreOptions.Destination($0, carriesEvents: destination.sync.format.carriesEvents)
            }
        }
        // Its url waits for an approval.
        if sync == nil, awaitsSync { owed.insert(StoreOptions.Destination(.main), at: 0) }
        return owed
    }
}
