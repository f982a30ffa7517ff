internal import Synchronization

/// Bytes that all requests together may hold. Taken before a body is read: what is not read costs nothing.
final class ByteBudget: Sendable {
    private let free: Mutex<Int>

    init(_ bytes: Int) {
        free = Mutex(bytes)
    }

    /// - Returns: nil when there are not as many left.
    func take(_ bytes: Int) -> Lease? {
        let isTaken = free.withLock { free in
            guard bytes <= free else { return false }
            free -= bytes
            return true
        }
        return isTaken ? Lease(self, bytes) : nil
    }

    /// Gives its bytes back at its end.
    final class Lease: Sendable {
        private let budget: ByteBudget
        private let bytes: Int

        fileprivate init(_ budget: ByteBudget, _ bytes: Int) {
            self.budget = budget
            self.bytes = bytes
        }

        deinit {
            budget.free.withLock { $0 += bytes }
        }
    }
}
