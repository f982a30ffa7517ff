internal import Glibc

/// The terminal on standard output, if there is one.
package enum Terminal {
    /// Columns and rows of the terminal, else from `COLUMNS` and `LINES` in the environment, else 80 × 24.
    package static func size(of descriptor: Int32 = STDOUT_FILENO) -> (columns: Int, rows: Int) {
        var size = winsize()
        if ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 {
            return (Int(size.ws_col), Int(size.ws_row))
        }
        func number(_ name: String) -> Int? {
            getenv(name).flatMap { Int(String(cString: $0)) }.flatMap { (1...1000).contains($0) ? $0 : nil }
        }
        return (number("COLUMNS") ?? 80, number("LINES") ?? 24)
    }

    /// The line with its end; on a terminal as several, broken between words where it is too long. Files and pipes get lines
    /// as they are.
    package static func wrapped(_ line: String, on descriptor: Int32) -> String {
        guard isatty(descriptor) == 1 else { return line + "\n" }
        let width = max(size(of: descriptor).columns, 20)
        let indent = String(line.prefix { $0 == " " })
        guard Text.styledColumns(line) > width, indent.count < width / 2 else { return line + "\n" }
        return Text.wrapStyled(line, width: width - indent.count).map { indent + $0 + "\n" }.joined()
    }

    /// Whether standard output is a terminal with a movable cursor.
    package static var canRedraw: Bool {
        guard isatty(STDOUT_FILENO) == 1 else { return false }
        return getenv("TERM").map { String(cString: $0) != "dumb" } ?? false
    }

    /// Asks on standard error, and reads a line from standard input.
    ///
    /// - Parameter isShown: whether what is typed can be seen.
    /// - Returns: nil at the end of the input.
    package static func answer(to question: String, isShown: Bool) -> String? {
        var settings = termios()
        let isSilent = !isShown && tcgetattr(STDIN_FILENO, &settings) == 0
        if isSilent {
            var silent = settings
            silent.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        }
        say("\(question): ")
        defer {
            if isSilent {
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
                say("\n")
            }
        }
        return readLine()
    }

    private static func say(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(STDERR_FILENO, bytes, bytes.count)
    }
}
