internal import Base
internal import ControlProtocol
internal import DaemonConfiguration
internal import GPSD
internal import Linux
internal import Storage
internal import Synchronization
internal import Tracking
internal import Upload

/// The main thread: signals, the control socket, the watchdog, the network's coming and going, and the order of the end.
final class Supervisor: Turns {
    private let signals: Signals
    private let hub: Hub
    private let configurator: Configurator
    private let dispatcher: Dispatcher
    private let serverCommands: ServerCommands
    private let status: StatusReport
    private let server: ControlServer
    private let uploaders: UploaderThreads
    private var lifecycle = Lifecycle(running: ["reader", UploaderThreads.name(of: .main)])
    private let network: NetworkWatch
    private let metered: MeteredWatch
    private var isReady = false
    /// Clients can connect.
    private var isServing = false
    private var memory = MemoryRelease()
    private var manager: ServiceManager
    private var work = WorkWatch()

    init(
        _ options: Daemon.Options, _ signals: consuming Signals, _ directory: StateDirectory,
        _ configurator: Configurator, _ place: consuming SocketPlace, startedAt: BootInstant
    ) throws {
        self.signals = signals
        self.configurator = configurator
        let settings = configurator.loaded.settings
        let long = LongStart()
        defer { long?.end() }
        let identification = Identification(
            directory, root: options.machineRoot, at: WallClock().time(now: startedAt))
        let installation = try identification.find()
        let lacksDatabase =
            installation.hadDatabase
            && DatabaseFiles(in: directory.path, on: directory.files).isMissing
        let store = try Store(
            directory: directory.path, options: StoreOptions(settings), on: directory.files)
        hub = try Hub(store: store, files: SmallFiles(directory), startedAt: startedAt)
        for event in store.takeEvents() { event.report(hub.board) }
        for trouble in installation.troubles { hub.board.note(damaged: trouble.name) }
        if lacksDatabase { hub.reportMissingDatabase(in: directory.path) }
        identification.noteDatabase()
        dispatcher = Dispatcher(hub: hub, configurator: configurator)
        serverCommands = ServerCommands(hub: hub, configurator: configurator, dispatcher: dispatcher)
        status = StatusReport(
            hub: hub, configurator: configurator, directory: directory, installID: installation.id,
            startedAt: startedAt)
        server = try ControlServer(
            in: place,
            handlers: Handlers(
                hub: hub, configurator: configurator, dispatcher: dispatcher, status: status))
        uploaders = UploaderThreads(hub: hub, directory: directory, installID: installation.id)
        network = NetworkWatch(now: startedAt)
        metered = MeteredWatch(board: hub.board)
        memory.schedule(now: startedAt)
        manager = ServiceManager(now: startedAt)
        watchNetwork(settings, now: startedAt)
    }

    /// Starts the threads and serves until the end.
    ///
    /// - Returns: the exit code.
    func run() -> Int32 {
        do {
            try startThreads()
        } catch {
            Log.error(.started, error.description)
            return 71
        }
        run(hub.clock)
        return end()
    }

    func turn(now: BootInstant, stopwatch _: Stopwatch, after rest: Rest) -> Rest? {
        if rest.isReadable(0) { for signal in signals.receive() { handle(signal, now: now) } }
        server.miss(hub.takeUnheard())
        for message in hub.main.takeAll() { handle(message, now: now) }
        // Whoever ends begins nothing.
        configurator.settle(
            late: lifecycle.stopBy == nil ? uploaders.late(for: configurator.inForce) : [], hub, now: now)
        tellReady(now: now)
        if rest.isReadable(2) { noteNetwork(now: now) }
        if metered.serve(now: now) { hub.post(toUploaders: .routesChanged) }
        if isServing { server.serve(rest, now: now) }
        feedWatchdog(now: now)
        memory.runIfDue(now: now)
        return lifecycle.isOver(now: now) ? nil : self.rest(now: now)
    }

    /// What it shows is the others', and clients are answered as they come.
    func publish(now: BootInstant) {}
    func answer() {}

    private func rest(now: BootInstant) -> Rest {
        var rest = Rest()
        rest.add(signals.raw)
        rest.add(hub.main.wakeup.descriptor)
        rest.add(network.raw)
        metered.add(to: &rest)
        isServing = isReady
        if isServing { server.addTo(&rest, at: 4) }
        let deadlines = [
            server.deadline, lifecycle.stopBy, manager.due, memory.dueAt, metered.deadline(now: now),
            configurator.deadline,
        ]
        for deadline in deadlines { rest.end(by: deadline) }
        return rest
    }

    private func startThreads() throws(SystemError) {
        let (hub, settings) = (hub, configurator.loaded.settings)
        try startThread(named: "reader") {
            guard let reader = Reader(hub: hub, settings: settings) else { return hub.post(.readerEnded) }
            reader.run(hub.clock, watchedBy: hub.board.readerWork)
        }
        try uploaders.start(hub.uploaders.main, configurator.inForce)
        startUploaders(isAtStart: true)
    }

    /// Once every thread has shown what it starts with.
    private func tellReady(now: BootInstant) {
        guard !isReady, lifecycle.stopBy == nil else { return }
        guard lifecycle.isReady else { return manager.begin(now: now, busy: busy(now)) }
        isReady = true
        Log.notice(.started, "beekond \(Release.version) is running, state in \(status.directory.path)")
        manager.ready()
    }

