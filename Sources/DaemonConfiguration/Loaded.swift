internal import TOML

/// A configuration as read: the settings, and where each came from.
package struct Loaded: Sendable, Equatable {
    /// What the daemon runs with.
    package let settings: Settings
    /// What the operator should know, a sentence each: clamped values, secrets others can read.
    package let warnings: [String]
    /// Every key with its value and origin, in the order of ``Key/all``, then those of further destinations; secrets are
    /// `(set)`.
    package let listing: [Entry]

    /// The settings while there is a URL that must not be used.
    var awaitingSync: Loaded {
        var settings = settings
        settings.awaitsSync = true
        return Loaded(settings: settings, warnings: warnings, listing: listing)
    }

    /// The settings while nobody knows what was set at run time.
    var holdingRows: Loaded {
        var settings = settings
        settings.holdsRows = true
        return Loaded(settings: settings, warnings: warnings, listing: listing)
    }

    /// The settings with something in force that a server has set.
    var withServersSettings: Loaded {
        var settings = settings
        settings.hasServersSettings = true
        return Loaded(settings: settings, warnings: warnings, listing: listing)
    }

    /// One line of the listing.
    package struct Entry: Sendable, Equatable {
        /// Dotted name, such as `tracking.interval_seconds`.
        package let key: String
        /// The value in force, never a secret.
        package let value: SettingValue
        package let origin: Origin
    }
}

/// A plain value of a setting, as TOML and JSON both have it.
package enum SettingValue: Sendable, Equatable {
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    /// Texts.
    case list([String])

    /// What an operator calls this type, with its article.
    var typeName: String {
        switch self {
        case .bool: "true or false"
        case .integer: "a whole number"
        case .number: "a number"
        case .string: "a text in quotes"
        case .list: "a list of texts"
        }
    }
}

extension TOMLNode {
    /// The value, if it is of a type that settings have.
    var setting: SettingValue? {
        switch content {
        case .value(.bool(let value)): return .bool(value)
        case .value(.integer(let value)): return .integer(value)
        case .value(.number(let value)): return .number(value)
        case .value(.string(let value)): return .string(value)
        case .array(let nodes):
            let texts = nodes.compactMap { node in
                if case .value(.string(let text)) = node.content { text } else { nil }
            }
            return texts.count == nodes.count ? .list(texts) : nil
        case .date, .tables, .table: return nil
        }
    }
}

/// Where a value was set.
package enum Origin: Sendable, Equatable, CustomStringConvertible {
    /// Nowhere: the default applies.
    case `default`
    /// By a command of the server.
    case server
    /// By the `Configure` method, while running.
    case runtime
    /// In this line of this file.
    case file(String, line: Int)

    /// In a configuration file.
    var isFile: Bool {
        if case .file = self { true } else { false }
    }

    /// `default`, `server`, `runtime` or `file:line`.
    package var description: String {
        switch self {
        case .default: "default"
        case .server: "server"
        case .runtime: "runtime"
        case .file(let path, let line): "\(path):\(line)"
        }
    }
}

/// Why a configuration cannot be used: every problem found, not only the first.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
    /// At least one.
    package let problems: [Problem]

    package init(_ problems: [Problem]) { self.problems = problems }

    /// One thing that is wrong, where it is, and what to do about it.
    package struct Problem: Sendable, Equatable, CustomStringConvertible {
        /// Path of the file, or `runtime` for a setting made while running.
        package let file: String
        /// Line, counted from 1; 0 where the whole file is meant.
        package let line: Int
        /// Column, counted from 1, of a syntax error.
        package let column: Int?
        /// Dotted name of the setting.
        package let key: String?
        /// What is wrong, what is allowed, and what to do.
        package let message: String

        package init(file: String, line: Int = 0, column: Int? = nil, key: String? = nil, message: String) {
            self.file = file
            self.line = line
            self.column = column
            self.key = key
            self.message = message
        }

        /// `file:line: key: message`.
        package var description: String {
            var text = line > 0 ? "\(file):\(line)" : file
            if let column { text += ":\(column)" }
            if let key { text += ": \(key)" }
            return text + ": " + message
        }
    }

    /// One problem a line.
    package var description: String { problems.map(\.description).joined(separator: "\n") }
}
