package import ControlProtocol

/// Settings as the user types and reads them.
package enum ConfigText {
    /// Width of a table in columns.
    package static let width = 80
    /// Width where nothing is to be cut: files and pipes.
    package static let unlimited = 10_000
    /// Width of the column of values there, which longer ones exceed.
    private static let pipedWidth = 40
    /// Width that a value has at least when its origin is formatted as well.
    private static let valueWidth = 20

    /// Parses `key=value` by the type that the key has now. An unknown key is taken for text: the daemon knows
    /// whether it may be set.
    package static func pair(
        _ argument: String, among settings: [Wire.Setting]
    ) throws(Failure) -> (key: String, value: JSONValue) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else {
            throw Failure(
                "\(Text.cut(argument, to: 80)) is not a setting: write key=value, such as "
                    + "tracking.interval_seconds=10", exitCode: 64)
        }
        let key = String(argument[..<sign])
        let text = String(argument[argument.index(after: sign)...])
        switch settings.first(where: { $0.key == key })?.value {
        case .bool:
            guard let flag = ["true": true, "false": false][text] else {
                throw Failure("\(key) is true or false", exitCode: 65)
            }
            return (key, .bool(flag))
        case .integer, .number:
            if let whole = Int64(text) { return (key, .integer(whole)) }
            guard let number = Double(text), number.isFinite else {
                throw Failure("\(key) is a number: write it like 30 or 0.5", exitCode: 65)
            }
            return (key, .number(number))
        case .array: return (key, .array(try list(text, key)))
        case .string, .null, .object, nil: return (key, .string(text))
        }
    }

    /// Texts as a configuration file has them, or with commas between them.
    private static func list(_ text: String, _ key: String) throws(Failure) -> [JSONValue] {
        guard text.hasPrefix("[") else {
            return text.split(separator: ",").map { .string(String($0)) }
        }
        guard case .array(let values) = JSONValue(json: Array(text.utf8)),
            values.allSatisfy({ $0.stringValue != nil })
        else { throw Failure("\(key) is a list of texts: write it like a,b or [\"a\", \"b\"]", exitCode: 65) }
        return values
    }

    /// The settings named by the user, by key or by table; all of them if none are named.
    package static func chosen(
        _ settings: [Wire.Setting], named names: [String]
    ) throws(Failure) -> [Wire.Setting] {
        guard !names.isEmpty else { return settings }
        for name in names where !settings.contains(where: { matches($0.key, by: name) }) {
            throw Failure(
                "there is no setting \(Text.cut(name, to: 80)): beekonctl config show lists them",
                exitCode: 65)
        }
        return settings.filter { setting in names.contains { matches(setting.key, by: $0) } }
    }

    private static func matches(_ key: String, by name: String) -> Bool {
        key == name || key.hasPrefix(name + ".")
    }

    /// A table of 80 columns, or of as many as the terminal has. Longer values are truncated; `--json` shows them in full.
    /// Where the terminal is narrow, a setting after the other.
    package static func table(
        _ settings: [Wire.Setting], withOrigin: Bool, width: Int = width
    ) -> [String] {
        guard width >= 60 else {
            let all = withOrigin ? lines(settings) : settings.map(assignment)
            return all.flatMap { line in
                Text.wrap(line, width: width - 2).enumerated().map {
                    ($0.offset == 0 ? "" : "  ") + $0.element
                }
            }
        }
        let keys = ["KEY"] + settings.map { Text.cut(Text.safe($0.key), to: max(48, width / 2)) }
        let values = ["VALUE"] + settings.map { Text.safe(formatted($0.value)) }
        let keyWidth = keys.map { Text.columns($0) }.max() ?? 0
        let heads = keys.map { Text.left($0, keyWidth) + " " }
        guard withOrigin else {
            let room = width - keyWidth - 1
            return zip(heads, values).map { head, value in head + Text.cut(value, to: room) }
        }
        let folder = commonFolder(settings.map(\.origin))
        let whole = ["ORIGIN"] + settings.map { relative(folder, $0.origin) + overriding($0) }
        let left = width - keyWidth - 2 - (whole.map { Text.columns($0) }.max() ?? 0)
        let valueWidth = min(values.map { Text.columns($0) }.max() ?? 0, max(left, Self.valueWidth))
        let origins = whole.map { Text.cutFront($0, to: width - keyWidth - valueWidth - 2) }
        // One long value is no reason to move all origins out of sight.
        let padding = width == unlimited ? min(valueWidth, Self.pipedWidth) : valueWidth
        var lines: [String] = []
        for (index, head) in heads.enumerated() {
            let value = Text.left(Text.cut(values[index], to: valueWidth), padding)
            lines.append("\(head)\(value) \(origins[index])")
        }
        if !folder.isEmpty { lines += ["", "Files are in \(Text.cut(Text.safe(folder), to: width - 13))"] }
        return lines
    }

    private static func assignment(_ setting: Wire.Setting) -> String {
        "\(Text.safe(setting.key)) = \(Text.safe(formatted(setting.value)))"
    }

    /// The origin without the common folder, which is formatted only once.
    private static func relative(_ folder: String, _ origin: String) -> String {
        Text.safe(isFile(origin) ? String(origin.dropFirst(folder.count)) : origin)
    }

    private static func overriding(_ setting: Wire.Setting) -> String {
        setting.overridesServer == true ? " > server" : ""
    }

    /// One line per setting: its value and origin.
    package static func lines(_ settings: [Wire.Setting]) -> [String] {
        settings.map {
            "\(assignment($0))  (\(Text.safe($0.origin) + overriding($0)))"
        }
    }

    /// The settings whose value differs from the requested one, a sentence each.
    package static func differences(
        _ settings: [Wire.Setting], from wanted: [String: JSONValue]
    ) -> [String] {
        settings.compactMap { setting in
            guard let asked = wanted[setting.key], !isSame(asked, setting.value) else { return nil }
            let value = formatted(setting.value)
            return "\(setting.key) is \(value), the nearest to \(formatted(asked)) that is allowed"
        }
    }

    /// What is to be said of destinations that did not go by new settings within 2 s; nil: all do.
    package static func late(_ destinations: [String]?) -> String? {
        guard let destinations, !destinations.isEmpty else { return nil }
        return "the settings are in force, but not yet where beekond still waits for the disk or for tokens: "
            + "\(destinations.joined(separator: ", ")); beekonctl status --json tells when (adopted_revision)"
    }

    /// The differences between two configurations, one line each.
    package static func changes(from old: [Wire.Setting], to new: [Wire.Setting]) -> [String] {
        let before = Dictionary(old.map { ($0.key, $0.value) }) { first, _ in first }
        let keys = Set(new.map(\.key))
        let changed = new.compactMap { setting -> String? in
            if let value = before[setting.key], value == setting.value { return nil }
            let was = before[setting.key].map { "was \(formatted($0))" } ?? "new"
            return Text.safe("\(setting.key) = \(formatted(setting.value))  (\(was))")
        }
        return changed + old.filter { !keys.contains($0.key) }.map { Text.safe("\($0.key) is gone") }
    }

    private static func isSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        if left == right { return true }
        guard let left = left.doubleValue, let right = right.doubleValue else { return false }
        return left == right
    }

    /// The value as it would appear in a configuration file.
    static func formatted(_ value: JSONValue) -> String {
        switch value {
        case .bool(let flag): "\(flag)"
        case .integer(let number): "\(number)"
        case .number(let number): Quantity.exact(number)
        case .string("(set)"): "(set)"
        case .string(let text): "\"\(text)\""
        case .array(let values): "[" + values.map(formatted).joined(separator: ", ") + "]"
        case .null, .object: "?"
        }
    }

    private static func isFile(_ origin: String) -> Bool { origin.hasPrefix("/") }

    /// The folder that contains all files, with a trailing slash; empty when there is none.
    private static func commonFolder(_ origins: [String]) -> String {
        var common: [Substring]?
        for origin in origins where isFile(origin) {
            let folders = origin.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            let known = common ?? Array(folders)
            common = zip(known, folders).prefix { $0 == $1 }.map(\.0)
        }
        return common.map { $0.joined(separator: "/") + "/" } ?? ""
    }
}
