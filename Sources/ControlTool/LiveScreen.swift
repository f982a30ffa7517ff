internal import Glibc

/// A screen that is drawn over and over in the same place, on the terminal's alternate page, which it leaves as it was:
/// also when a signal ends the tool. For one thread.
public struct LiveScreen: ~Copyable {
    /// What ends a wait.
    public enum Wake: Equatable {
        /// The time has passed, or the terminal has another size.
        case redraw
        /// The user has had enough; the signal.
        case end(Int32)
    }

    private let canRedraw: Bool
    private var signals = sigset_t()

    // Without a cursor, and without wrapping: in a narrow terminal a line is cut, and does not push the others down.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l"
    private static let leave = "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    /// - Parameter canRedraw: false prints the screens one below the other instead.
    public init(canRedraw: Bool) {
        self.canRedraw = canRedraw
        sigemptyset(&signals)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH] { sigaddset(&signals, number) }
        // From here on they come only while `wait` waits, so that none can leave the terminal half drawn.
        sigprocmask(SIG_BLOCK, &signals, nil)
        if canRedraw { Self.send(Self.enter) }
    }

    deinit {
        if canRedraw { Self.send(Self.leave) }
    }

    /// Shows the lines; what is beyond the terminal's edges is left out, and the last line says how much that is.
    public func draw(_ lines: [String]) throws {
        guard canRedraw else { return try Self.write(lines.map { $0 + "\n" }.joined() + "\n") }
        let room = max(Terminal.size().rows - 1, 1)
        var shown = lines.prefix(room)
        if lines.count > room {
            shown = lines.prefix(room - 1) + ["… \(lines.count - room + 1) more lines below"]
        }
        // Over what is there and not after a blank screen: that would flicker.
        try Self.write("\u{1B}[H" + shown.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J")
    }

    /// Waits for a second, or a signal. Ctrl-Z gives the terminal back until the shell goes on with the tool.
    public func wait() -> Wake {
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
