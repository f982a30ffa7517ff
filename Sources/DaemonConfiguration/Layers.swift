/// The configuration files as they were read, and good by themselves: what is set while running is laid over them.
package struct Layers: Sendable {
    /// Runtime settings at most, those that are left out included: more than there are keys and extras.
    package static let limit = 1024

    let files: SettingsBuilder
    let base: Loaded
    private var forgetsSeeds = false
    /// The settings made while running are lost: until somebody makes some, nothing is deleted that they may have kept.
    package var lacksRuntime = false
    /// What the server may set, for tests; nil: what the files say.
    var serverRights: ServerRights?

    /// - Throws: what is wrong with the files.
    init(_ files: SettingsBuilder) throws(ConfigurationError) {
        self.files = files
        var whole = files
        base = try whole.finish()
    }

    /// The layers without tokens to begin with: see ``Loaded/withoutSeeds``.
    package var withoutSeeds: Layers {
        var layers = self
        layers.forgetsSeeds = true
        return layers
    }

    /// Files and runtime settings together.
    package struct Result: Sendable, Equatable {
        package let loaded: Loaded
        /// Runtime settings that are invalid, or do not go with the rest: names, and why. None of them is in force.
        package let leftOut: [String: String]
        /// What became of the server's settings.
        package var server = ServerPart()
    }

    /// Lays runtime settings over the files. Invalid ones are left out: no file of them may stop the daemon.
    ///
    /// - Parameters:
    ///   - runtime: by dotted name.
    ///   - approved: see ``Decision/approved``.
    ///   - suspects: those that give way first where some do not go together.
    ///   - server: what the server has set, by dotted name: it lies between the files and `runtime`, and gives way to both.
    package func loaded(
        with runtime: [String: SettingValue], approved: Set<String> = [], suspects: Set<String> = [],
        server: [String: SettingValue] = [:]
    ) -> Result {
        var kept = runtime
        var leftOut: [String: String] = [:]
        for (name, value) in runtime {
            guard let complaint = custodyComplaint(about: name, value, approved: approved) else { continue }
            leftOut[name] = complaint
            kept[name] = nil
        }
        let local = settled(&kept, leftOut, suspects)
        return server.isEmpty ? local : laid(server, below: kept, local, suspects: suspects)
    }

    /// - Parameter kept: what is set; afterwards only what is good.
    private func settled(
        _ kept: inout [String: SettingValue], _ leftOut: [String: String], _ suspects: Set<String>
    ) -> Result {
        var leftOut = leftOut
        while true {
            var whole = files
            for (name, message) in whole.add(runtime: kept) {
                leftOut[name] = message
                kept[name] = nil
            }
            do throws(ConfigurationError) {
                return Result(loaded: finished(try whole.finish(), leftOut), leftOut: leftOut)
            } catch {
                // The files alone are good: there is somebody to blame as long as anything is kept.
                guard !kept.isEmpty else { return Result(loaded: finished(base, leftOut), leftOut: leftOut) }
                for (name, reason) in culprits(
                    of: error, conflicts: whole.conflicts, among: kept, suspects)
                {
                    leftOut[name] = reason
                    kept[name] = nil
                }
            }
        }
    }

    /// The names in `kept` that are to blame, at least one, and why.
    ///
    /// - Parameter above: adds what is laid over them.
    func culprits(
        of error: ConfigurationError, conflicts: [String], among kept: [String: SettingValue],
        _ suspects: Set<String>, over above: (inout SettingsBuilder) -> Void = { _ in }
    ) -> [String: String] {
        let named = conflicts.filter { kept[$0] != nil }
        let names = named.isEmpty ? culprit(kept, suspects, above).map { [$0] } ?? [] : named
        let own = Dictionary(error.problems.map { ($0.key, $0.message) }) { first, _ in first }
        return Dictionary(
            names.map { ($0, own[$0.escaped] ?? error.problems.first.map(Self.clash) ?? "") }
        ) { $1 }
    }

    func finished(_ loaded: Loaded, _ leftOut: [String: String]) -> Loaded {
        var loaded = forgetsSeeds ? loaded.withoutSeeds : loaded
        if lacksRuntime { loaded = loaded.holdingRows }
        let mayHaveURL = lacksRuntime || leftOut["sync.url"] != nil
        return mayHaveURL && loaded.settings.sync == nil ? loaded.awaitingSync : loaded
    }

    private static func clash(_ problem: ConfigurationError.Problem) -> String {
        "does not go with the rest: \(problem)"
    }

    /// One without which the rest is good, else any.
    private func culprit(
        _ kept: [String: SettingValue], _ suspects: Set<String>, _ above: (inout SettingsBuilder) -> Void
    ) -> String? {
        let names = kept.keys.sorted { left, right in
            let (isLeft, isRight) = (suspects.contains(left), suspects.contains(right))
            return isLeft == isRight ? left > right : isLeft
        }
        let alone = names.first { name in
            var whole = files
            whole.add(runtime: kept.filter { $0.key != name })
            above(&whole)
            return (try? whole.finish()) != nil
        }
        return alone ?? names.first
    }
}

