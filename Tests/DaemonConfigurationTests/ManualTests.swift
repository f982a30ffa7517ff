import FoundationEssentials
import Testing

@testable import DaemonConfiguration

/// The list of settings in beekond.toml(5) is made from the table of keys. `BEEKOND_MANUALS=write` writes it anew.
@Suite("the manual page of the configuration") struct ManualTests {
    private static let path =
        #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined() + "/etc/man/beekond.toml.5"
    private static let begin = ".\\\" begin keys: written by ManualTests\n"
    private static let end = ".\\\" end keys\n"

    @Test("every key is in it, with meaning, unit, range and default") func keys() throws {
        let bytes: Data = try Data(contentsOf: URL(filePath: Self.path))
        let page = String(decoding: bytes, as: UTF8.self)
        let begin: Range<String.Index>? = page.firstRange(of: Self.begin)
        let end: Range<String.Index>? = page.firstRange(of: Self.end)
        let start: String.Index = try #require(begin).upperBound
        let stop: String.Index = try #require(end).lowerBound
        let expected: String = Self.list()
        if ProcessInfo.processInfo.environment["BEEKOND_MANUALS"] == "write" {
            let text: String = String(page[..<start]) + expected + String(page[stop...])
            try Data(text.utf8).write(to: URL(filePath: Self.path))
            return
        }
        let found = String(page[start..<stop])
        let isCurrent: Bool = found == expected
        #expect(
            isCurrent,
            """
            etc/man/beekond.toml.5 is not what the keys say: run make manuals. \
            Lines it lacks: \(Self.lines(expected, notIn: found)); lines it has besides: \
            \(Self.lines(found, notIn: expected))
            """)
    }

    private static func lines(_ text: String, notIn other: String) -> [Substring] {
        let known = Set(other.split(separator: "\n"))
        return text.split(separator: "\n").filter { !known.contains($0) }
    }

    private static func list() -> String {
        var table = ""
        var text = ""
        for key in Key.all {
            // A table that is a setting as a whole stands by itself, or with the table that it is part of.
            let outer = key.name.split(separator: ".").dropLast().joined(separator: ".")
            let parent = outer.isEmpty && key.isOpen ? key.name : outer
            if table != parent && !(key.isOpen && !outer.isEmpty) || text.isEmpty {
                if !text.isEmpty { text += ".El\n" }
                text += parent.isEmpty ? "" : ".Ss [\(parent)]\n"
                text += ".Bl -tag -width Ds\n"
                table = parent
            }
            text += entry(key)
        }
        return text + ".El\n"
    }

    private static func entry(_ key: Key) -> String {
        let clamped = key.isClamped ? "; of others the nearest is taken, with a warning" : ""
        var lines = [".It Cm \(key.name)"] + sentences(key.meaning)
        if let formats = key.formats {
            let names = Settings.Format.Name.allCases.filter(formats.contains).map(\.rawValue)
            lines.append("For format \(names.joined(separator: ", ")).")
        }
        lines.append("Allowed: \(key.allowed)\(clamped).")
        switch key.defaultValue {
        case .bool(let value): lines.append("Default: \(value).")
        case .integer(let value): lines.append("Default: \(value).")
        case .number(let value): lines.append("Default: \(value.plain).")
        case .string(let value): lines.append("Default: \"\(value)\".")
        case .list(let texts):
            lines.append("Default: [\(texts.map { "\"\($0)\"" }.joined(separator: ", "))].")
        case nil: lines.append("Default: none.")
        }
        if key.isSecret { lines.append("A secret.") }
        if key.isFileOnly {
            lines.append("Only a configuration file can set it.")
        } else if key.needsAdmin {
            lines.append("Changing it while beekond runs needs group beekon-admin.")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A line each, as mdoc(7) wants them, none of which begins like a request.
    private static func sentences(_ text: String) -> [String] {
        text.split(separator: "\n").map { $0.hasPrefix(".") || $0.hasPrefix("'") ? "\\&\($0)" : String($0) }
    }
}
