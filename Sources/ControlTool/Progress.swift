internal import Glibc

/// A progress line for long operations, redrawn in place on a terminal and erased in the end.
package struct Progress: ~Copyable {
    private let isShown: Bool

    /// - Parameter isShown: whether stderr is a terminal on which nothing else is drawn meanwhile.
    package init(isShown: Bool) {
        self.isShown = isShown
    }

    /// Shown only when stderr is a terminal.
    ///
    /// - Parameter isBusy: whether standard output is drawn on that terminal as well.
    package static func onTerminal(isBusy: Bool) -> Progress {
        Progress(isShown: isatty(STDERR_FILENO) == 1 && !isBusy)
    }

    deinit {
        show("")
    }

    /// Replaces the line.
    package func show(_ text: String) {
        guard isShown else { return }
        // A line that wraps could not be erased.
        let width = min(max(Terminal.size(of: STDERR_FILENO).columns, 20), 80) - 1
        let bytes = Array("\r\(Text.cut(text, to: width))\u{1B}[K".utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
