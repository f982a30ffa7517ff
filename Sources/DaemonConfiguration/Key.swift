/// One setting: its name, what it may be, and what it means. Everything that knows settings reads ``all``.
package struct Key: Sendable {
    /// Dotted name, such as `tracking.interval_seconds`.
    package private(set) var name: String
    /// One line for the manual.
    package let meaning: String
    /// Unit of a number, in words; nil for what has none.
    package let unit: String?
    let kind: Kind
    private(set) var access: Access
    private(set) var traits: Traits
    /// The formats that can be told this; nil: all of them.
    private(set) var formats: Set<Settings.Format.Name>?

    /// What sets a setting apart.
    struct Traits: OptionSet {
        let rawValue: Int
        static let secret = Traits(rawValue: 1)
        static let address = Traits(rawValue: 2)
        static let path = Traits(rawValue: 4)
        static let tunable = Traits(rawValue: 8)
        static let leading = Traits(rawValue: 16)
        static let fileOnly = Traits(rawValue: 32)
        static let anyCase = Traits(rawValue: 64)
        static let single = Traits(rawValue: 128)
    }

    /// The value is never shown, and is refused as a runtime setting.
    package var isSecret: Bool { traits.contains(.secret) }
    /// The value is a URL: its user info and query are never shown.
    var isAddress: Bool { traits.contains(.address) }
    /// The value is a path, which only a configuration file may name.
    var isPath: Bool { traits.contains(.path) }
    /// Only a configuration file may set it.
    var isFileOnly: Bool { traits.contains(.fileOnly) }
    /// Names inside the open table do not differ by case.
    var ignoresCase: Bool { traits.contains(.anyCase) }
    /// A text may stand for a list of that one text.
    var takesSingle: Bool { traits.contains(.single) }
    /// Controls what is kept, where data comes from or goes, or which credentials are used, so not everybody who may
    /// tune may change it. True unless the row in the table says otherwise, so that a newly added setting is guarded.
    package var needsAdmin: Bool { !traits.contains(.tunable) }
    /// Controls to whom the secrets of the files are sent, or who can read them on their way: see ``Custody``.
    var leadsSecrets: Bool { traits.contains(.leading) }

    /// What values are allowed.
    enum Kind: Sendable {
        case flag
        case integer(ClosedRange<Int>, clamped: Bool)
        case number(ClosedRange<Double>, clamped: Bool)
        case choice([String])
        case text(@Sendable (String) -> String?)
        /// A list of texts, so many at most; the rule is that of each.
        case list(@Sendable (String) -> String?, limit: Int)
        /// A table whose names are the operator's choice; name and value each have a rule.
        case open(@Sendable (_ name: String, _ value: String) -> String?)
        /// An open table whose values may also be numbers, true and false.
        case openValues(@Sendable (_ name: String, _ value: String) -> String?)
    }

    /// How the setting is read from and written into a draft.
    enum Access: Sendable {
        case one(get: @Sendable (Draft) -> SettingValue?, set: @Sendable (inout Draft, SettingValue) -> Void)
        case many(set: @Sendable (inout Draft, [Assignment]) -> Void)
    }

    /// The value that applies when nobody sets one; nil for none.
    package var defaultValue: SettingValue? {
        if case .one(let get, _) = access { get(Draft()) } else { nil }
    }

    /// The setting is a table with names of the operator's choice: headers, extras.
    package var isOpen: Bool {
        switch kind {
        case .open, .openValues: true
        case .flag, .integer, .number, .choice, .text, .list: false
        }
    }

    /// Out of range means the nearest allowed value and a warning, not an error.
    package var isClamped: Bool {
        switch kind {
        case .integer(_, let clamped), .number(_, let clamped): clamped
        case .flag, .choice, .text, .list, .open, .openValues: false
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
        case .list: takesSingle ? "a text in quotes or a list of texts" : "a list of texts"
        case .open: "a table of texts"
        case .openValues: "a table of texts, numbers, true and false"
        }
    }
}

extension Key {
    init(
        _ name: String, _ kind: Kind, unit: String? = nil, _ meaning: String, _ traits: Traits = [],
        _ access: Access
    ) {
        self.name = name
        self.meaning = meaning
        self.unit = unit
        self.kind = kind
        self.access = access
        self.traits = traits
    }

    /// The key of a further destination: its table takes the place of `[sync]` for as long as it is read or
    /// written.
    func placed(in destination: String) -> Key {
        var key = self
        key.name = "destination.\(destination)" + name.dropFirst("sync".count)
        switch access {
        case .one(let get, let set):
            key.access = .one(
                get: { draft in
                    var draft = draft
                    draft.main = draft[destination]
                    return get(draft)
                },
                set: { draft, value in draft.change(destination) { set(&$0, value) } })
        case .many(let set):
            key.access = .many { draft, entries in draft.change(destination) { set(&$0, entries) } }
        }
        return key
    }

    /// With deliver = "latest", where an interval may be shorter.
    var relaxed: Key {
        guard case .number(let range, let clamped) = kind else { return self }
        return Key(
            name, .number(5...range.upperBound, clamped: clamped), unit: unit, meaning, traits, access)
    }
}

extension Draft {
    fileprivate mutating func change(_ destination: String, _ change: (inout Draft) -> Void) {
        let own = main
        main = self[destination]
        change(&self)
        self[destination] = main
        main = own
    }
}

extension Key {
    /// The key, settable by everybody who may open the control socket: for intervals, sizes and thresholds.
    var tunable: Key { with(.tunable) }

    /// The key, subject to ``Custody``.
    var leading: Key { with(.leading) }

    /// The key, for configuration files alone.
    var fileOnly: Key { with(.fileOnly) }

    /// The key, with a text allowed to stand for a list of one.
    var single: Key { with(.single) }

    /// The key, for these formats alone.
    func only(_ formats: Settings.Format.Name...) -> Key {
        var key = self
        key.formats = Set(formats)
        return key
    }

    private func with(_ trait: Traits) -> Key {
        var key = self
        key.traits.insert(trait)
        return key
    }
}

extension Double {
    /// Without a point when whole: `30`, `0.5`.
    var plain: String { Int(exactly: self).map(String.init) ?? description }
}
