/// Puts the layers together, looks at what only shows in the whole, and makes the listing.
struct SettingsBuilder {
    static let maxEntries = 64

    var problems: [ConfigurationError.Problem] = []
    private(set) var winners: [String: Assignment] = [:]
    private var opened: Set<String> = []
    private var warnings: [String] = []
    private var draft = Draft()
    /// Settings made while running that are wrong only in the whole.
    private(set) var conflicts: [String] = []

    /// Lays the settings of a file over those before.
    mutating func add(_ collector: Collector) {
        problems += collector.problems
        winners.merge(collector.found) { $1 }
        opened.formUnion(collector.opened)
        draft.hasAuth = draft.hasAuth || collector.hasAuth
        let secrets = collector.found.values.filter(\.exposesSecret).map(\.slot).sorted()
        if let exposure = collector.file.exposure, let first = secrets.first {
            warnings.append(exposure.warning(collector.file.path, first.escaped))
        }
        warnings += collector.warnings
    }

    /// Lays the settings made while running over all files.
    ///
    /// - Returns: those that are left out, each for itself, and why.
    mutating func add(runtime: [String: SettingValue]) -> [String: String] {
        var refused: [String: String] = [:]
        for (name, value) in runtime {
            do throws(Key.Refusal) {
                let (found, note) = try Key.accept(.value(value), for: name)
                winners[found.slot] = found
                winners[found.slot]?.note = note
                if name.hasPrefix("sync.auth.") { draft.hasAuth = true }
            } catch {
                refused[name] = error.message
            }
        }
        return refused
    }

    mutating func finish() throws(ConfigurationError) -> Loaded {
        for key in Key.all {
            switch key.access {
            case .one(_, let set):
                if let winner = winners[key.name] { set(&draft, winner.value) }
            case .many(let set):
                let fields = entries(of: key).map(\.field)
                if !fields.isEmpty || opened.contains(key.name) { set(&draft, fields) }
            }
        }
        checkCombinations()
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        warnings += Key.all.flatMap { key in
            (key.isOpen ? [] : [winners[key.name]]).compactMap { found in
                found?.note.map { "\(found?.origin.description ?? ""): \(key.name): \($0)" }
            }
        }
        return Loaded(settings: draft.settings, warnings: warnings, listing: listing)
    }

    // MARK: Rules about more than one setting

    private mutating func checkCombinations() {
        for (name, url) in [
            ("sync.url", draft.sync.url), ("sync.auth.refresh_url", draft.auth.refreshURL ?? ""),
        ] {
            guard let address = WebAddress(url), address.scheme == "http", !address.isLoopback,
                !draft.sync.allowInsecureHTTP
            else { continue }
            addProblem(
                name,
                "http to another host is readable on its way; use https (or sync.allow_insecure_http = true)")
        }
        if draft.sync.clientKey != nil, draft.sync.clientCertificate == nil {
            addProblem("sync.client_key", "a key needs its certificate; set sync.client_certificate as well")
        }
        for key in Key.all where key.isOpen {
            let entries = entries(of: key)
            let surplus = entries.count - Self.maxEntries
            guard surplus > 0, let last = entries.last else { continue }
            let added = entries.filter { $0.origin == .runtime }.suffix(surplus)
            for entry in added.isEmpty ? [last] : Array(added) {
                addProblem(
                    entry.slot,
                    "one of \(entries.count) entries; at most \(Self.maxEntries) are allowed, remove some")
            }
        }
        if draft.sync.url.isEmpty,
            let lost = winners.values.filter({ $0.key.name.hasPrefix("sync.") }).map(\.slot).min(),
            winners["sync.url"] == nil
        {
            warnings.append("\(lost.escaped) is set, but nothing is uploaded without sync.url")
        }
    }

    private mutating func addProblem(_ slot: String, _ message: String) {
        guard case .file(let path, let line) = winners[slot]?.origin else {
            problems.append(.init(file: "runtime", key: slot.escaped, message: message))
            conflicts.append(slot)
            return
        }
        problems.append(.init(file: path, line: line, key: slot.escaped, message: message))
    }

    // MARK: Listing

    private func entries(of key: Key) -> [Assignment] {
        winners.values.filter { $0.key.name == key.name }.sorted { $0.slot < $1.slot }
    }

    private var listing: [Loaded.Entry] {
        Key.all.flatMap { key -> [Loaded.Entry] in
            let found = entries(of: key)
            if !found.isEmpty { return found.map(\.listed) }
            return key.isOpen
                ? [] : [.init(key: key.name, value: key.defaultValue ?? .string(""), origin: .default)]
        }
    }
}

extension Assignment {
    /// As a field of an open table.
    var field: Settings.Field {
        guard case .string(let text) = value else { return .init(name: entry ?? "", value: Secret("")) }
        return .init(name: entry ?? "", value: Secret(text))
    }

    /// As everybody may see it.
    var listed: Loaded.Entry {
        let name = entry.map { "\(key.name).\($0)" } ?? key.name
        var shown = value
        if key.isSecret { shown = .string(Secret.mask) }
        if key.isAddress, case .string(let text) = value { shown = .string(WebAddress.redacted(text)) }
        return .init(key: name, value: shown, origin: origin)
    }
}
