internal import Glibc

/// How far something long has come: one line on a terminal that is drawn over and over, and gone in the end.
public struct Progress: ~Copyable {
    private let isShown: Bool

    /// - Parameter isShown: whether stderr is a terminal, and nothing else is written there meanwhile.
    public init(isShown: Bool) {
        self.isShown = isShown
    }

    /// Shown only when stderr is a terminal. `isBusy` says that the standard output draws on that terminal as well.
    public static func onTerminal(isBusy: Bool) -> Progress {
        Progress(isShown: isatty(STDERR_FILENO) == 1 && !isBusy)
    }

    deinit {
        show("")
    }

    /// Replaces the line.
    public func show(_ text: String) {
        guard isShown else { return }
        // A line that wraps would stay.
        let bytes = Array("\r\(Text.cut(text, to: 79))\u{1B}[K".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
