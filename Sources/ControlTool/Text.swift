/// Text for a terminal.
public enum Text {
    /// The text with everything that could steer a terminal or reorder its line made visible: control
    /// characters, line separators and bidirectional marks become `\u{1b}`.
    public static func safe(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isDangerous) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isDangerous(scalar) {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F: true  // C0, DEL, C1: U+009B alone begins a control sequence
        case 0x200E, 0x200F, 0x061C, 0x202A...0x202E, 0x2066...0x2069: true  // direction
        case 0x2028, 0x2029: true  // line and paragraph separators
        default: false
        }
    }

    /// Cut to `width` characters; the cut shows as `…`.
    public static func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(max(width - 1, 0)) + "…"
    }

    /// Filled up with spaces on the left, for numbers.
    public static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    /// Filled up with spaces on the right, for words.
    public static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    /// Lines of at most `width` characters, broken at spaces. A word longer than a line stands alone in its
    /// own.
    public static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= width {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}

/// Colours, or none.
public struct Palette: Sendable {
    private let enabled: Bool

    /// - Parameter enabled: false leaves every text as it is.
    public init(enabled: Bool) {
        self.enabled = enabled
    }

    /// Whether to colour: only on a terminal, and not when the user asked for none (no-color.org).
    public static func wanted(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    /// All is well.
    public func good(_ text: String) -> String { code("32", text) }
    /// Wants attention soon.
    public func warning(_ text: String) -> String { code("33", text) }
    /// Wants attention now.
    public func bad(_ text: String) -> String { code("1;31", text) }
    /// A heading.
    public func strong(_ text: String) -> String { code("1", text) }
    /// Of lesser interest.
    public func faint(_ text: String) -> String { code("2", text) }

    private func code(_ code: String, _ text: String) -> String {
        enabled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
