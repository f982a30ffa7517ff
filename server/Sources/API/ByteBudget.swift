internal import Synchronization

/// Bytes that all requests together may hold. Taken before they are read or made: what there is no room for costs nothing.
final class ByteBudget: Sendable {
    private let free: Mutex<Int>

    init(_ bytes: Int) {
        free = Mutex(bytes)
    }

    /// - Returns: nil when there are not as many left.
    func take(_ bytes: Int) -> Lease? {
        deduct(bytes) ? Lease(self, bytes) : nil
    }

    /// Whether there are as many left, at this moment.
    func hasRoom(for bytes: Int) -> Bool {
        free.withLock { bytes <= $0 }
    }

    private func deduct(_ bytes: Int) -> Bool {
        free.withLock { free in
            guard bytes <= free else { return false }
            free -= bytes
            return true
        }
    }

    /// Gives its bytes back at its end.
    final class Lease: Sendable {
        private let budget: ByteBudget
        private let bytes: Mutex<Int>

        fileprivate init(_ budget: ByteBudget, _ bytes: Int) {
            self.budget = budget
            self.bytes = Mutex(bytes)
        }

        /// Takes more of them.
        ///
        /// - Returns: false when there are not as many left; it then holds what it held.
        func grow(by more: Int) -> Bool {
            guard budget.deduct(more) else { return false }
            bytes.withLock { $0 += more }
            return true
        }

        deinit {
            let held = bytes.withLock { $0 }
            budget.free.withLock { $0 += held }
        }
    }
}
