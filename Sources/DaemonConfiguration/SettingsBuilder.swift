internal import Base
internal import Envelope

/// Puts the layers together, looks at what only shows in the whole, and makes the listing.
struct SettingsBuilder {
    static let maxEntries = 64
    /// Seconds between heartbeats where a server may send commands.
    private static let commandsHeartbeat = 3600.0

    var problems: [ConfigurationError.Problem] = []
    private(set) var winners: [String: Assignment] = [:]
    private var opened: Set<String> = []
    private var withAuth: Set<String> = []
    var warnings: [String] = []
    private(set) var draft = Draft()
    /// The tables of further destinations in the files, in the order in which they begin.
    private(set) var destinations: [(name: String, origin: Origin)] = []
    /// Settings made while running that are wrong only in the whole.
    private(set) var conflicts: [String] = []

    /// Lays the settings of a file over those before.
    mutating func add(_ collector: Collector) {
        problems += collector.problems
        winners.merge(collector.found) { $1 }
        opened.formUnion(collector.opened)
        withAuth.formUnion(collector.withAuth)
        let known = Set(destinations.map(\.name))
        destinations += collector.destinations.filter { !known.contains($0.name) }
        let secrets = collector.found.values.filter(\.exposesSecret).map(\.slot).sorted()
        if let exposure = collector.file.exposure, let first = secrets.first {
            warnings.append(exposure.warning(collector.file.path, first.escaped))
        }
        warnings += collector.warnings
    }

    /// Lays the settings made while running over all files and what was added before.
    ///
    /// - Parameter origin: who has made them.
    /// - Returns: those that are left out, each for itself, and why.
    @discardableResult
    mutating func add(runtime: [String: SettingValue], from origin: Origin = .runtime) -> [String: String] {
        var refused: [String: String] = [:]
        for (name, value) in runtime {
            do throws(Key.Refusal) {
                let found = try accept(.value(value), for: name, from: origin)
                winners[found.slot] = found
                if found.key.row.hasPrefix("sync.auth."), let owner = found.key.owner {
                    withAuth.insert(owner)
                }
            } catch {
                refused[name] = error.message
            }
        }
        return refused
    }

    /// The setting that `name` means, with a value for it that may be set while running, if the files have its table.
    func accept(
        _ offer: ProposedValue, for name: String, from origin: Origin = .runtime
    ) throws(Key.Refusal) -> Assignment {
        guard let owner = Key.parts(name)?.destination, !destinations.contains(where: { $0.name == owner }),
            Settings.Destination.complaint(aboutName: owner) == nil
        else { return try Key.accept(offer, for: name, from: origin) }
        let nearest = Nearest.name(to: owner, among: destinations.map(\.name))
        throw Key.Refusal(
            message:
                "there is no destination \"\(owner)\" in the configuration files, where alone one can be made"
                + (nearest.map { "; did you mean \(Key.table(of: $0))?" }
                    ?? ": write a table [destination.\(owner)] with a url"))
    }

    mutating func finish() throws(ConfigurationError) -> Loaded {
        let keys = keys
        let entries = Dictionary(grouping: winners.values.filter { $0.entry != nil }, by: \.key.name)
            .mapValues { $0.sorted { $0.slot < $1.slot } }
        for key in keys {
            switch key.access {
            case .one(_, let set):
                if let winner = winners[key.name] { set(&draft, winner.value) }
            case .many(let set):
                let own = entries[key.name] ?? []
                if !own.isEmpty || opened.contains(key.name) { set(&draft, own) }
            }
        }
        for name in names { complete(name) }
        checkNumbers(of: entries)
        checkVehicle()
        checkDestinations()
        guard problems.isEmpty else { throw ConfigurationError(problems) }
        warnings += keys.compactMap { key in
            guard let found = winners[key.name], let note = found.note else { return nil }
            return "\(found.origin): \(key.name): \(note)"
        }
        return Loaded(settings: draft.settings, warnings: warnings, listing: listing(keys, entries))
    }

    /// Main and the further destinations, of which there can be only so many.
    var names: [String] {
        [Settings.Destination.main] + destinations.prefix(Settings.Destination.limit).map(\.name)
    }

    private var keys: [Key] { Key.all + names.dropFirst().flatMap { Key.all(of: $0) } }

    /// What follows from other settings of the same destination, where nobody has said otherwise.
    private mutating func complete(_ name: String) {
        let table = Key.table(of: name)
        var own = draft[name]
        own.auth.isTable = withAuth.contains(name)
        let format = own.format.name
        if winners[table + ".on_reject"] == nil, format.traits.isForeign { own.sync.onReject = .keep }
        if own.format.isOneRow { own.sync.batchSize = 1 }
        if own.sync.deliver == .latest, let interval = winners[table + ".interval_seconds"]?.relaxed {
            winners[interval.slot] = interval
            if case .number(let seconds) = interval.value { own.sync.intervalSeconds = seconds }
        }
        let hasHeartbeats = [.beekon, .owntracks].contains(format)
        if winners[table + ".heartbeat_seconds"] == nil, takesCommands(table), hasHeartbeats {
            own.sync.heartbeatSeconds = Self.commandsHeartbeat
        }
        draft[name] = own
    }

