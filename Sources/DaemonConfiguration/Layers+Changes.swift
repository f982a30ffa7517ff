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
