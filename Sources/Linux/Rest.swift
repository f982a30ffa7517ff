package import Base
internal import Glibc

/// What a thread that has nothing to do waits for: something on one of its descriptors, or a moment, whichever comes first.
package struct Rest: Sendable {
    /// Seconds. poll(2) times out by a clock that stops during suspend, unlike CLOCK_BOOTTIME. Waking at least this
    /// often bounds how late a deadline is noticed after the machine resumes.
    private static let longestNap = 60.0

    private var entries: [pollfd] = []
    /// When it is over whatever comes; nil for never.
    package private(set) var end: BootInstant?

    /// - Parameter end: when it is over whatever comes; nil for never.
    package init(until end: BootInstant? = nil) {
        self.end = end
    }

    /// No rest: there is more to do at once.
    package static var none: Rest { Rest(until: BootInstant(nanoseconds: 0)) }

    /// Ends it then at the latest; nil changes nothing.
    package mutating func end(by moment: BootInstant?) {
        guard let moment else { return }
        end = min(end ?? moment, moment)
    }

    /// - Parameter descriptor: a negative one is never ready.
    package mutating func add(_ descriptor: Int32, read: Bool = true, write: Bool = false) {
        let events = (read ? Int16(POLLIN) : 0) | (write ? Int16(POLLOUT) : 0)
        entries.append(pollfd(fd: descriptor, events: events, revents: 0))
    }

    /// Adds the descriptors and the deadline of the other: what ends that ends this one, too.
    package mutating func add(_ other: Rest) {
        entries += other.entries
        end(by: other.end)
    }

    /// Sleeps until it is over, or earlier.
    ///
    /// - Parameter now: the present moment.
    package mutating func wait(now: BootInstant) {
        wait(seconds: end.map { max($0.seconds(since: now), 0) })
    }

    /// Sleeps until a descriptor is ready or `seconds` have passed; nil waits indefinitely. May return early.
    package mutating func wait(seconds: Double?) {
        // Rounded up: rounding down would spin during the last millisecond.
        let milliseconds = seconds.map { Int32((min(max($0, 0), Self.longestNap) * 1000).rounded(.up)) } ?? -1
        if poll(&entries, nfds_t(entries.count), milliseconds) < 0 {
            for index in entries.indices { entries[index].revents = 0 }
        }
    }

    /// Whether the `index`-th descriptor added was readable or had failed when the wait ended; false where there is none.
    package func isReadable(_ index: Int) -> Bool {
        index < entries.count && entries[index].revents & Int16(POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// Whether the `index`-th descriptor added was writable or had failed when the wait ended; false where there is none.
    package func isWritable(_ index: Int) -> Bool {
        index < entries.count && entries[index].revents & Int16(POLLOUT | POLLERR | POLLNVAL) != 0
    }
}
