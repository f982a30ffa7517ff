internal import Glibc
internal import Linux
internal import Synchronization
internal import Systemd

/// Asks systemd for more time while the start takes long and gets on: a database of millions of rows that must be looked
/// through after a power cut would else be killed by TimeoutStartSec=, and begin anew for ever. A start that hangs is not
/// excused.
final class LongStart: Sendable {
    /// What the process has used up to now.
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

        /// Work was done since `earlier`; to look for it costs much less than that.
        func isProgress(since earlier: Usage) -> Bool {
            cpuSeconds - earlier.cpuSeconds > 0.01 || blocks != earlier.blocks
        }
    }

    /// Seconds between two looks; an ordinary start is over before the first.
    private static let interval = 5.0
    /// Seconds that are asked for: many times as long.
    private static let extra = 60.0

    private let isOver = Atomic(false)
    private let wakeup: Wakeup

    /// - Returns: nil when there is nobody to ask.
    convenience init?() {
        guard Notifier.isManaged else { return nil }
        self.init(every: Self.interval, usage: Usage.ofThisProcess) {
            Notifier.extendTimeout(seconds: Self.extra)
        }
    }

    init?(
        every seconds: Double, usage: @escaping @Sendable () -> Usage, extend: @escaping @Sendable () -> Void
    ) {
        guard let wakeup = try? Wakeup() else { return nil }
        self.wakeup = wakeup
        do {
            try startThread(named: "start") { [self] in
                var latest = usage()
                while true {
                    var poll = PollSet()
                    poll.add(wakeup.descriptor)
                    poll.wait(seconds: seconds)
                    if isOver.load(ordering: .relaxed) { return }
                    let now = usage()
                    if now.isProgress(since: latest) { extend() }
                    latest = now
                }
            }
        } catch {
            return nil
        }
    }

    /// The start is over, one way or the other.
    func end() {
        isOver.store(true, ordering: .relaxed)
        wakeup.signal()
    }
}
