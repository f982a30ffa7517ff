internal import Base
internal import DaemonConfiguration
internal import Linux
internal import Tracking

/// The configuration in force, and its changes: one at a time, each durable and applied by the reader, and adopted by the
/// uploaders, before it is answered. Confined to the main thread.
final class Configurator {
    /// A change that is asked for.
    enum Request {
        case set([String: ProposedValue], by: Caller)
        case reset([String])
        /// The server sets its own.
        case serve([String: ProposedValue])
        /// The server's are taken back, by itself or by somebody here; nil: all of them.
        case resetServed([String]?, byServer: Bool)
        /// Read all files again.
        case reload
    }

    /// A change, which is in force once the reader has applied it.
    private struct Change {
        var layers: Layers
        /// The settings made while running here, and by the server.
        var local: RuntimeSettings.LoadResult
        var server: RuntimeSettings.LoadResult
        var result: Layers.Result
        /// The files have been read again, and are good.
        var isFromFiles = false
        /// What the disk has to hold first.
        var kept = NewSettings.Kept.nothing
        /// What the server asks for with it; nil when it does not.
        var serverRequest: Wish.ServerRequest?
        /// How many settings it takes back, where somebody wants to know.
        var removed = 0
        /// For a server: those of its settings that are set here as well, and have another value. nil: no server asks.
        var overridden: [String]?
        /// For the log, once it is done.
        var notice: (event: Log.Event, text: String)?
        var warnings: [(event: Log.Event, text: String)] = []
    }

    /// A change that is in force, and that not all uploaders go by yet.
    private struct Adoption {
        /// nil: nobody waits for it.
        var token: Token?
        var removed: Int
        /// When to answer at the latest; the answer then names the uploaders that are late.
        let until: BootInstant
    }

    /// Seconds that uploaders have: none waits for a request, only for the disk.
    private static let patience = 2.0
    /// How many changes may wait: one for each connection, and a few whose clients have gone.
    private static let limit = 64

    private let options: Daemon.Options
    private let local: RuntimeSettings
    private let server: RuntimeSettings
    private let lastGood: LastGoodConfiguration
    private var present: Change
    /// The files are bad: earlier ones are in force.
    private var isStale = false
    /// Counts the changes that have come into force.
    private(set) var revision = 0
    private var waiting: [(request: Request, token: Token)] = []
    private var underWay: (change: Change, token: Token)?
    private var adoption: Adoption?

    /// Reads the configuration, or the last good one when the files are bad; then what was set while running.
    ///
    /// - Throws: when there is none that is good.
    init(_ options: Daemon.Options, _ directory: StateDirectory) throws(ConfigurationError) {
        self.options = options
        local = RuntimeSettings(directory)
        server = RuntimeSettings(directory, of: .server)
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
        present = Self.change(to: layers, local.load(), server.load())
        Log.use(present.result.loaded.settings)
        report(present)
        reportInForce(
            present.local.values.keys.filter { present.result.leftOut[$0] == nil }, "made while running")
        reportInForce(Array(present.result.server.inForce), "of the server")
    }

    private func reportInForce(_ names: [String], _ whose: String) {
        guard !names.isEmpty else { return }
        let verb = names.count == 1 ? "setting \(whose) is" : "settings \(whose) are"
        Log.notice(.settingsChanged, "\(names.count) \(verb) in force: \(Self.list(names))")
    }

    /// In force.
    var loaded: Loaded { present.result.loaded }

    var inForce: SettingsInForce { SettingsInForce(revision: revision, settings: loaded.settings) }

    /// Not everything that was configured is in force.
    var isDegraded: Bool {
        isStale || present.local.complaint != nil || present.server.complaint != nil
            || !present.result.leftOut.isEmpty || !present.result.server.leftOut.isEmpty
    }

    /// Settings of the server that are set here as well, and have that value.
    var overridden: Set<String> { present.result.server.overridden }

    /// Carries out a request, after those that came before it.
    ///
    /// - Parameter token: is completed when that is done.
    func ask(_ request: Request, _ token: Token, _ hub: Hub) {
        // A reader that hangs must not let a client fill the memory.
        guard waiting.count < Self.limit else {
            let failure = CommandFailure(reason: "too many changes wait for the disk")
            return hub.complete(token, .failure(failure))
        }
        waiting.append((request, token))
        proceed(hub)
    }

    /// The reader has applied the change under way, or could not. Then it is for the uploaders, whose threads may begin or end
    /// with it: `settle` is to be asked next.
    func finish(_ result: Result<Void, CommandFailure>, _ hub: Hub, now: BootInstant) {
        guard let (change, token) = underWay else { return }
        underWay = nil
        switch result {
        case .success:
            if change.isFromFiles { isStale = false }
            present = change
            revision += 1
            for port in hub.uploaders.all { port.settings.put(inForce) }
            report(change)
            Log.use(loaded.settings)
            adoption = Adoption(
                token: token, removed: change.removed, until: now.advanced(bySeconds: Self.patience))
            guard let overridden = change.overridden else { return }
            // Its uploader has this carried out, and may be one of those.
            adoption?.token = nil
            hub.complete(token, .success(.configured(overridden: overridden)))
        case .failure(let failure):
            hub.complete(token, .failure(failure))
            proceed(hub)
        }
    }

