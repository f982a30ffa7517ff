internal import Base
internal import DaemonConfiguration
internal import Synchronization
internal import Upload

/// The daemon's own log, for the server of one destination that has asked for it: it goes out after what is pending, once an
/// hour at most.
final class LogErrand: Sendable {
    private struct State {
        var isWanted = false
        var askedAt: BootInstant?
        var attempts = 0
        /// In place of what follows host and port in the destination's url.
        var path = LogRequest.path
    }

    /// Seconds between two of them.
    private static let pause = 3600.0
    /// How often it is tried: rows must not wait for ever in the back-off of a log that gets through nowhere.
    private static let attempts = 3

    private let state = Mutex(State())

    /// Where it goes, at the host and port of the destination.
    var path: String { state.withLock { $0.path } }

    /// It is to be sent.
    var isWanted: Bool { state.withLock { $0.isWanted } }

    /// From now on it is to be sent.
    ///
    /// - Parameter path: where to.
    /// - Returns: false, and nothing changes, when that was so within the last hour. Still to be sent it may be asked for
    ///   again, so that a command that is repeated after a crash has the same result.
    func want(at path: String = LogRequest.path, now: BootInstant) -> Bool {
        state.withLock { state in
            if state.isWanted { return true }
            if let askedAt = state.askedAt, now.seconds(since: askedAt) < Self.pause { return false }
            state = State(isWanted: true, askedAt: now, path: path)
            return true
        }
    }

    /// An attempt begins.
    ///
    /// - Returns: false when it is not wanted, or not any more, because there have been enough.
    func begin() -> Bool {
        state.withLock { state in
            if state.attempts == Self.attempts { state.isWanted = false }
            state.attempts += 1
            return state.isWanted
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
    /// - Parameter url: where to, at the host and port of the destination; nil: to the usual place there.
    /// - Returns: why it does not.
    func askForLog(at url: String? = nil, now: BootInstant) -> Result<Void, Failure> {
        guard Log.isKept else {
            return .failure(Failure(reason: "no log is kept: upload_log is not allowed"))
        }
        let path = url.map { String($0.dropFirst(Settings.origin(of: $0).count)) }
        guard log.want(at: path ?? LogRequest.path, now: now) else {
            return .failure(Failure(reason: "the log was asked for within the last hour"))
        }
        deliver(.trigger(.log))
        return .success(())
    }
}
