internal import CLinux
internal import Glibc

/// An eventfd that lets any thread wake another from poll(2).
package final class Wakeup: Sendable {
    /// Readable from `signal` until `clear`.
    package let descriptor: Int32

    package init() throws(SystemError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if descriptor < 0 { throw SystemError("eventfd") }
    }

    deinit {
        _ = close(descriptor)
    }

    /// Wakes the waiting thread. May be called from any thread, any number of times.
    package func signal() {
        // Fails only when the counter is full; the sleeper has been woken by then.
        _ = eventfd_write(descriptor, 1)
    }

    /// To be called by the waiting thread, before it checks for work.
    package func clear() {
        var count: eventfd_t = 0
        _ = eventfd_read(descriptor, &count)
    }
}

/// The descriptors for one poll(2).
package struct PollSet: ~Copyable {
    /// Seconds. poll(2) times out by a clock that stops during suspend, unlike CLOCK_BOOTTIME. Waking at least this
    /// often bounds how late a deadline is noticed after the machine resumes.
    private static let longestNap = 60.0

    private var entries: [pollfd] = []

    package init() {}

    /// - Parameter descriptor: a negative one is never ready.
    package mutating func add(_ descriptor: Int32, read: Bool = true, write: Bool = false) {
        let events = (read ? Int16(POLLIN) : 0) | (write ? Int16(POLLOUT) : 0)
        entries.append(pollfd(fd: descriptor, events: events, revents: 0))
    }

    /// Sleeps until a descriptor is ready or `seconds` have passed; nil waits indefinitely. May return early.
    package mutating func wait(seconds: Double?) {
        // Rounded up: rounding down would spin during the last millisecond.
        let milliseconds = seconds.map { Int32((min(max($0, 0), Self.longestNap) * 1000).rounded(.up)) } ?? -1
        if poll(&entries, nfds_t(entries.count), milliseconds) < 0 {
            for index in entries.indices { entries[index].revents = 0 }
        }
    }

    /// Whether the `index`-th descriptor added is readable or has failed.
    package func isReadable(_ index: Int) -> Bool {
        entries[index].revents & Int16(POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// Whether the `index`-th descriptor added is writable or has failed.
    package func isWritable(_ index: Int) -> Bool {
        entries[index].revents & Int16(POLLOUT | POLLERR | POLLNVAL) != 0
    }
}
