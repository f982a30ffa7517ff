internal import DaemonConfiguration
internal import Linux

/// The configuration in force, and its changes: one at a time, each durable and applied by the reader before it is answered.
/// Confined to the main thread.
final class Configurator {
    /// A change that is asked for.
    enum Request {
        case set([String: ProposedValue], by: Caller)
        case reset([String])
        /// Read all files again.
        case reload
    }

    /// A change, which is in force once the reader has applied it.
    private struct Change {
        var layers: Layers
        var runtime: [String: SettingValue]
        /// What root has approved: see `Layers.Decision`.
        var approved: Set<String>
        var result: Layers.Result
        /// What is wrong with the file of the settings made while running.
        var complaint: String?
        var isUnreadable = false
        /// The files have been read again, and are good.
        var isFromFiles = false
        /// What that file has to contain first.
        var bytes: [UInt8]?
        /// For the log, once it is done.
        var notice: (event: Log.Event, text: String)?
        var warnings: [(event: Log.Event, text: String)] = []
    }

    /// How many changes may wait: one for each connection, and a few whose clients have gone.
    private static let limit = 64

    private let options: Daemon.Options
    private let file: RuntimeSettings
    private let lastGood: LastGoodConfiguration
    private var present: Change
    /// The files are bad: earlier ones are in force.
    private var isStale = false
    /// Counts the changes that have come into force.
    private var revision = 0
    private var waiting: [(request: Request, token: Token)] = []
    private var underWay: (change: Change, token: Token)?

    /// Reads the configuration, or the last good one when the files are bad; then what was set while running.
    ///
    /// - Throws: when there is none that is good.
    init(_ options: Daemon.Options, _ directory: StateDirectory) throws(ConfigurationError) {
        self.options = options
        file = RuntimeSettings(directory)
        lastGood = LastGoodConfiguration(directory)
        let layers: Layers
        do {
            layers = try Self.read(options)
            lastGood.keep(options)
        } catch {
            guard let last = lastGood.load(options) else { throw error }
            Log.error(
                .configuration, "the configuration is bad, the last good one is used: \(error.description)")
            layers = last
            isStale = true
        }
        present = Self.change(to: layers, file.load())
        Log.use(present.result.loaded.settings)
        report(present)
        let inForce = present.runtime.keys.filter { present.result.leftOut[$0] == nil }
        if !inForce.isEmpty {
            let verb =
                inForce.count == 1 ? "setting made while running is" : "settings made while running are"
            Log.notice(.settingsChanged, "\(inForce.count) \(verb) in force: \(Self.list(inForce))")
        }
    }

    /// In force.
    var loaded: Loaded { present.result.loaded }

    var inForce: SettingsInForce { SettingsInForce(revision: revision, settings: loaded.settings) }

    /// Not everything that was configured is in force.
    var isDegraded: Bool { isStale || present.complaint != nil || !present.result.leftOut.isEmpty }

    /// Carries out a request, after those that came before it.
    ///
    /// - Parameter token: is completed when that is done.
    func ask(_ request: Request, _ token: Token, _ hub: Hub) {
        // A reader that hangs must not let a client fill the memory.
        guard waiting.count < Self.limit else {
            let failure = Failure(reason: "too many changes wait for the disk")
            return hub.complete(token, .failure(failure))
        }
        waiting.append((request, token))
        proceed(hub)
    }

    /// The reader has applied the change under way, or could not.
    func finish(_ result: Result<Void, Failure>, _ hub: Hub) {
        guard let (change, token) = underWay else { return }
        underWay = nil
        if case .success = result {
            if change.isFromFiles { isStale = false }
            present = change
            revision += 1
            for port in hub.uploaders.all { port.settings.put(inForce) }
            report(change)
            Log.use(loaded.settings)
        }
        hub.complete(token, result.map { .done })
        proceed(hub)
    }

    private func proceed(_ hub: Hub) {
        while underWay == nil, !waiting.isEmpty {
            let (request, token) = waiting.removeFirst()
            do throws(Failure) {
                let change = try plan(request)
                var new = NewSettings(settings: change.result.loaded.settings)
                if let bytes = change.bytes { new.kept = .runtime(file, bytes) }
                if change.isFromFiles { new.kept = .files(lastGood, options) }
                // One is under way at a time: this replaces none.
                hub.readerSettings.put(new)
                underWay = (change, token)
            } catch {
                if case (.set(_, let caller), .denied) = (request, error.kind) {
                    Log.warning(
                        .control, "\(caller.request) denied to \(caller.name): \(error.reason)",
                        caller.fields)
                }
                hub.complete(token, .failure(error))
            }
        }
    }

