internal import Glibc
internal import Synchronization

/// Keeps the log from holding up whoever writes to it: a journal that hangs, or a pipe that nobody reads, costs lines, not
/// fixes.
final class LogRoom: Sendable {
    private struct State {
        var isFull = false
        var lost = 0
        /// nil while nobody may ask for it.
        var memory: LogMemory?
    }

    /// Milliseconds that a line waits for room, unless the one before it has waited in vain.
    private static let patience: Int32 = 500

    private let state = Mutex(State())

    /// Whether a line can be written without waiting; counts it as lost if not.
    ///
    /// - Parameters:
    ///   - descriptor: of what the line goes to.
    ///   - line: as it is kept, written or not; called only where lines are kept.
    func admits(_ descriptor: Int32, keeping line: () -> String) -> Bool {
        state.withLock { state in
            state.memory?.append(line())
            var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let patience = state.isFull ? 0 : Self.patience
            var ready: Int32
            repeat { ready = poll(&entry, 1, patience) } while ready < 0 && errno == EINTR
            // What cannot be polled is written to as ever.
            state.isFull = ready == 0
            if state.isFull { state.lost += 1 }
            return !state.isFull
        }
    }

    /// From now on the latest lines are kept, or none are.
    func keep(_ isWanted: Bool) {
        state.withLock { state in
            if isWanted != (state.memory != nil) { state.memory = isWanted ? LogMemory() : nil }
        }
    }

    /// Lines are kept.
    var isKeeping: Bool { state.withLock { $0.memory != nil } }

    /// The latest lines; nil while none are kept.
    var kept: [UInt8]? { state.withLock { $0.memory?.lines } }

    /// The lines lost since the last call.
    func takeLost() -> Int {
        state.withLock { state in
            defer { state.lost = 0 }
            return state.lost
        }
    }
}
