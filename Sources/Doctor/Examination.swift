internal import ControlProtocol
internal import DaemonConfiguration
internal import Glibc
internal import Linux

/// Gathers the facts: from the daemon, gpsd, the kernel and, with the daemon's own credentials, the backend.
package struct Examination {
    private let socket: String
    private let configuration: String?
    private let stateDirectory: String?

    /// - Parameters:
    ///   - socket: where beekond listens.
    ///   - configuration: its file; nil: the one it says that it runs with, else the default.
    /// - stateDirectory: where its database is; nil: where the daemon says, otherwise the default.
    package init(socket: String, configuration: String?, stateDirectory: String?) {
        self.socket = socket
        self.configuration = configuration
        self.stateDirectory = stateDirectory
    }

    /// Takes some seconds.
    /// - Parameter progress: receives a description of each step.
    package func facts(progress: (String) -> Void) -> Facts {
        var facts = Facts()
        facts.socket = socket
        facts.now = Clock.realtimeMilliseconds() / 1000
        facts.user = Host.user()
        progress("asking beekond")
        let settings = askDaemon(&facts)
        let said = facts.status?.store.directory ?? "/var/lib/beekond"
        // As the daemon sees it: a link to it may lead elsewhere by now.
        facts.stateDirectory = stateDirectory.flatMap(Host.resolved) ?? stateDirectory ?? said
        let loaded = readConfiguration(&facts, settings)
        askGPSD(&facts, loaded, progress)
        facts.hasModemManager = Host.runs("ModemManager")
        let chip = facts.settings["vehicle.gpio_chip"]?.stringValue ?? ""
        facts.hasChip = chip.isEmpty ? nil : access(chip, F_OK) == 0
        facts.clock = Host.clock()
        facts.disk = Host.disk(facts.stateDirectory)
        askBackend(&facts, loaded, progress)
        askOthers(&facts, loaded, progress)
        return facts
    }

    /// - Returns: the settings in effect.
    private func askDaemon(_ facts: inout Facts) -> [Wire.Setting] {
        do {
            var client = try ControlClient(path: socket)
            facts.status = try client.call(Wire.GetStatus.self, .init()).status
            let settings = try client.call(Wire.GetConfig.self, .init()).settings
            for setting in settings { facts.settings[setting.key] = setting.value }
            return settings
        } catch {
            facts.connection = error as? ClientFailure
            return []
        }
    }

    private func readConfiguration(_ facts: inout Facts, _ settings: [Wire.Setting]) -> Settings? {
        let origins = settings.map(\.origin)
        let path = configuration ?? Self.file(namedBy: origins) ?? "/etc/beekond/beekond.toml"
        facts.configuration = path
        guard access(path, R_OK) == 0 else {
            let code = errno
            let isMissing = code == ENOENT
            // A relative path can only be resolved from the daemon's working directory.
            let isElsewhere =
                isMissing && origins.contains { !["default", "runtime", "server"].contains($0) }
            facts.file =
                isElsewhere
                ? .elsewhere
                : isMissing
                    ? .missing : Self.isRefusal(code) ? .unreadable : .broken([Self.cannotRead(path, code)])
            return isMissing && facts.status == nil ? Settings() : nil
        }
        do throws(ConfigurationError) {
            let layers = try Loader.layers(file: path, isDefaultPath: configuration == nil)
            let loaded = layers.loaded(with: Self.runtime(settings)).loaded
            facts.file = .good(warnings: loaded.warnings)
            facts.chosen = Set(loaded.listing.filter { $0.origin != .default }.map(\.key))
            return loaded.settings
        } catch {
            facts.file = .broken(error.problems.map(\.description))
            return nil
        }
    }

    /// Whether a right is missing, and not something else in the way.
    static func isRefusal(_ code: Int32) -> Bool { [EACCES, EPERM].contains(code) }

    static func cannotRead(_ path: String, _ code: Int32) -> String {
        "\(path) cannot be read: \(String(cString: strerror(code)))"
    }

    /// The main file, as implied by origins: `/etc/beekond/beekond.toml:3` and
    /// `/etc/beekond/beekond.d/10-fleet.toml:1` both belong to the same one.
    static func file(namedBy origins: some Collection<String>) -> String? {
        for origin in origins.sorted() where origin.hasPrefix("/") {
            guard let colon = origin.lastIndex(of: ":") else { continue }
            let path = String(origin[..<colon])
            guard let drop = path.firstRange(of: ".d/") else { return path }
            return path[..<drop.lowerBound] + ".toml"
        }
        return nil
    }

    /// What was set at runtime, here or by the server, as far as it is not secret: it is part of the effective configuration.
    static func runtime(_ settings: [Wire.Setting]) -> [String: SettingValue] {
        let own = settings.filter { ["runtime", "server"].contains($0.origin) }
        return Dictionary(own.compactMap { setting in plain(setting.value).map { (setting.key, $0) } }) { $1 }
    }

    private static func plain(_ value: JSONValue) -> SettingValue? {
        switch value {
        case .bool(let flag): .bool(flag)
        case .integer(let number): .integer(Int(clamping: number))
        case .number(let number): .number(number)
        case .string(let text): text.contains(Secret.mask) ? nil : .string(text)
        case .array(let values): .list(values.compactMap(\.stringValue))
        case .null, .object: nil
        }
    }

    private func askGPSD(_ facts: inout Facts, _ loaded: Settings?, _ progress: (String) -> Void) {
        if let loaded { (facts.gpsd.host, facts.gpsd.port) = (loaded.gpsd.host, Int(loaded.gpsd.port)) }
        if let host = facts.settings["gpsd.host"]?.stringValue { facts.gpsd.host = host }
        if let port = facts.settings["gpsd.port"]?.integerValue { facts.gpsd.port = Int(clamping: port) }
        progress("asking gpsd")
        // Watching wakes the receiver, so watch only if nobody else does.
        let watches =
            switch facts.status?.source.health {
            case .ok, .noFix, .stale, .unsettled, .noDevice: false
            case .released, .disconnected, nil: true
            }
        facts.gpsd = GPSDConversation.query(facts.gpsd, watching: watches)
        let path = facts.status?.source.device ?? facts.gpsd.devices?.first
        facts.device = path.flatMap(Host.device)
    }

    private func probe(_ destination: Settings.Destination, _ facts: Facts) -> BackendFacts {
        var found = BackendProbe.run(
            destination, installID: facts.status?.installId ?? Host.installID(in: facts.stateDirectory))
        if case .overland = destination.sync.format {
            let main = Settings.Destination.main
            let table = destination.name == main ? "sync" : "destination.\(destination.name)"
            found.hasOldUniqueID = !facts.chosen.contains(table + ".unique_id")
        }
        return found
    }

    private func askBackend(_ facts: inout Facts, _ loaded: Settings?, _ progress: (String) -> Void) {
        if let main = loaded?.destination(Settings.Destination.main) {
            progress("asking the backend")
            facts.backend = probe(main, facts)
        } else if loaded == nil, let url = facts.settings["sync.url"]?.stringValue, !url.isEmpty {
            progress("asking for the backend")
            facts.backend = BackendProbe.checkConnection(
                url: url, proxy: facts.settings["sync.proxy"]?.stringValue ?? "")
        }
    }

    private func askOthers(_ facts: inout Facts, _ loaded: Settings?, _ progress: (String) -> Void) {
        if let loaded {
            for destination in loaded.destinations {
                progress("asking \(destination.name)")
                facts.others.append(.init(destination.name, probe(destination, facts)))
            }
            return
        }
        for (key, value) in facts.settings.sorted(by: { $0.key < $1.key }) {
            let parts = key.split(separator: ".")
            guard parts.count == 3, parts[0] == "destination", parts[2] == "url", let url = value.stringValue
            else {
                continue
            }
            progress("asking for \(parts[1])")
            let proxy = facts.settings["destination.\(parts[1]).proxy"]?.stringValue ?? ""
            facts.others.append(.init(String(parts[1]), BackendProbe.checkConnection(url: url, proxy: proxy)))
        }
    }
}