extension Layers {
    /// Why a change is refused as a whole.
    package struct Refusal: Error, Sendable, Equatable {
        /// The setting at fault, safe to be shown.
        package let key: String
        /// What is wrong, what is allowed, and what to do.
        package let reason: String
        /// A caller with more rights could make this change.
        package var isDenied = false
    }

    /// What a change comes to.
    package struct Decision: Sendable, Equatable {
        /// All runtime settings from now on, those that are left out included: another version may know them.
        package let runtime: [String: SettingValue]
        /// What root has approved: names of settings, each with that of a secret which it may lead elsewhere.
        package let approved: Set<String>
        /// All settings of the server from now on, those that are left out included.
        package let server: [String: SettingValue]
        /// What is in force with these values.
        package let result: Result
        /// What was changed about values to make them fit, a sentence each.
        package let notes: [String]
    }

    /// Decides about new runtime settings: all of them, or none.
    ///
    /// - Parameters:
    ///   - offers: by dotted name.
    ///   - runtime: those there are.
    ///   - approved: see ``Decision/approved``.
    ///   - server: what the server has set.
    ///   - asRoot: whether root makes the change.
    package func decide(
        setting offers: [String: ProposedValue], over runtime: [String: SettingValue],
        approved: Set<String> = [], server: [String: SettingValue] = [:],
        asRoot: Bool = false
    ) throws(Refusal) -> Decision {
        var new = runtime
        var notes: [String] = []
        guard offers.count <= Self.limit else {
            let first = offers.keys.min() ?? ""
            throw Refusal(
                key: first.escaped,
                reason: "one of \(offers.count) settings at once; at most \(Self.limit) are allowed")
        }
        var accepted: [Assignment] = []
        for (name, offer) in offers.sorted(by: { $0.key < $1.key }) {
            do throws(Key.Refusal) {
                let found = try files.accept(offer, for: name)
                accepted.append(found)
                new[name] = found.value
            } catch { throw Refusal(key: name.escaped, reason: error.message) }
        }
        for (name, found) in zip(offers.keys.sorted(), accepted) {
            let found = files.fitted(found, among: new)
            new[name] = found.value
            if let note = found.note { notes.append("\(name.escaped): \(note)") }
        }
        let changed = Set(offers.keys)
        let allowed = approvals(approved, after: changed, from: runtime, to: new, asRoot: asRoot)
        for (name, value) in new.sorted(by: { $0.key < $1.key })
        where changed.contains(name) {
            guard let complaint = custodyComplaint(about: name, value, approved: allowed) else { continue }
            throw Refusal(key: name.escaped, reason: complaint, isDenied: true)
        }
        return try decide(
            from: (runtime, approved), to: (new, allowed), server: server, changed: changed, notes)
    }

    /// Decides about taking runtime settings back: all of them, or none. What is not set while running stays as it is.
    ///
    /// - Parameters:
    ///   - names: dotted; also of settings that this version does not know.
    ///   - runtime: those there are.
    ///   - approved: see ``Decision/approved``.
    ///   - server: what the server has set.
    package func decide(
        resetting names: [String], over runtime: [String: SettingValue], approved: Set<String> = [],
        server: [String: SettingValue] = [:]
    ) throws(Refusal) -> Decision {
        var new = runtime
        for name in names.sorted() {
            guard runtime[name] != nil || Key.named(name) != nil else {
                throw Refusal(key: name.escaped, reason: Key.unknown(name))
            }
            new[name] = nil
        }
        // Resetting restores what the files say, so no approval is needed.
        let allowed = approved.filter { !names.contains(Self.setting(approvedBy: $0)) }
        return try decide(from: (runtime, approved), to: (new, allowed), server: server, changed: [], [])
    }

    /// A change must not put out of force what it brings, or what was in force before.
    private func decide(
        from old: (runtime: [String: SettingValue], approved: Set<String>),
        to new: (runtime: [String: SettingValue], approved: Set<String>),
        server: [String: SettingValue], changed: Set<String>,
        _ notes: [String]
    ) throws(Refusal) -> Decision {
        let before = loaded(with: old.runtime, approved: old.approved).leftOut
        let result = loaded(with: new.runtime, approved: new.approved, suspects: changed, server: server)
        let victims = result.leftOut.filter { changed.contains($0.key) || before[$0.key] == nil }
        if let (name, reason) = victims.min(by: { $0.key < $1.key }) {
            throw Refusal(key: name.escaped, reason: reason)
        }
        return Decision(
            runtime: new.runtime, approved: new.approved, server: server, result: result, notes: notes)
    }
}
