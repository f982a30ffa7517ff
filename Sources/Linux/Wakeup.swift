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
