extension Text {
    /// The columns of a text with colours.
    static func styledColumns(_ text: some StringProtocol) -> Int {
        guard text.utf8.contains(0x1B) else { return columns(text) }
        var (count, isEscape) = (0, false)
        for character in text {
            if character == "\u{1B}" {
                isEscape = true
            } else if isEscape {
                // Colours are the only sequences of ours, and end with this letter.
                isEscape = character != "m"
            } else {
                count += columns(character)
            }
        }
        return count
    }

    /// Like `wrap`, for a text with colours: broken at spaces alone, so that no sequence is. Unchanged where it fits.
    static func wrapStyled(_ text: String, width: Int) -> [String] {
        guard styledColumns(text) > width else { return [text] }
        var lines: [String] = []
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            if let last = lines.last, styledColumns(last) + 1 + styledColumns(word) <= width {
                lines[lines.count - 1] = last + " " + word
            } else if styledColumns(word) > width, !word.utf8.contains(0x1B) {
                // A single word that is wider than the screen.
                lines += wrap(String(word), width: width)
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
