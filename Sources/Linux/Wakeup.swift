internal import CLinux
internal import Glibc

/// An eventfd: lets any thread wake one that sleeps in poll(2).
public final class Wakeup: Sendable {
    /// Readable after `signal` until `clear`.
    public let descriptor: Int32

    /// A new eventfd, not signalled.
    public init() throws(SystemError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { throw SystemError("eventfd") }
    }

    deinit {
        _ = close(descriptor)
    }

    /// Wakes who waits; may be called from any thread, and often.
    public func signal() {
        // Fails only when the counter is full, and then the sleeper is awake already.
        _ = eventfd_write(descriptor, 1)
    }

    /// To be called by who waits, before looking at what there is to do.
    public func clear() {
        var count: eventfd_t = 0
        _ = eventfd_read(descriptor, &count)
    }
}

/// What one poll(2) waits for.
public struct PollSet: ~Copyable {
    /// Seconds. The clock of poll(2) stands still while the machine is suspended, CLOCK_BOOTTIME does not: whoever waits for
    /// a moment looks again this often, so that it comes no later than this after the machine has woken up.
    private static let longestNap = 60.0

    private var entries: [pollfd] = []

    /// An empty set.
    public init() {}

    /// - Parameter descriptor: a negative one is never ready.
    public mutating func add(_ descriptor: Int32, read: Bool = true, write: Bool = false) {
        let events = (read ? Int16(POLLIN) : 0) | (write ? Int16(POLLOUT) : 0)
        entries.append(pollfd(fd: descriptor, events: events, revents: 0))
    }

    /// Sleeps until something is ready or `seconds` have passed; nil waits for ever. May return early.
    public mutating func wait(seconds: Double?) {
        // Rounded up: rounding down would spin through the last millisecond.
        let milliseconds = seconds.map { Int32((min(max($0, 0), Self.longestNap) * 1000).rounded(.up)) } ?? -1
        if poll(&entries, nfds_t(entries.count), milliseconds) < 0 {
            for index in entries.indices { entries[index].revents = 0 }
        }
    }

    /// Whether the descriptor that was added as the `index`-th may be read, or has failed.
    public func isReadable(_ index: Int) -> Bool {
        entries[index].revents & Int16(POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// Whether the descriptor that was added as the `index`-th may be written, or has failed.
    public func isWritable(_ index: Int) -> Bool {
        entries[index].revents & Int16(POLLOUT | POLLERR | POLLNVAL) != 0
    }
}
