/// Text for a terminal.
package enum Text {
    /// Makes everything visible that could control a terminal or reorder its line: control characters, line
    /// separators and bidirectional marks become `\u{1b}`.
    package static func safe(_ text: String) -> String {
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

    /// Truncates to `width` columns and marks the cut with `…`; nil does not truncate.
    package static func cut(_ text: String, to width: Int?) -> String {
        guard let width, columns(text) > width else { return text }
        return beginning(of: text[...], width: width - 1) + "…"
    }

    /// Truncates to `width` columns at the front, keeping the end: that is what distinguishes one device path from
    /// another.
    static func cutFront(_ text: String, to width: Int) -> String {
        guard columns(text) > width else { return text }
        var end = text[...]
        while !end.isEmpty, columns(end) > width - 1 { end.removeFirst() }
        return "…" + end
    }

    /// Pads with spaces on the left, for numbers.
    package static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - columns(text))) + text
    }

    /// Pads with spaces on the right, for words.
    package static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - columns(text)))
    }

    /// Exactly `width` columns: padded or truncated.
    static func fitted(_ text: String, _ width: Int) -> String {
        left(cut(text, to: width), width)
    }

    /// Lines of at most `width` columns, broken at spaces; a word longer than a line is split.
    package static func wrap(_ text: String, width: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, columns(last) + 1 + columns(word) <= width {
                lines[lines.count - 1] = last + " " + word
                continue
            }
            var rest = word
            while columns(rest) > width {
                let part = beginning(of: rest, width: width)
                // A single character may be wider than the line.
                rest = rest.dropFirst(max(part.count, 1))
                lines.append(part)
            }
            if !rest.isEmpty { lines.append(String(rest)) }
        }
        return lines
    }

    /// What belongs together, such as `next in 2 min 0 s`, with commas between: broken at these, and within one only where it
    /// is longer than a line.
    static func wrap(clauses: [String], width: Int) -> [String] {
        var lines: [String] = []
        for (index, clause) in clauses.enumerated() {
            let text = clause + (index < clauses.count - 1 ? "," : "")
            if let last = lines.last, columns(last) + 1 + columns(text) <= width {
                lines[lines.count - 1] = last + " " + text
            } else {
                lines += wrap(text, width: width)
            }
        }
        return lines
    }

    private static func beginning(of text: Substring, width: Int) -> String {
        var (result, used) = ("", 0)
        for character in text {
            used += columns(character)
            guard used <= width else { break }
            result.append(character)
        }
        return result
    }
}

/// Colours, or none.
package struct Palette: Sendable {
    private let enabled: Bool

    /// - Parameter enabled: if false, texts are left unchanged.
    package init(enabled: Bool) {
        self.enabled = enabled
    }

    /// Whether to use colours: only on a terminal, and not if the user has asked for none (no-color.org).
    package static func wanted(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    /// All is well.
    package func good(_ text: String) -> String { code("32", text) }
    /// Needs attention soon.
    package func warning(_ text: String) -> String { code("33", text) }
    /// Needs attention now.
    package func bad(_ text: String) -> String { code("1;31", text) }
    /// A heading.
    package func strong(_ text: String) -> String { code("1", text) }
    /// Marks text of minor interest.
    package func faint(_ text: String) -> String { code("2", text) }

    private func code(_ code: String, _ text: String) -> String {
        enabled ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
