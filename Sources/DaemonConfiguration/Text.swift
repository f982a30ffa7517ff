internal import TOML

extension String {
    /// As it may stand in a message.
    var escaped: String { printable }

    /// No control characters, in particular no line ends and no NUL.
    var isOneLine: Bool { unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } }
}