    // MARK: Decisions

    private func plan(_ request: Request) throws(Failure) -> Change {
        var layers = present.layers
        // Settings that were lost count as replaced once anybody changes one.
        layers.lacksRuntime = false
        let (runtime, approved) = (present.runtime, present.approved)
        switch request {
        case .set(let offers, let caller):
            return try plan(layers, "set while running", Array(offers.keys)) { () throws(Layers.Refusal) in
                try layers.decide(
                    setting: offers, over: runtime, approved: approved,
                    asRoot: Authority.decideExposingSecrets(for: caller.origin) == .granted)
            }
        case .reset(let names):
            return try plan(layers, "no longer set while running", names) { () throws(Layers.Refusal) in
                try layers.decide(resetting: names, over: runtime, approved: approved)
            }
        case .reload: return try reload()
        }
    }

    private func plan(
        _ layers: Layers, _ what: String, _ names: [String],
        _ decide: () throws(Layers.Refusal) -> Layers.Decision
    ) throws(Failure) -> Change {
        if present.isUnreadable { throw Failure(reason: present.complaint ?? "") }
        let decision: Layers.Decision
        do { decision = try decide() } catch {
            if error.isDenied {
                throw Failure(kind: .denied, reason: "\(error.key) \(error.reason)")
            }
            throw Failure(kind: .setting(key: error.key), reason: error.reason)
        }
        var change = Change(
            layers: layers, runtime: decision.runtime, approved: decision.approved,
            result: decision.result)
        if present.layers.lacksRuntime || decision.runtime != present.runtime
            || decision.approved != present.approved
        {
            do {
                change.bytes = try RuntimeSettings.encode(decision.runtime, approved: decision.approved)
            } catch {
                throw Failure(reason: "\(error)")
            }
        }
        if !names.isEmpty { change.notice = (.settingsChanged, "\(what): \(Self.list(names))") }
        let news = decision.result.loaded.warnings.filter { !loaded.warnings.contains($0) }
        change.warnings = (decision.notes + news).map { (.configuration, $0) }
        return change
    }

    /// A bad file changes nothing.
    private func reload() throws(Failure) -> Change {
        do {
            var change = Self.change(to: try Self.read(options), file.load())
            change.notice = (.configuration, "the configuration has been read again")
            return change
        } catch {
            isStale = true
            Log.error(.configuration, "the configuration is bad, nothing was changed: \(error.description)")
            let first = error.problems.first
            let place = first.map { $0.line > 0 ? "\($0.file):\($0.line)" : $0.file } ?? options.file
            let others = error.problems.count - 1
            let more = others > 0 ? "; \(others) more in the log" : ""
            throw Failure(
                kind: .setting(key: first?.key ?? place),
                reason: (first?.key == nil ? "" : place + ": ") + (first?.message ?? "") + more)
        }
    }

    private static func read(_ options: Daemon.Options) throws(ConfigurationError) -> Layers {
        try Loader.layers(file: options.file, isDefaultPath: options.configuration == nil)
    }

    private static func change(to layers: Layers, _ found: RuntimeSettings.LoadResult) -> Change {
        var layers = layers
        layers.lacksRuntime = found.isLost
        let result = layers.loaded(with: found.values, approved: found.approved)
        let leftOut = result.leftOut.sorted { $0.key < $1.key }.map { name, reason in
            "\(list([name])), set while running, is left out: \(reason); "
                + "beekonctl config unset takes it back"
        }
        return Change(
            layers: layers, runtime: found.values, approved: found.approved, result: result,
            complaint: found.complaint,
            isUnreadable: found.isUnreadable, isFromFiles: true,
            warnings: result.loaded.warnings.map { (.configuration, $0) }
                + leftOut.map { (.settingsLeftOut, $0) })
    }

    private func report(_ change: Change) {
        if let notice = change.notice { Log.notice(notice.event, notice.text) }
        for warning in change.warnings { Log.warning(warning.event, warning.text) }
        if let complaint = change.complaint { Log.error(.settingsLeftOut, complaint) }
    }

    /// Names of settings for a line of the log, none of them long.
    static func list(_ names: some Collection<String>) -> String {
        let shown = names.sorted().prefix(40).map { $0.count > 80 ? $0.prefix(79) + "…" : $0 }
        return (shown + (names.count > 40 ? ["and \(names.count - 40) more"] : [])).joined(separator: ", ")
    }
}
