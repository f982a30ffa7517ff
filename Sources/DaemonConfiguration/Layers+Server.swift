// What the server has set lies above the files and below what is set here. It is laid on what is in force without it: so no
// value of the server's can put out of force what was set here, or be needed for it.

extension Layers {
    /// What becomes of the server's settings.
    package struct ServerPart: Sendable, Equatable {
        package var inForce: Set<String> = []
        /// Set here as well, which counts more.
        package var overridden: Set<String> = []
        /// The files do not let the server set them now.
        package var withheld: Set<String> = []
        /// No good, or do not go with the rest: names, and why.
        package var leftOut: [String: String] = [:]
    }

    /// Lays the server's settings below those set here.
    ///
    /// - Parameters:
    ///   - local: what was set here and is good.
    ///   - result: what is in force with that alone.
    ///   - suspects: those of the server's that give way first.
    func laid(
        _ server: [String: SettingValue], below local: [String: SettingValue], _ result: Result,
        suspects: Set<String>
    ) -> Result {
        var part = ServerPart()
        var kept: [String: SettingValue] = [:]
        let rights = rights(among: result.loaded.settings)
        for (name, value) in server {
            if rights?.allow(name) != true {
                part.withheld.insert(name)
            } else if local[name] != nil {
                part.overridden.insert(name)
            } else if let complaint = rights?.complaint(about: name, value, batchSize: batchSize(for: name)) {
                part.leftOut[name] = complaint
            } else {
                kept[name] = value
            }
        }
        while !kept.isEmpty {
            var whole = files
            for (name, message) in whole.add(runtime: kept, from: .server) {
                part.leftOut[name] = message
                kept[name] = nil
            }
            whole.add(runtime: local)
            do throws(ConfigurationError) {
                let loaded = finished(try whole.finish(), result.leftOut)
                part.inForce = Set(kept.keys)
                return Result(loaded: loaded.withServersSettings, leftOut: result.leftOut, server: part)
            } catch {
                for (name, reason) in culprits(
                    of: error, conflicts: whole.conflicts, among: kept, suspects,
                    over: { $0.add(runtime: local) })
                {
                    part.leftOut[name] = reason
                    kept[name] = nil
                }
            }
        }
        return Result(loaded: result.loaded, leftOut: result.leftOut, server: part)
    }

    /// What is set here can take the url away for a while, and says nothing about what the server may set.
    private func rights(among settings: Settings) -> ServerRights? {
        serverRights ?? settings.serverRights ?? base.settings.serverRights
    }

    /// What the files say for the destination that a setting belongs to.
    private func batchSize(for name: String) -> Int {
        let owner = Key.named(name)?.key.owner ?? Settings.Destination.main
        let key = Key.table(of: owner) + ".batch_size"
        guard case .integer(let size)? = Key.exactly(key).flatMap({ files.value(of: $0) ?? $0.defaultValue })
        else { return 0 }
        return size
    }

    // MARK: Changes

    /// Decides about settings from the server: all of them, or none.
    ///
    /// - Parameters:
    ///   - offers: by dotted name.
    ///   - server: those it has set before.
    ///   - runtime: those set here.
    ///   - approved: see ``Decision/approved``.
    package func decide(
        serverSetting offers: [String: ProposedValue], over server: [String: SettingValue],
        below runtime: [String: SettingValue], approved: Set<String> = []
    ) throws(Refusal) -> Decision {
        guard let rights = rights(among: loaded(with: runtime, approved: approved).loaded.settings) else {
            throw Refusal(
                key: "sync.commands", reason: "the configuration files do not let the server send commands",
                isDenied: true)
        }
        guard offers.count <= Self.limit else {
            throw Refusal(
                key: offers.keys.min()?.escaped ?? "",
                reason: "one of \(offers.count) settings at once; at most \(Self.limit) are allowed")
        }
        var new = server
        var notes: [String] = []
        for (name, offer) in offers.sorted(by: { $0.key < $1.key }) {
            if Key.named(name) != nil, !rights.allow(name) { throw Self.withheld(name) }
            do throws(Key.Refusal) {
                let found = files.fitted(try files.accept(offer, for: name, from: .server), among: runtime)
                if let complaint = rights.complaint(
                    about: name, found.value, batchSize: batchSize(for: name))
                {
                    throw Key.Refusal(message: complaint)
                }
                new[name] = found.value
                if let note = found.note { notes.append("\(name.escaped): \(note)") }
            } catch { throw Refusal(key: name.escaped, reason: error.message) }
        }
        guard new.count <= Self.limit else {
            throw Refusal(
                key: offers.keys.min()?.escaped ?? "",
                reason: "there are \(server.count) settings of the server's already; at most \(Self.limit)")
        }
        let changed = Set(offers.keys)
        return try decide(
            server: (server, new), below: (runtime, approved), changed: changed, notes)
    }

    /// Decides about taking the server's settings back. What it has not set stays as it is.
    ///
    /// - Parameters:
    ///   - names: dotted; also of settings that this version does not know. nil: all of them.
    ///   - byServer: the server may name only what it may set.
    package func decide(
        serverResetting names: [String]?, over server: [String: SettingValue],
        below runtime: [String: SettingValue], approved: Set<String> = [], byServer: Bool = false
    ) throws(Refusal) -> Decision {
        let rights = rights(among: loaded(with: runtime, approved: approved).loaded.settings)
        var new = server
        for name in (names ?? Array(server.keys)).sorted() {
            guard server[name] != nil || Key.named(name) != nil else {
                throw Refusal(key: name.escaped, reason: Key.unknown(name))
            }
            if byServer, rights?.allow(name) != true { throw Self.withheld(name) }
            new[name] = nil
        }
        return try decide(server: (server, new), below: (runtime, approved), changed: [], [])
    }

    private static func withheld(_ name: String) -> Refusal {
        Refusal(
            key: name.escaped,
            reason: "is not among the settings that the configuration files let the server set",
            isDenied: true)
    }

    /// A change must not put out of force what it brings, or what was in force before.
    private func decide(
        server: (old: [String: SettingValue], new: [String: SettingValue]),
        below local: (runtime: [String: SettingValue], approved: Set<String>), changed: Set<String>,
        _ notes: [String]
    ) throws(Refusal) -> Decision {
        let before = loaded(with: local.runtime, approved: local.approved, server: server.old)
        let result = loaded(
            with: local.runtime, approved: local.approved, suspects: changed, server: server.new)
        let victims = result.server.leftOut.filter {
            changed.contains($0.key) || before.server.leftOut[$0.key] == nil
        }
        if let (name, reason) = victims.min(by: { $0.key < $1.key }) {
            throw Refusal(key: name.escaped, reason: reason)
        }
        return Decision(
            runtime: local.runtime, approved: local.approved, server: server.new, result: result, notes: notes
        )
    }
}
