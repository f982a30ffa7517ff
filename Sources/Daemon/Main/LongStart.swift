internal import Glibc
internal import Linux
internal import Synchronization
internal import Systemd

/// Asks systemd for more time while a long start makes progress: checking a database of millions of rows after a
/// power cut would otherwise be killed by TimeoutStartSec=, and restarted forever. A start that hangs gets no more
/// time. When the end is asked for meanwhile, the process ends at once: what the start was doing is in a transaction, or
/// in a file that is not in place yet, as at a power cut.
final class LongStart: Sendable {
    /// The resources that the process has used so far.
    struct Usage: Equatable {
        var cpuSeconds: Double
        var blocks: Int

        static func ofThisProcess() -> Usage {
            var usage = rusage()
            getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
            let times = [usage.ru_utime, usage.ru_stime]
            return Usage(
                cpuSeconds: times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 },
                blocks: usage.ru_inblock + usage.ru_oublock)
        }

        /// Whether work was done since `earlier`; looking for it costs much less than that.
        func isProgress(since earlier: Usage) -> Bool {
            cpuSeconds - earlier.cpuSeconds > 0.01 || blocks != earlier.blocks
        }
    }

    /// Seconds between two looks; an ordinary start ends before the first.
    private static let interval = 5.0
    /// Seconds to ask for: many times the interval.
    private static let extra = 60.0

    private let isOver = Atomic(false)
    private let wakeup: Wakeup
    private let termination: FileDescriptor

    /// - Returns: nil when the system is out of threads or descriptors.
    convenience init?() {
        self.init(every: Self.interval, usage: Usage.ofThisProcess) {
            Notifier.extendTimeout(seconds: Self.extra)
        } terminate: {
            Notifier.stopping()
            Log.notice(
                .stopped,
                "beekond was told to end while it started, and has stopped; the next start begins anew")
            _exit(0)
        }
    }

    init?(
        every seconds: Double, usage: @escaping @Sendable () -> Usage, extend: @escaping @Sendable () -> Void,
        terminate: @escaping @Sendable () -> Void
    ) {
        guard let wakeup = try? Wakeup(), let termination = try? Signals.termination() else { return nil }
        self.wakeup = wakeup
        self.termination = termination
        do {
            try startThread(named: "start") { [self] in
                var latest = usage()
                while true {
                    var rest = Rest()
                    rest.add(wakeup.descriptor)
                    rest.add(self.termination.raw)
                    rest.wait(seconds: seconds)
                    if isOver.load(ordering: .relaxed) { return }
                    if rest.isReadable(1) {
                        // From the end of the start on, it is up to the main thread.
                        if !isOver.exchange(true, ordering: .relaxed) { terminate() }
                        return
                    }
                    let now = usage()
                    if now.isProgress(since: latest) { extend() }
                    latest = now
                }
            }
        } catch {
            return nil
        }
    }

    /// The start is over, successful or not.
    func end() {
        isOver.store(true, ordering: .relaxed)
        wakeup.signal()
    }
}
