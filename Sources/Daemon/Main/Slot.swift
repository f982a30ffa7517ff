internal import Linux
internal import Synchronization

/// Holds the latest value for another thread. A newer one replaces one that has not been taken, so there is always room.
final class Slot<Value: Sendable>: Sendable {
    private let latest = Mutex<Value?>(nil)
    private let wakeup: Wakeup

    /// - Parameter wakeup: of the thread that takes the values. It must clear it before it looks here for the last time.
    init(waking wakeup: Wakeup) {
        self.wakeup = wakeup
    }

    func put(_ value: Value) {
        latest.withLock { $0 = value }
        wakeup.signal()
    }

    /// Removes and returns the value, if there is a new one.
    func take() -> Value? {
        latest.withLock { latest in
            defer { latest = nil }
            return latest
        }
    }

    var isEmpty: Bool { latest.withLock { $0 == nil } }
}
