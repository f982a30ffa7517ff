internal import Glibc

/// A screen that is redrawn in place on the terminal's alternate page. The terminal is restored when it ends, even by
/// a signal. For single-threaded programs.
package struct LiveScreen: ~Copyable {
    /// What ended a wait.
    package enum Wake: Equatable {
        /// The time has passed, or the terminal was resized.
        case redraw
        /// The user asked to end; with the signal.
        case end(Int32)
    }

    private let canRedraw: Bool
    private var signals = sigset_t()

    // No cursor and no wrapping: in a narrow terminal lines are truncated instead of pushing the others down.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// - Parameter canRedraw: if false, screens are printed one below the other.
    package init(canRedraw: Bool) {
        self.canRedraw = canRedraw
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH] { sigaddset(&signals, number) }
        // Blocked except while `wait` waits, so that no signal can leave the terminal half drawn.
        sigprocmask(SIG_BLOCK, &signals, nil)
        if canRedraw { Self.send(Self.enter) }
    }

    deinit {
        if canRedraw { Self.send(Self.leave) }
    }

    /// Shows the lines. Whatever does not fit is left out, and the last line then says how much that is.
    package func draw(_ lines: [String]) throws {
        guard canRedraw else { return try Self.write(lines.map { $0 + "\n" }.joined() + "\n") }
        let room = max(Terminal.size().rows - 1, 1)
        var shown = lines.prefix(room)
        if lines.count > room {
            shown = lines.prefix(room - 1) + ["… \(lines.count - room + 1) more lines below"]
        }
        // Overwrites instead of clearing first, which would flicker.
        try Self.write("\u{1B}[H" + shown.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
    }

    /// Waits for a second or a signal. Ctrl-Z restores the terminal until the tool is resumed.
    package func wait() -> Wake {
        var second = timespec(tv_sec: 1, tv_nsec: 0)
        var set = signals
        let number = sigtimedwait(&set, nil, &second)
        switch number {
        case SIGINT, SIGTERM, SIGHUP: return .end(number)
        case SIGTSTP:
            if canRedraw { Self.send(Self.leave) }
            kill(getpid(), SIGSTOP)
            if canRedraw { Self.send(Self.enter) }
            return .redraw
        default: return .redraw
        }
    }

    private static func send(_ text: String) { try? write(text) }

    private static func write(_ text: String) throws {
        var output = Output()
        output.add(text)
        try output.flush()
    }
}
