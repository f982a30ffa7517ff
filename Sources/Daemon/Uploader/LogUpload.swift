internal import Base
internal import DaemonConfiguration
internal import Synchronization
internal import Upload

/// The daemon's own log, for the server of one destination that has asked for it: it goes out after what is pending, once an
/// hour at most.
final class LogUpload: Sendable {
    private struct State {
        /// The command that asks for it, by its id; nil: none does.
        var command: String?
        var askedAt: BootInstant?
        var attempts = 0
        /// Not before, after an answer that says so; nil: at once.
        var retryAt: BootInstant?
        /// In place of what follows host and port in the destination's url.
        var path = LogRequest.path
    }

    /// Seconds between two of them.
    private static let pause = 3600.0
    /// Seconds between two tries, at least.
    private static let retryDelay = 60.0
    /// How often it is tried: rows must not wait for ever in the back-off of a log that gets through nowhere.
    private static let attempts = 3

    private let state = Mutex(State())

    /// Where it goes, at the host and port of the destination.
    var path: String { state.withLock { $0.path } }

    /// When it is to be tried; nil: it is not.
    var due: BootInstant? {
        // At once: long ago, and yet a time that others can be compared with.
        state.withLock { $0.command == nil ? nil : $0.retryAt ?? BootInstant(nanoseconds: 0) }
    }

    /// From now on it is to be sent.
    ///
    /// - Parameters:
    ///   - path: where to.
    ///   - command: its id.
    /// - Returns: false, and nothing changes, when another one has asked for it within the last hour.
    func want(at path: String = LogRequest.path, for command: String, now: BootInstant) -> Bool {
        state.withLock { state in
            if state.command == command { return true }
            if let askedAt = state.askedAt, now.seconds(since: askedAt) < Self.pause { return false }
            state = State(command: command, askedAt: now, path: path)
            return true
        }
    }

    /// An attempt begins.
    ///
    /// - Returns: false when there have been enough.
    func begin() -> Bool {
        state.withLock { state in
            guard state.attempts < Self.attempts else { return false }
            state.attempts += 1
            return true
        }
    }

    /// The server has no time for it.
    ///
    /// - Parameter seconds: how long it wants to be left alone; nil: it does not say.
    /// - Returns: false when there have been enough attempts.
    func postpone(by seconds: Double?, now: BootInstant) -> Bool {
        state.withLock { state in
            state.retryAt = now.advanced(bySeconds: max(seconds ?? 0, Self.retryDelay))
            return state.attempts < Self.attempts
        }
    }

    /// The log has been sent, or is given up.
    ///
    /// - Returns: the id of the command that has asked for it.
    @discardableResult
    func done() -> String? {
        state.withLock { state in
            defer { state.command = nil }
            return state.command
        }
    }
}

extension UploaderPort {
    /// The server of this destination asks for the daemon's log (`upload_log`). It goes out after what is pending.
    ///
    /// - Parameters:
    ///   - url: where to, at the host and port of the destination; nil: to the usual place there.
    ///   - command: the id of the command, which has its result once the log has arrived, or is given up.
    /// - Returns: why it does not.
    func askForLog(
        at url: String? = nil, for command: String, now: BootInstant
    ) -> Result<Void, CommandFailure> {
        guard Log.isKept else {
            return .failure(CommandFailure(reason: "no log is kept: upload_log is not allowed"))
        }
        let path = url.map { String($0.dropFirst(Settings.origin(of: $0).count)) }
        guard log.want(at: path ?? LogRequest.path, for: command, now: now) else {
            return .failure(CommandFailure(reason: "the log was asked for within the last hour"))
        }
        deliver(.trigger(.log))
        return .success(())
    }
}
