internal import TOML

extension String {
    /// The text with control characters escaped, for a message.
    var escaped: String { printable }

    /// No control characters, in particular no line ends and no NUL.
    var isOneLine: Bool { unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } }
}