    mutating func keep(_ own: DestinationDraft, of name: String) { draft[name] = own }

    private mutating func checkNumbers(of entries: [String: [Assignment]]) {
        for (_, entries) in entries.sorted(by: { $0.key < $1.key }) {
            let surplus = entries.count - Self.maxEntries
            guard surplus > 0, let last = entries.last else { continue }
            let added = entries.filter { !$0.origin.isFile }.suffix(surplus)
            for entry in added.isEmpty ? [last] : Array(added) {
                addProblem(
                    entry.slot,
                    "one of \(entries.count) entries; at most \(Self.maxEntries) are allowed, remove some")
            }
        }
        if draft.store.unsentDays > 0, draft.store.unsentDays < 0.01 {
            addProblem("store.unsent_days", "is less than a quarter of an hour; use 0, or 0.01 to 36500")
        }
    }

    /// - Parameter slot: the setting to blame.
    mutating func addProblem(_ slot: String, _ message: String) {
        guard case .file(let path, let line) = winners[slot]?.origin else {
            problems.append(.init(file: "runtime", key: slot.escaped, message: message))
            conflicts.append(slot)
            return
        }
        problems.append(.init(file: path, line: line, key: slot.escaped, message: message))
    }

    mutating func addProblem(at origin: Origin, _ name: String, _ message: String) {
        guard case .file(let path, let line) = origin else { return }
        problems.append(.init(file: path, line: line, key: name.escaped, message: message))
    }

    private func listing(_ keys: [Key], _ entries: [String: [Assignment]]) -> [Loaded.Entry] {
        keys.flatMap { key -> [Loaded.Entry] in
            if key.isOpen { return (entries[key.name] ?? []).map(\.listed) }
            if let found = winners[key.name] { return [found.listed] }
            guard case .one(let get, _) = key.access else { return [] }
            return [.init(key: key.name, value: get(draft) ?? .string(""), origin: .default)]
        }
    }
}

extension Assignment {
    /// The value as a field of an open table.
    var field: Settings.Field {
        guard case .string(let text) = value else { return .init(name: entry ?? "", value: Secret("")) }
        return .init(name: entry ?? "", value: Secret(text))
    }

    /// The value as that of a field of a JSON object.
    var bodyValue: BodyFields.Value {
        switch value {
        case .string(let text): .text(text)
        case .bool(let flag): .boolean(flag)
        case .integer(let number): .integer(Int64(number))
        case .number(let number): .number(number)
        // No open table takes them.
        case .list: .text("")
        }
    }

    /// The value as everybody may see it, without secrets.
    var listed: Loaded.Entry {
        let name = entry.map { "\(key.name).\($0)" } ?? key.name
        var shown = value
        if key.isSecret { shown = .string(Secret.mask) }
        if key.isAddress, case .string(let text) = value { shown = .string(WebAddress.redacted(text)) }
        return .init(key: name, value: shown, origin: origin)
    }
}

// What contradicts itself in `[vehicle]`.

extension SettingsBuilder {
    mutating func checkVehicle() {
        let vehicle = draft.vehicle
        let gpio = vehicle.gpio
        let isGPIO = vehicle.ignition == .gpio
        let stray =
            "is a setting of vehicle.ignition = \"gpio\", and that is \"\(vehicle.ignition.rawValue)\"; remove it"
        check([
            (!isGPIO && !gpio.chip.isEmpty, "vehicle.gpio_chip", stray),
            (!isGPIO && gpio.line >= 0, "vehicle.gpio_line", stray),
            (!isGPIO && gpio.activeLow, "vehicle.gpio_active_low", stray),
            (
                isGPIO && gpio.chip.isEmpty && !isBroken("vehicle.gpio_chip"), "vehicle.ignition",
                "\"gpio\" needs vehicle.gpio_chip, such as \"/dev/gpiochip0\""
            ),
            (
                isGPIO && gpio.line < 0 && !isBroken("vehicle.gpio_line"), "vehicle.ignition",
                "\"gpio\" needs vehicle.gpio_line, the number of the line on its chip"
            ),
            (
                vehicle.ignition == .powerSupply && vehicle.supply.isEmpty && !isBroken("vehicle.supply"),
                "vehicle.ignition",
                "\"power_supply\" needs vehicle.supply, a name in /sys/class/power_supply"
            ),
        ])
        guard vehicle.onIgnition == .track else { return }
        if vehicle.ignition == .none, !isBroken("vehicle.ignition") {
            addProblem(
                "vehicle.on_ignition",
                "\"track\" needs an ignition; set vehicle.ignition to \"gpio\", \"power_supply\" or \"manual\""
            )
        }
        if !draft.tracking.schedule.isEmpty {
            // The files alone are known to be good: what was set while running gives way.
            let isFromFile = if case .file = winners["tracking.schedule"]?.origin { true } else { false }
            addProblem(
                isFromFile ? "vehicle.on_ignition" : "tracking.schedule",
                "vehicle.on_ignition = \"track\" and tracking.schedule would both decide when to track; remove one of the two"
            )
        }
    }
}

