internal import Base
internal import Synchronization
internal import Upload

/// The daemon's own log, for the server of one destination that has asked for it: it goes out after what is pending, once an
/// hour at most.
final class LogErrand: Sendable {
    private struct State {
        var isWanted = false
        var askedAt: BootInstant?
    }

    /// Seconds between two of them.
    private static let pause = 3600.0

    private let state = Mutex(State())

    /// It is to be sent.
    var isWanted: Bool { state.withLock { $0.isWanted } }

    /// From now on it is to be sent.
    ///
    /// - Returns: false, and nothing changes, when that was so within the last hour. Still to be sent it may be asked for
    ///   again, so that a command that is repeated after a crash has the same result.
    func want(now: BootInstant) -> Bool {
        state.withLock { state in
            if state.isWanted { return true }
            if let askedAt = state.askedAt, now.seconds(since: askedAt) < Self.pause { return false }
            state = State(isWanted: true, askedAt: now)
            return true
        }
    }

    /// It has been sent, or cannot be.
    func done() {
        state.withLock { $0.isWanted = false }
    }
}

extension UploaderPort {
    /// The server of this destination asks for the daemon's log (`upload_log`). It goes out after what is pending.
    ///
    /// - Returns: why it does not.
    func askForLog(now: BootInstant) -> Result<Void, Failure> {
        guard Log.isKept else {
            return .failure(Failure(reason: "no log is kept: upload_log is not allowed"))
        }
        guard log.want(now: now) else {
            return .failure(Failure(reason: "the log was asked for within the last hour"))
        }
        deliver(.trigger(.log))
        return .success(())
    }
}
