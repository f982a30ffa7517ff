// What may be set while beekond runs, by whoever may open its socket.
extension Key {
    /// The setting that `name` means, with a value for it that may be set while running.
    static func accept(
        _ offer: ProposedValue, for name: String, from origin: Origin = .runtime
    ) throws(Refusal) -> Assignment {
        guard let (key, entry) = named(name) else {
            if withFile(name) != nil {
                throw Refusal(message: "names a file with a secret; only a configuration file can do that")
            }
            throw Refusal(message: unknown(name))
        }
        if let complaint = key.runtimeComplaint { throw Refusal(message: complaint) }
        guard case .value(let value) = offer else { throw key.wrongType(found: offer.typeName) }
        let accepted = try key.check(value, entry: entry)
        let found = Assignment(
            key: key, entry: entry, value: accepted.value, written: value, origin: origin,
            note: accepted.note)
        guard !found.exposesSecret else {
            throw Refusal(
                message: "user info and query of a URL are secrets, which cannot be set while running; "
                    + "write this URL into a configuration file")
        }
        return found
    }

    /// Why this setting is a matter for configuration files alone; nil when it is not.
    private var runtimeComplaint: String? {
        if isPath { return "names a file; only a configuration file can do that" }
        if isFileOnly {
            let role = row.hasPrefix("sync.commands.") ? "what a server may do" : "whose tokens are used"
            return "decides \(role); only a configuration file can do that"
        }
        guard isSecret else { return nil }
        let start = "is a secret, which cannot be set while running; "
        if isOpen { return start + "name a file in the configuration: NAME = { file = \"…\" }" }
        let leaf = name.split(separator: ".").last ?? ""
        let seed =
            row.hasPrefix("sync.auth.") ? "give new tokens with SeedAuth (beekonctl auth seed), or " : ""
        return start + seed + "name a file in the configuration: \(leaf)_file = \"…\""
    }
}

/// A value that somebody offers for a setting.
package enum ProposedValue: Sendable, Equatable {
    /// One of the types that settings have.
    case value(SettingValue)
    /// Anything else: what an operator calls it.
    case other(String)

    var typeName: String {
        switch self {
        case .value(let value): value.typeName
        case .other(let name): name
        }
    }
}
