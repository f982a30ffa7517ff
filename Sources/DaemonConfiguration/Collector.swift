internal import TOML

/// A setting as somebody made it, checked.
struct Assignment {
    let key: Key
    /// Name inside an open table.
    let entry: String?
    private(set) var value: SettingValue
    /// The value before it was made to fit.
    let written: SettingValue
    let origin: Origin
    /// What was changed about the value to make it fit.
    var note: String?
    /// The secret stands in a file of its own.
    var isFromFile = false

    /// Dotted name of what is set. Header names do not differ by case.
    var slot: String {
        guard let entry else { return key.name }
        return "\(key.name).\(key.ignoresCase ? entry.lowercased() : entry)"
    }

    /// The assignment, checked again by the wider range of its key.
    var relaxed: Assignment {
        var found = self
        guard let accepted = try? key.relaxed.check(written) else { return found }
        found.value = accepted.value
        found.note = accepted.note
        return found
    }

    /// The file it stands in holds a secret.
    var exposesSecret: Bool {
        if key.isSecret { return !isFromFile }
        guard key.isAddress, case .string(let text) = value else { return false }
        return WebAddress(text)?.hasSecrets ?? false
    }
}

/// Goes through one file and gathers its settings, and everything wrong with them.
struct Collector {
    /// After so many mistakes in one file the rest is not worth reading.
    private static let maxProblems = 50

    let file: ConfigurationFile
    /// Folder of the main configuration file.
    let home: String
    let places: SecretPlaces
    private(set) var found: [String: Assignment] = [:]
    private(set) var problems: [ConfigurationError.Problem] = []
    private(set) var warnings: [String] = []
    /// The tables of further destinations, in the order in which they begin.
    private(set) var destinations: [(name: String, origin: Origin)] = []
    /// Destinations with a table of tokens.
    private(set) var withAuth: Set<String> = []
    /// Open tables that stand in the file: even an empty one replaces what is sent by default.
    private(set) var opened: Set<String> = []

    init(file: ConfigurationFile, home: String, places: SecretPlaces) {
        self.file = file
        self.home = home
        self.places = places
    }

    /// Reads the whole file.
    mutating func collect() {
        let document = TOMLReader.read(file.text)
        problems = document.problems.map {
            .init(file: file.path, line: $0.line, column: $0.column, message: $0.message)
        }
        walk(document.root, path: "")
    }

    private mutating func walk(_ table: TOMLTable, path: String) {
        for name in table.names {
            guard problems.count < Self.maxProblems else { return }
            guard let node = table[name] else { continue }
            let dotted = path + name
            if dotted == Key.destination {
                collectDestinations(node)
            } else if path.isEmpty, Key.parts(name) != nil {
                addProblem(
                    node, dotted.escaped, "is in quotes as a whole; write [destination.NAME] without any")
            } else if case .table(let inner) = node.content, Key.isTable(dotted) {
                if dotted.hasSuffix(".auth") {
                    withAuth.insert(Key.parts(dotted)?.destination ?? Settings.Destination.main)
                }
                walk(inner, path: dotted + ".")
            } else if let key = Key.exactly(dotted) {
                if key.isOpen { collectEntries(key, node) } else { collect(key, node) }
            } else if let key = Key.withFile(dotted) {
                collectSecretFile(key, node, name: dotted)
            } else if Key.isTable(dotted) {
                addProblem(
                    node, dotted,
                    "expected a table, found \(node.typeName); write [\(dotted)] above its settings")
            } else {
                addProblem(node, dotted.escaped, Key.unknown(dotted))
            }
        }
    }

    private mutating func collectDestinations(_ node: TOMLNode) {
        guard case .table(let table) = node.content else {
            addProblem(
                node, Key.destination,
                "expected a table for each destination, found \(node.typeName); write [destination.NAME] above its settings"
            )
            return
        }
        for name in table.names {
            guard problems.count < Self.maxProblems else { return }
            guard let node = table[name] else { continue }
            let dotted = "\(Key.destination).\(name.escaped)"
            if let complaint = Settings.Destination.complaint(aboutName: name) {
                addProblem(node, dotted, complaint)
            } else if case .table(let inner) = node.content {
                destinations.append((name, origin(node)))
                walk(inner, path: dotted + ".")
            } else {
                addProblem(
                    node, dotted,
                    "expected a table, found \(node.typeName); write [destination.NAME] above the settings of a destination"
                )
            }
        }
    }

    private mutating func collectEntries(_ key: Key, _ node: TOMLNode) {
        guard case .table(let table) = node.content else {
            addProblem(
                node, key.name,
                "expected \(key.allowed), found \(node.typeName); write [\(key.name)] above them")
            return
        }
        opened.insert(key.name)
        for name in table.names {
            guard let node = table[name] else { continue }
            let dotted = "\(key.name).\(name.escaped)"
            if key.isSecret, case .table(let inner) = node.content {
                guard inner.names == ["file"], let file = inner["file"] else {
                    addProblem(node, dotted, "expected \(key.entryAllowed) or { file = \"…\" }")
                    continue
                }
                collectSecretFile(key, file, entry: name, name: dotted)
            } else {
                collect(key, node, entry: name)
            }
        }
    }

    private mutating func collect(_ key: Key, _ node: TOMLNode, entry: String? = nil) {
        let dotted = entry.map { "\(key.name).\($0.escaped)" } ?? key.name
        do throws(Key.Refusal) {
            guard let value = node.setting else { throw key.wrongType(found: node.typeName) }
            let accepted = try key.check(value, entry: entry)
            record(
                Assignment(
                    key: key, entry: entry, value: accepted.value, written: value, origin: origin(node),
                    note: accepted.note))
        } catch { addProblem(node, dotted, error.message) }
    }

    private mutating func collectSecretFile(_ key: Key, _ node: TOMLNode, entry: String? = nil, name: String)
    {
        guard case .value(.string(let path)) = node.content else {
            addProblem(node, name, "expected the name of a file in quotes, found \(node.typeName)")
            return
        }
        do throws(OpenFile.Refusal) {
            let (text, exposure) = try SecretFile.read(path, home: home, places: places)
            if let exposure { warnings.append(exposure.warning(path, name)) }
            do throws(Key.Refusal) {
                let value = try key.check(.string(text), entry: entry).value
                record(
                    Assignment(
                        key: key, entry: entry, value: value, written: value, origin: origin(node),
                        isFromFile: true))
            } catch { throw OpenFile.Refusal(message: "what the secret file holds " + error.message) }
        } catch { addProblem(node, name, error.message) }
    }

    private mutating func record(_ new: Assignment) {
        if let first = found[new.slot] {
            let message = "is set already, at \(first.origin); remove one of the two"
            if case .file(let path, let line) = new.origin {
                problems.append(.init(file: path, line: line, key: new.slot.escaped, message: message))
            }
            return
        }
        found[new.slot] = new
    }

    private func origin(_ node: TOMLNode) -> Origin { .file(file.path, line: node.line) }

    private mutating func addProblem(_ node: TOMLNode, _ key: String, _ message: String) {
        problems.append(.init(file: file.path, line: node.line, key: key, message: message))
    }
}
