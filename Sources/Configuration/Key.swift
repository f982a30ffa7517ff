/// One setting: its name, what it may be, and what it means. Everything that knows settings reads ``all``.
package struct Key: Sendable {
    /// Dotted name, such as `tracking.interval_seconds`.
    package let name: String
    /// One line for the manual.
    package let meaning: String
    /// Unit of a number, in words; nil for what has none.
    package let unit: String?
    /// The value is never shown, and is refused as a runtime setting.
    package let isSecret: Bool
    /// The value is a URL: its user info and query are never shown.
    let isAddress: Bool
    /// The value is a path, which only a configuration file may name.
    let isPath: Bool
    let kind: Kind
    let access: Access
    /// Controls what is kept, where data comes from or goes, or which credentials are used, so not everybody who may
    /// tune may change it. True unless the row in the table says otherwise, so that a newly added setting is guarded.
    package private(set) var needsAdmin = true
    /// Controls to whom the secrets of the files are sent, or who can read them on their way: see ``Custody``.
    private(set) var leadsSecrets = false

    /// What values are allowed.
    enum Kind: Sendable {
        case flag
        case integer(ClosedRange<Int>, clamped: Bool)
        case number(ClosedRange<Double>, clamped: Bool)
        case choice([String])
        case text(@Sendable (String) -> String?)
        /// A table whose names are the operator's choice; name and value each have a rule.
        case open(@Sendable (_ name: String, _ value: String) -> String?)
    }

    /// How the setting is read from and written into a draft.
    enum Access: Sendable {
        case one(get: @Sendable (Draft) -> SettingValue?, set: @Sendable (inout Draft, SettingValue) -> Void)
        case many(set: @Sendable (inout Draft, [Settings.Field]) -> Void)
    }

    /// The value that applies when nobody sets one; nil for none.
    package var defaultValue: SettingValue? {
        if case .one(let get, _) = access { get(Draft()) } else { nil }
    }

    /// The setting is a table with names of the operator's choice: headers, extras.
    package var isOpen: Bool { if case .open = kind { true } else { false } }

    /// Out of range means the nearest allowed value and a warning, not an error.
    package var isClamped: Bool {
        switch kind {
        case .integer(_, let clamped), .number(_, let clamped): clamped
        case .flag, .choice, .text, .open: false
        }
    }

    /// What may be written, in words: `a number from 0 to 31536000 (seconds)`.
    package var allowed: String {
        let unit = unit.map { " (\($0))" } ?? ""
        return switch kind {
        case .flag: "true or false"
        case .integer(let range, _): "a whole number from \(range.lowerBound) to \(range.upperBound)" + unit
        case .number(let range, _):
            "a number from \(range.lowerBound.plain) to \(range.upperBound.plain)" + unit
        case .choice(let names): "one of " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        case .text: "a text in quotes"
        case .open: "a table of texts"
        }
    }

    /// The same by name. An unknown name may be a setting of another version: it needs no rights only in the tables
    /// in which everything may be tuned.
    package static func needsAdmin(_ name: String) -> Bool {
        if let key = named(name)?.key { return key.needsAdmin }
        return !["tracking.", "extras."].contains { name.hasPrefix($0) }
    }

    /// The setting a dotted name means; for open tables the name of the entry as well.
    package static func named(_ name: String) -> (key: Key, entry: String?)? {
        if let key = all.first(where: { $0.name == name && !$0.isOpen }) { return (key, nil) }
        for key in all where key.isOpen && name.hasPrefix(key.name + ".") {
            return (key, String(name.dropFirst(key.name.count + 1)))
        }
        return nil
    }
}

extension Key {
    /// The same, for everybody who may open the control socket: intervals, sizes and thresholds.
    var tunable: Key {
        var key = self
        key.needsAdmin = false
        return key
    }

    /// The same, subject to ``Custody``.
    var leading: Key {
        var key = self
        key.leadsSecrets = true
        return key
    }
}

extension Double {
    /// Without a point when whole: `30`, `0.5`.
    var plain: String { Int(exactly: self).map(String.init) ?? description }
}
