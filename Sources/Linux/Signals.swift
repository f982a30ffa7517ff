internal import CLinux
internal import Glibc

/// Keeps this process's memory out of core dumps, out of reach of the user's other processes, and out of the Swift
/// runtime's backtraces, which would show some of it and, in a non-dumpable process, hang for ever.
package func forbidCoreDumps() {
    clinux_forbid_core_dumps()
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { _ = signal(number, SIG_DFL) }
}

/// Signals as an input to poll, instead of interrupting.
package struct Signals: ~Copyable {
    /// What the signal asks for.
    package enum Signal: Sendable { case terminate, reload }

    private let descriptor: FileDescriptor

    /// For poll(2).
    package var raw: Int32 { descriptor.raw }

    /// Blocks SIGTERM, SIGINT and SIGHUP in this thread and all threads it starts later, and ignores SIGPIPE.
    package init() throws(SystemError) {
        _ = signal(SIGPIPE, SIG_IGN)
        descriptor = try Self.block([SIGTERM, SIGINT, SIGHUP])
    }

    /// Readable once the end has been asked for. Not to be read, so that `receive` still finds the signal. Both signals
    /// must be blocked.
    package static func termination() throws(SystemError) -> FileDescriptor {
        try block([SIGTERM, SIGINT])
    }

    private static func block(_ numbers: [Int32]) throws(SystemError) -> FileDescriptor {
        let raw = clinux_block_signals(
            numbers, Int32(numbers.count), Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
        guard raw >= 0 else { throw SystemError("signalfd") }
        return FileDescriptor(owning: raw)
    }

    /// The signals received since the last call, in order.
    package func receive() -> [Signal] {
        var signals: [Signal] = []
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while read(raw, &info, size) == size {
            signals.append(Int32(info.ssi_signo) == SIGHUP ? .reload : .terminate)
        }
        return signals
    }
}
