import Glibc

/// The terminal, if there is one.
enum Terminal {
    /// Reads a line that is not shown while it is typed.
    ///
    /// - Returns: nil at the end of the input.
    static func secret(_ prompt: String) -> String? {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return readLine() }
        var silent = settings
        silent.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) }
        print(prompt, terminator: "")
        fflush(nil)
        let line = readLine()
        print("")
        return line
    }
}
