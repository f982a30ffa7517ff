internal import Base

extension Key {
    /// First part of the name of a further destination's setting.
    static let destination = "destination"

    /// Places in ``all``.
    private static let places = Dictionary(uniqueKeysWithValues: zip(all.map(\.name), all.indices))
    private static let open = all.filter(\.isOpen)

    /// Every table that has settings: `sync`, `sync.auth`, …
    static let tables: Set<String> = Set(
        all.flatMap { key in
            let parts = key.name.split(separator: ".")
            return (1..<max(parts.count, 1)).map { parts.prefix($0).joined(separator: ".") }
        })

    /// All that a further destination has.
    static func all(of destination: String) -> [Key] {
        (sync + formats + commands + [sharedAuth] + auth).map { $0.placed(in: destination) }
    }

    /// `destination.NAME.rest` taken apart: NAME, and what `[sync]` calls the setting; nil for any other name.
    static func parts(_ name: String) -> (destination: String, row: String)? {
        guard name.hasPrefix(destination + ".") else { return nil }
        let inside = name.dropFirst(destination.count + 1)
        let own = inside.prefix { $0 != "." }
        return (String(own), "sync" + inside[own.endIndex...])
    }

    /// What the setting is called in `[sync]`, whichever destination it belongs to.
    var row: String { Self.parts(name)?.row ?? name }

    /// The destination it belongs to; nil for all that is not about one.
    var owner: String? {
        Self.parts(name)?.destination ?? (name.hasPrefix("sync.") ? Settings.Destination.main : nil)
    }

    /// The table of a destination: `sync`, or `destination.NAME`.
    static func table(of destination: String) -> String {
        destination == Settings.Destination.main ? "sync" : "\(Self.destination).\(destination)"
    }

    /// The setting of exactly this name, open tables included.
    static func exactly(_ name: String) -> Key? {
        guard let (destination, row) = parts(name) else { return places[name].map { all[$0] } }
        guard Settings.Destination.complaint(aboutName: destination) == nil else { return nil }
        let key = row == sharedAuth.name ? sharedAuth : places[row].map { all[$0] }
        return key?.placed(in: destination)
    }

    /// The table has settings, or tables that have.
    static func isTable(_ name: String) -> Bool { tables.contains(parts(name)?.row ?? name) }

    /// The setting a dotted name means; for open tables the name of the entry as well.
    package static func named(_ name: String) -> (key: Key, entry: String?)? {
        if let key = exactly(name), !key.isOpen { return (key, nil) }
        if let (destination, row) = parts(name) {
            guard Settings.Destination.complaint(aboutName: destination) == nil, let (key, entry) = entry(row)
            else { return nil }
            return (key.placed(in: destination), entry)
        }
        return entry(name)
    }

    private static func entry(_ name: String) -> (key: Key, entry: String?)? {
        for key in open where name.hasPrefix(key.name + ".") {
            return (key, String(name.dropFirst(key.name.count + 1)))
        }
        return nil
    }

    /// Whether the setting of this name needs admin rights. An unknown name may be a setting of another
    /// version: it needs no rights only in the tables in which everything may be tuned.
    package static func needsAdmin(_ name: String) -> Bool {
        if let key = named(name)?.key { return key.needsAdmin }
        return !["tracking.", "extras."].contains { name.hasPrefix($0) }
    }

    /// The secret that `…_file` names a file for.
    static func withFile(_ name: String) -> Key? {
        guard name.hasSuffix("_file"), let key = exactly(String(name.dropLast("_file".count))) else {
            return nil
        }
        return key.isSecret && !key.isOpen ? key : nil
    }

    /// What to say about a name that is not a setting: the nearest one, or where else it belongs.
    static func unknown(_ name: String) -> String {
        let own = parts(name)?.destination
        if let own, let complaint = Settings.Destination.complaint(aboutName: own) {
            return "\"\(own.escaped)\" \(complaint)"
        }
        if name == destination || isTable(name) || exactly(name)?.isOpen == true {
            return "is a table; name a setting in it"
        }
        // Of a further destination its own are meant, and are looked for as in `[sync]`: the longer a name is, the more
        // mistakes still seem few.
        let row = parts(name)?.row ?? name
        let names = all.map(\.name) + all.filter { $0.isSecret && !$0.isOpen }.map { $0.name + "_file" }
        let placed = { (found: String) in
            guard let own, found == "sync" || found.hasPrefix("sync.") else { return found }
            return Key.table(of: own) + found.dropFirst("sync".count)
        }
        let leaf = row.split(separator: ".").last ?? ""
        if let other = names.first(where: { $0.hasSuffix("." + leaf) }) {
            return "is not a setting; did you mean \(placed(other))?"
        }
        if let nearest = Nearest.name(to: row, among: names + tables.sorted() + [destination]) {
            return "is not a setting; did you mean \(placed(nearest))?"
        }
        let table = row.split(separator: ".").dropLast().joined(separator: ".")
        let known = all.map(\.name).filter { $0.hasPrefix(table + ".") && !table.isEmpty }
        // `interval`, where `interval_seconds` is meant.
        if let longer = known.first(where: { $0.hasPrefix(row + "_") }) {
            return "is not a setting; did you mean \(placed(longer))?"
        }
        guard !known.isEmpty else {
            let known = (tables.sorted() + [destination + ".NAME", "extras"]).joined(separator: ", ")
            return "is not a setting; the tables are \(known)"
        }
        return
            "is not a setting; known here are \(known.map { $0.dropFirst(table.count + 1) }.joined(separator: ", "))"
    }
}
