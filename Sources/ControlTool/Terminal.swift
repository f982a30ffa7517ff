internal import Glibc

/// The terminal on standard output, if there is one.
package enum Terminal {
    /// Columns and rows of the terminal, else from `COLUMNS` and `LINES` in the environment, else 80 × 24.
    package static func size() -> (columns: Int, rows: Int) {
        var size = winsize()
        if ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 {
            return (Int(size.ws_col), Int(size.ws_row))
        }
        func number(_ name: String) -> Int? {
            getenv(name).flatMap { Int(String(cString: $0)) }.flatMap { (1...1000).contains($0) ? $0 : nil }
        }
        return (number("COLUMNS") ?? 80, number("LINES") ?? 24)
    }

    /// Whether standard output is a terminal with a movable cursor.
    package static var canRedraw: Bool {
        guard isatty(STDOUT_FILENO) == 1 else { return false }
        return getenv("TERM").map { String(cString: $0) != "dumb" } ?? false
    }
}