    /// Starts an uploader for each configured destination that has none yet, and tells the others to end.
    private func startUploaders(isAtStart: Bool = false) {
        do {
            let started = try uploaders.follow(configurator.inForce)
            for name in started {
                lifecycle.started(UploaderThreads.name(of: name), isAtStart: isAtStart)
            }
        } catch {
            Log.error(.started, "an uploader could not be started: " + error.description)
        }
    }

    // MARK: The end

    private func stop(now: BootInstant) {
        guard lifecycle.stop(now: now) else { return }
        manager.stopping()
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
        Log.error(.stopped, "the \(name) cannot work here: no memory, or an unfit libgps or libcurl")
        stop(now: now)
    }

    /// The uploader of a destination has ended because it is not configured any more; it may be wanted again
    /// by now.
    private func uploaderEnded(_ name: DestinationName, now: BootInstant) {
        guard uploaders.ended(name), lifecycle.stopBy == nil else {
            return threadEnded(UploaderThreads.name(of: name), now: now)
        }
        _ = lifecycle.ended(UploaderThreads.name(of: name))
        hub.uploaders.main.deliver(.otherEnded)
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
            configurator.finish(result, hub, now: now)
            watchNetwork(configurator.loaded.settings, now: now)
            if lifecycle.stopBy == nil { startUploaders() }
            // To read a configuration takes a megabyte, of which nothing remains.
            memory.schedule(now: now)
        case .crossed(let event): server.publish(Wire.Event(event), now: now)
        case .happened(let event): server.publish(Wire.Event(event), now: now)
        case .location(let location): server.publish(Wire.Event(location), now: now)
        case .runCommand(let record): serverCommands.run(record, now: now)
        case .commandDone(let record): server.publish(Wire.Event(record), now: now)
        case .requestEnded(let name, let record): server.publish(Wire.Event(record, of: name), now: now)
        case .stateChanged(let change):
            lifecycle.published("reader")
            publish(Wire.Event(change), now: now)
        case .sourceChanged: publish(status.sourceEvent(), now: now)
        case .syncChanged(let name): publish(status.syncEvent(of: name, now: now), now: now)
        case .authChanged(let name): publish(status.authEvent(of: name), now: now)
        case .settingsAdopted(let name): lifecycle.published(UploaderThreads.name(of: name))
        case .readerEnded: threadEnded("reader", now: now)
        case .uploaderEnded(let name): uploaderEnded(name, now: now)
        }
    }

    /// To subscribers, and in short to the service manager.
    private func publish(_ event: Wire.Event, now: BootInstant) {
        server.publish(event, now: now)
        let reader = hub.board.readerSnapshot
        let pending = hub.store.counts().pending
        manager.show("\(reader.state.rawValue), receiver \(reader.health.rawValue), \(pending) pending")
    }

    private func watchNetwork(_ settings: Settings, now: BootInstant) {
        network.watch(settings.uploads)
        metered.watch(settings.avoidsMetered, now: now)
    }

    private func noteNetwork(now: BootInstant) {
        let hasLatestOnly = configurator.loaded.settings.hasLatestOnly
        for outage in network.outages(now: now) where hasLatestOnly || hub.store.counts().hasPending {
            hub.post(toUploaders: .trigger(.networkReturned(outage: outage)))
        }
        guard network.hasChanged else { return }
        network.hasChanged = false
        if configurator.loaded.settings.avoidsMetered { hub.post(toUploaders: .routesChanged) }
    }

    private func feedWatchdog(now: BootInstant) {
        manager.feed(now: now, busy: busy(now))
    }

    /// For how many seconds each thread has been at the same piece of work.
    private func busy(_ now: BootInstant) -> [(name: String, seconds: Double)] {
        let uploaders = hub.uploaders.all.map { (UploaderThreads.name(of: $0.name), $0.work) }
        return work.busy(
            [("reader", hub.board.readerWork)] + uploaders, salvaged: hub.store.salvage.pieces, now: now)
    }
}

extension StoreOptions {
    init(_ settings: Settings) {
        self.init(
            retention: settings.store.retentionDays * 86_400, maxRows: settings.store.maxRows,
            durability: settings.store.durability == .full ? .full : .normal,
            keepsUploaded: settings.store.keepUploaded,
            destinations: settings.owedDestinations,
            unsentRetention: settings.store.unsentDays > 0 ? settings.store.unsentDays * 86_400 : nil,
            holdsRows: settings.holdsRows,
            uploadedEvents: Set(
                settings.vehicle.events.compactMap { VehicleEvent.Kind(rawValue: $0.rawValue) }))
    }
}

extension Settings {
    /// Whether some upload waits while its route is metered.
    fileprivate var avoidsMetered: Bool { allDestinations.contains { $0.sync.triggers.metered != nil } }

    /// Destinations that are to get every row.
    fileprivate var owedDestinations: [StoreOptions.Destination] {
        var owed = allDestinations.filter { !$0.sync.isLatestOnly }.compactMap { destination in
            DestinationName(destination.name).map {
                StoreOptions.Destination(
                    $0, carriesEvents: destination.sync.format.carriesEvents,
                    carriesCrossings: destination.sync.geofenceEvents,
                    carriesVehicleEvents: destination.sync.format.carriesVehicleEvents)
            }
        }
        // Its url waits for an approval.
        if sync == nil, awaitsSync { owed.insert(StoreOptions.Destination(.main), at: 0) }
        return owed
    }
}