    /// When the uploaders have had their time; nil: they go by what is in force.
    var deadline: BootInstant? { adoption?.until }

    /// Answers a change that all uploaders have adopted, or after their time, and goes on with the next.
    ///
    /// - Parameter late: destinations that do not go by the settings in force yet.
    func settle(late: @autoclosure () -> [DestinationName], _ hub: Hub, now: BootInstant) {
        guard let adopted = adoption else { return }
        let late = late()
        guard late.isEmpty || now >= adopted.until else { return }
        adoption = nil
        if !late.isEmpty {
            Log.warning(
                .settingsChanged,
                "the settings are in force, but these destinations are still busy with what they did before: "
                    + Self.list(late.map(\.text)))
        }
        if let token = adopted.token {
            hub.complete(token, .success(.adopted(removed: adopted.removed, late: late)))
        }
        proceed(hub)
    }

    private func proceed(_ hub: Hub) {
        while underWay == nil, adoption == nil, !waiting.isEmpty {
            let (request, token) = waiting.removeFirst()
            do throws(CommandFailure) {
                let change = try plan(request)
                var new = NewSettings(revision: revision + 1, settings: change.result.loaded.settings)
                new.kept = change.isFromFiles ? .files(lastGood, options) : change.kept
                new.serverRequest = change.serverRequest
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

    /// The change that a request leads to, by whose settings it is about. Nothing is written yet.
    private func plan(_ request: Request) throws(CommandFailure) -> Change {
        let (runtime, approved, served) = (
            present.local.values, present.local.approved, present.server.values
        )
        switch request {
        case .set(let offers, let caller):
            return try planLocal("set while running", Array(offers.keys)) { layers throws(Layers.Refusal) in
                try layers.decide(
                    setting: offers, over: runtime, approved: approved, server: served,
                    asRoot: Authority.decideExposingSecrets(for: caller.origin) == .granted)
            }
        case .reset(let names):
            return try planLocal("no longer set while running", names) { layers throws(Layers.Refusal) in
                try layers.decide(resetting: names, over: runtime, approved: approved, server: served)
            }
        case .serve(let offers):
            var change = try planServed("set by the server", Array(offers.keys)) {
                () throws(Layers.Refusal) in
                try present.layers.decide(
                    serverSetting: offers, over: served, below: runtime, approved: approved)
            }
            change.serverRequest = Self.serverRequest(for: Array(offers.keys))
            let overridden = change.result.server.overridden.intersection(offers.keys)
            change.overridden = overridden.sorted()
            return change
        case .resetServed(let names, let byServer):
            let gone = names.map { Set($0).intersection(served.keys) } ?? Set(served.keys)
            var change = try planServed("no longer set by the server", Array(gone)) {
                () throws(Layers.Refusal) in
                try present.layers.decide(
                    serverResetting: names, over: served, below: runtime, approved: approved,
                    byServer: byServer)
            }
            if byServer {
                change.serverRequest = Self.serverRequest(for: names ?? [])
                change.overridden = []
            }
            change.removed = gone.count
            return change
        case .reload: return try reload()
        }
    }

    /// What changes when tracking begins by itself is not for the server while a person's stop holds.
    private static func serverRequest(for names: [String]) -> Wish.ServerRequest {
        names.contains { Key.decidesWhenToTrack($0) } ? .setSchedule : .harmless
    }

    /// A change of the settings made here. The file of the server's stays as it is.
    private func planLocal(
        _ what: String, _ names: [String], _ decide: (Layers) throws(Layers.Refusal) -> Layers.Decision
    ) throws(CommandFailure) -> Change {
        var layers = present.layers
        // Settings that were lost count as replaced once anybody changes one.
        layers.lacksRuntime = false
        let old = present.local
        var change = try plan(layers, what, names, old) { () throws(Layers.Refusal) in try decide(layers) }
        if old.isLost || change.local.values != old.values || change.local.approved != old.approved {
            change.kept = try kept(local, change.local)
        }
        return change
    }

    /// A change of the server's settings. The file of those made here stays as it is.
    private func planServed(
        _ what: String, _ names: [String], _ decide: () throws(Layers.Refusal) -> Layers.Decision
    ) throws(CommandFailure) -> Change {
        let old = present.server
        var change = try plan(present.layers, what, names, old, decide)
        change.local = present.local
        change.server.complaint = nil
        if old.complaint != nil || change.server.values != old.values {
            change.kept = try kept(server, change.server)
        }
        return change
    }

    private func kept(
        _ file: RuntimeSettings, _ content: RuntimeSettings.LoadResult
    ) throws(CommandFailure) -> NewSettings.Kept {
        do {
            return .runtime(file, try RuntimeSettings.encode(content.values, approved: content.approved))
        } catch {
            throw CommandFailure(reason: "\(error)")
        }
    }

    /// What `planLocal` and `planServed` have in common: decides, says why a change is refused, and collects what the log is
    /// told of it.
    ///
    /// - Parameter old: the settings that are changed.
    private func plan(
        _ layers: Layers, _ what: String, _ names: [String], _ old: RuntimeSettings.LoadResult,
        _ decide: () throws(Layers.Refusal) -> Layers.Decision
    ) throws(CommandFailure) -> Change {
        if old.isUnreadable { throw CommandFailure(reason: old.complaint ?? "") }
        let decision: Layers.Decision
        do { decision = try decide() } catch {
            if error.isDenied {
                throw CommandFailure(kind: .denied, reason: "\(error.key) \(error.reason)")
            }
            throw CommandFailure(kind: .setting(key: error.key), reason: error.reason)
        }
        var change = Change(
            layers: layers,
            local: RuntimeSettings.LoadResult(values: decision.runtime, approved: decision.approved),
            server: present.server, result: decision.result)
        change.server.values = decision.server
        if !names.isEmpty { change.notice = (.settingsChanged, "\(what): \(Self.list(names))") }
        let news = decision.result.loaded.warnings.filter { !loaded.warnings.contains($0) }
        change.warnings = (decision.notes + news).map { (.configuration, $0) }
        let known = present.result.server.leftOut
        change.warnings += Self.warnings(
            ofServed: decision.result.server.leftOut.filter { known[$0.key] == nil })
        return change
    }

    /// A bad file changes nothing.
    private func reload() throws(CommandFailure) -> Change {
        do {
            var change = Self.change(to: try Self.read(options), local.load(), server.load())
            change.notice = (.configuration, "the configuration has been read again")
            return change
        } catch {
            isStale = true
            Log.error(.configuration, "the configuration is bad, nothing was changed: \(error.description)")
            let first = error.problems.first
            let place = first.map { $0.line > 0 ? "\($0.file):\($0.line)" : $0.file } ?? options.file
            let others = error.problems.count - 1
            let more = others > 0 ? "; \(others) more in the log" : ""
            throw CommandFailure(
                kind: .setting(key: first?.key ?? place),
                reason: (first?.key == nil ? "" : place + ": ") + (first?.message ?? "") + more)
        }
    }

    private static func read(_ options: Daemon.Options) throws(ConfigurationError) -> Layers {
        try Loader.layers(file: options.file, isDefaultPath: options.configuration == nil)
    }

    private static func change(
        to layers: Layers, _ local: RuntimeSettings.LoadResult, _ server: RuntimeSettings.LoadResult
    ) -> Change {
        var layers = layers
        layers.lacksRuntime = local.isLost
        let result = layers.loaded(with: local.values, approved: local.approved, server: server.values)
        let leftOut = result.leftOut.sorted { $0.key < $1.key }.map { name, reason in
            "\(list([name])), set while running, is left out: \(reason); "
                + "beekonctl config unset takes it back"
        }
        var change = Change(
            layers: layers, local: local, server: server, result: result, isFromFiles: true,
            warnings: result.loaded.warnings.map { (.configuration, $0) }
                + leftOut.map { (.settingsLeftOut, $0) } + warnings(ofServed: result.server.leftOut))
        if !result.server.withheld.isEmpty {
            let names = list(result.server.withheld)
            change.warnings.append(
                (.configuration, "not in force, because the files do not let the server set them: \(names)"))
        }
        return change
    }

    private static func warnings(ofServed leftOut: [String: String]) -> [(event: Log.Event, text: String)] {
        leftOut.sorted { $0.key < $1.key }.map { name, reason in
            (
                .settingsLeftOut,
                "\(list([name])), set by the server, is left out: \(reason); "
                    + "beekonctl config unset --server takes it back"
            )
        }
    }

    private func report(_ change: Change) {
        if let notice = change.notice { Log.notice(notice.event, notice.text) }
        for warning in change.warnings { Log.warning(warning.event, warning.text) }
        for complaint in [change.local.complaint, change.server.complaint].compactMap(\.self) {
            Log.error(.settingsLeftOut, complaint)
        }
    }

    /// Names of settings for a line of the log, none of them long.
    static func list(_ names: some Collection<String>) -> String {
        let shown = names.sorted().prefix(40).map { $0.count > 80 ? $0.prefix(79) + "…" : $0 }
        return (shown + (names.count > 40 ? ["and \(names.count - 40) more"] : [])).joined(separator: ", ")
    }
}
