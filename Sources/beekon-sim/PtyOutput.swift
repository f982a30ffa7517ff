import Glibc

/// A pseudo terminal in raw mode, which gpsd treats as a serial port.
struct PtyOutput: Output {
    private let primary: Int32
    /// Kept open, so that the line survives gpsd closing it, and unread bytes can be discarded.
    private let secondary: Int32

    init() throws {
        var ends: (primary: Int32, secondary: Int32) = (-1, -1)
        var buffer = [CChar](repeating: 0, count: 128)
        guard openpty(&ends.primary, &ends.secondary, &buffer, nil, nil) == 0 else { throw Self.failure }
        (primary, secondary) = ends
        var settings = termios()
        guard fcntl(primary, F_SETFL, O_NONBLOCK) == 0, tcgetattr(secondary, &settings) == 0 else {
            throw Self.failure
        }
        // Otherwise the terminal would echo every sentence and translate line ends.
        cfmakeraw(&settings)
        guard tcsetattr(secondary, TCSANOW, &settings) == 0 else { throw Self.failure }
        let path = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        writeAll(STDOUT_FILENO, path + [UInt8(ascii: "\n")])
    }

    private static var failure: Failure {
        Failure(
            Failure.cannotCreate,
            "cannot open a pseudo terminal: \(Failure.reason). Check that /dev/pts is mounted, or use --udp.")
    }

    mutating func send(_ text: String) throws {
        discardInput()
        let bytes = Array(text.utf8)
        guard !writeAll(primary, bytes) else { return }
        guard errno == EAGAIN else {
            throw Failure(
                Failure.ioError,
                "cannot write to the pseudo terminal: \(Failure.reason). Start beekon-sim again.")
        }
        // Nobody is reading. A serial line would have lost the old bytes, so discard them: gpsd then sees current
        // data.
        tcflush(secondary, TCIFLUSH)
        writeAll(primary, bytes)
    }

    /// gpsd sends probes to a receiver and would block if nobody read them.
    private func discardInput() {
        var buffer = [UInt8](repeating: 0, count: 1024)
        while read(primary, &buffer, buffer.count) > 0 {}
    }
}
