internal import CLinux
internal import Glibc

/// Keeps the memory of this process out of core dumps, out of reach of other processes of its user, and out of the
/// backtraces of the Swift runtime, which show some of it, and which for a process that may not be looked into never end.
public func forbidCoreDumps() {
    clinux_forbid_core_dumps()
    for number in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV] { _ = signal(number, SIG_DFL) }
}

/// Signals, read like any other input instead of interrupting.
public struct Signals: ~Copyable {
    /// What is asked of the daemon.
    public enum Signal: Sendable { case terminate, reload }

    private let descriptor: FileDescriptor

    /// For poll.
    public var raw: Int32 { descriptor.raw }

    /// Blocks SIGTERM, SIGINT and SIGHUP in this thread and all that it starts later, and ignores SIGPIPE.
    public init() throws(SystemError) {
        _ = signal(SIGPIPE, SIG_IGN)
        let numbers = [SIGTERM, SIGINT, SIGHUP]
        let raw = clinux_block_signals(
            numbers, Int32(numbers.count), Int32(SFD_CLOEXEC) | Int32(SFD_NONBLOCK))
        guard raw >= 0 else { throw SystemError("signalfd") }
        descriptor = FileDescriptor(owning: raw)
    }

    /// The signals that have come, in order.
    public func take() -> [Signal] {
        var signals: [Signal] = []
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        while read(raw, &info, size) == size {
            signals.append(Int32(info.ssi_signo) == SIGHUP ? .reload : .terminate)
        }
        return signals
    }
}
