/// A setting as somebody made it, checked.
struct Assignment {
    let key: Key
    /// Name inside an open table.
    let entry: String?
    let value: SettingValue
    let origin: Origin
    /// What was changed about the value to make it fit.
    var note: String?
    /// The secret stands in a file of its own.
    var isFromFile = false

    /// Dotted name of what is set. Header names do not differ by case.
    var slot: String {
        guard let entry else { return key.name }
        return "\(key.name).\(key.isSecret ? entry.lowercased() : entry)"
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
    private(set) var hasAuth = false
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
            if dotted == "sync.auth" { hasAuth = true }
            if let key = Key.all.first(where: { $0.name == dotted }) {
                if key.isOpen { collectEntries(key, node) } else { collect(key, node) }
            } else if let key = Key.withFile(dotted) {
                collectSecretFile(key, node, name: dotted)
            } else if Key.tables.contains(dotted) {
                guard case .table(let inner) = node.content else {
                    addProblem(
                        node, dotted,
                        "expected a table, found \(node.typeName); write [\(dotted)] above its settings")
                    continue
                }
                walk(inner, path: dotted + ".")
            } else {
                addProblem(node, dotted.escaped, Key.unknown(dotted))
            }
        }
    }

    private mutating func collectEntries(_ key: Key, _ node: TOMLNode) {
        guard case .table(let table) = node.content else {
            addProblem(
                node, key.name,
                "expected a table of texts, found \(node.typeName); write [\(key.name)] above them")
            return
        }
        opened.insert(key.name)
        for name in table.names {
            guard let node = table[name] else { continue }
            let dotted = "\(key.name).\(name.escaped)"
            if key.isSecret, case .table(let inner) = node.content {
                guard inner.names == ["file"], let file = inner["file"] else {
                    addProblem(node, dotted, "expected a text in quotes or { file = \"…\" }")
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
            guard case .value(let value) = node.content else { throw key.wrongType(found: node.typeName) }
            let accepted = try key.check(value, entry: entry)
            record(
                Assignment(
                    key: key, entry: entry, value: accepted.value, origin: origin(node), note: accepted.note))
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
                    Assignment(key: key, entry: entry, value: value, origin: origin(node), isFromFile: true))
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

extension Key {
    /// Every table that has settings: `sync`, `sync.auth`, …
    static let tables: Set<String> = Set(
        all.flatMap { key in
            let parts = key.name.split(separator: ".")
            return (1..<max(parts.count, 1)).map { parts.prefix($0).joined(separator: ".") }
        })

    /// The secret that `…_file` names a file for.
    static func withFile(_ name: String) -> Key? {
        guard name.hasSuffix("_file") else { return nil }
        return all.first { $0.isSecret && !$0.isOpen && $0.name + "_file" == name }
    }

    /// What to say about a name that is no setting: the nearest one, or where else it belongs.
    static func unknown(_ name: String) -> String {
        if tables.contains(name) || all.contains(where: { $0.isOpen && $0.name == name }) {
            return "is a table; name a setting in it"
        }
        let names = all.map(\.name) + all.filter { $0.isSecret && !$0.isOpen }.map { $0.name + "_file" }
        let leaf = name.split(separator: ".").last ?? ""
        if let other = names.first(where: { $0.hasSuffix("." + leaf) }) {
            return "is not a setting; did you mean \(other)?"
        }
        if let nearest = Nearest.name(to: name, among: names + tables.sorted()) {
            return "is not a setting; did you mean \(nearest)?"
        }
        let table = name.split(separator: ".").dropLast().joined(separator: ".")
        let known = all.map(\.name).filter { $0.hasPrefix(table + ".") && !table.isEmpty }
        guard !known.isEmpty else {
            return "is not a setting; the tables are \(tables.sorted().joined(separator: ", ")), extras"
        }
        return
            "is not a setting; known here are \(known.map { $0.dropFirst(table.count + 1) }.joined(separator: ", "))"
    }
}
