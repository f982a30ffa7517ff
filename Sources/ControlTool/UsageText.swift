/// The usage that ArgumentParser writes, for terminals in which its two columns have no room.
package enum UsageText {
    /// Columns below which explanations stand below what they explain.
    package static let leastColumns = 60
    /// Where ArgumentParser begins explanations.
    private static let explanations = 26
    private static let indent = 6

    /// - Parameters:
    ///   - text: made for a terminal of any width, so that no line of it is broken.
    ///   - width: of the terminal.
    package static func narrow(_ text: String, width: Int) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line in
            parts(String(line)).flatMap { indent, words in
                words.isEmpty
                    ? [""] : Text.wrap(words, width: width - indent).map { Text.left("", indent) + $0 }
            }
        }
    }

    /// The parts of a line, each with its indent: a name and what it means stand in one.
    private static func parts(_ line: String) -> [(indent: Int, words: String)] {
        let spaces = line.prefix { $0 == " " }.count
        let words = String(line.dropFirst(spaces))
        if spaces == explanations { return [(indent, words)] }
        let name = line.prefix(explanations)
        guard spaces == 2, name.count == explanations, name.hasSuffix("  "), line.count > explanations else {
            return [(min(spaces, indent), words)]
        }
        let trimmed = name.dropFirst(spaces).reversed().drop { $0 == " " }.reversed()
        return [(spaces, String(trimmed)), (indent, String(line.dropFirst(explanations)))]
    }
}