// What only shows in the whole of a table of commands: it must not be possible to silence a vehicle with it, to listen in,
// or to give commands over a way that others can write to.

extension SettingsBuilder {
    /// Reads the keys, and looks at each table; one destination at most may have one that is in use.
    mutating func checkCommands() {
        var first: String?
        for name in names where draft[name].commands.isEnabled {
            let table = Key.table(of: name) + ".commands"
            if let first {
                addProblem(
                    table + ".enabled",
                    "[\(first)] is enabled, too, and a vehicle obeys one server; remove one of the two")
            }
            first = first ?? table
            check(wayOfCommands(draft[name], name))
            check(contentOfCommands(draft[name].commands, draft[name].format.name, table))
            readKeys(of: name)
        }
        // A server may not be given a setting of another's destination, though nobody obeys it yet.
        for name in names {
            let table = Key.table(of: name) + ".commands"
            for setting in draft[name].commands.named {
                guard let owner = Key.exactly(setting)?.owner, owner != name else { continue }
                addProblem(
                    table + ".settings",
                    "“\(setting.escaped)” is a setting of another destination; use \(Key.table(of: name))"
                        + (Key.exactly(setting)?.row.dropFirst("sync".count) ?? ""))
            }
        }
    }

    private func wayOfCommands(_ own: DestinationDraft, _ name: String) -> [Rule] {
        let (table, slot) = (Key.table(of: name), Key.table(of: name) + ".commands.enabled")
        let address = WebAddress(own.sync.url)
        let isPlain = address?.scheme == "http"
        let isProxied = own.sync.proxy.map { WebAddress($0)?.isLoopback != true } ?? false
        return [
            (
                isPlain && address?.isLoopback == false, slot,
                "anybody on the path of an http url could command this vehicle, whatever \(table).allow_insecure_http says; "
                    + "use https"
            ),
            (
                isPlain && address?.isLoopback == true && isProxied, slot,
                "\(table).proxy, which is not on this host, could command this vehicle, because the url is http; use https"
            ),
            (
                own.sync.deliver == .latest, slot,
                "answers to \(table).deliver = \"latest\" are not read for commands; use a destination with deliver = \"all\""
            ),
            (
                own.sync.triggers.mode == .manual, slot,
                "with \(table).mode = \"manual\" there is no answer that could bring a command; remove one of the two"
            ),
        ]
    }

    private func contentOfCommands(
        _ own: CommandsDraft, _ format: Settings.Format.Name, _ table: String
    ) -> [Rule] {
        let allow = Set(own.allow.compactMap { Settings.Commands.Name(rawValue: $0) })
        let changes = !allow.isDisjoint(with: [.setConfig, .unsetConfig])
        let silent =
            "could silence this vehicle for good: format template has no heartbeat whose answer could bring another command; "
            + "remove it"
        return [
            (
                own.allow.isEmpty && !isBroken(table + ".allow"), table + ".enabled",
                "nothing is allowed; name the commands in \(table).allow, such as [\"start\", \"stop\"]"
            ),
            (
                allow.contains(.setConfig) && own.named.isEmpty && !isBroken(table + ".settings"),
                table + ".allow",
                "set_config can change nothing; name the settings in \(table).settings, or remove it"
            ),
            (
                !own.named.isEmpty && !own.allow.isEmpty && !changes, table + ".settings",
                "is about set_config and unset_config, and \(table).allow has neither; remove one of the two"
            ),
            (
                format == .template && allow.contains(.stop), table + ".allow", "stop " + silent
            ),
            (
                format == .template && own.named.contains("tracking.schedule"), table + ".settings",
                "tracking.schedule " + silent
            ),
        ]
    }

    private mutating func readKeys(of name: String) {
        var own = draft[name]
        for path in own.commands.keyFiles {
            do throws(OpenFile.Refusal) {
                let (key, warning) = try VerifyKeyFile.read(path)
                own.commands.keys.append(key)
                if let warning { warnings.append(warning) }
            } catch {
                addProblem(
                    Key.table(of: name) + ".commands.verify_keys", "\"\(path.escaped)\" \(error.message)")
            }
        }
        keep(own, of: name)
    }
}
