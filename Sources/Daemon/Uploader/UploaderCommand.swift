internal import Base
internal import Storage
internal import Upload

/// Commands to the uploader. Even a full mailbox accepts those of other threads, and merges them with waiting ones so
/// that they cannot pile up; those of clients are then refused (`RateLimited`).
enum UploaderCommand: Sendable {
    /// Always accepted; one of each kind waits. A client's, which is sent with `post`, may be refused.
    case trigger(DrainTrigger)
    /// Refused when the mailbox is full.
    case sync(Token)
    /// An administrator wants smaller batches instead of the one that keeps failing. Refused when the mailbox is
    /// full.
    case rebatch(Token)
    /// The user has deleted rows of these batches: a request in progress with one of them is cancelled. Always
    /// accepted.
    case abort([UUIDv7])
    /// The user has deleted all locations up to then, or all: one that goes out from memory, in a heartbeat or in a result,
    /// is withdrawn. Always accepted.
    case erased(upTo: Timestamp?)
    /// An administrator supplies new tokens, which belong to the host of these settings. Refused when the mailbox is
    /// full.
    case seed(Tokens, for: SettingsInForce, Token)
    /// The reader could store again, so writes that failed in the uploader need not wait for its back-off. Always
    /// accepted.
    case storageRecovered
    /// A fix has told the time, for the first time: what waited for it is due. Always accepted; comes once.
    case timeKnown
    /// Another route may be in use, or be called metered. Always accepted.
    case routesChanged
    /// The uploader of another destination has ended: what that has left is for `main` to tidy. Always accepted.
    case otherEnded
    /// A broker has removed what it retained for Home Assistant, perhaps the one that this uploader has told something. Always
    /// accepted.
    case announcementRemoved
    /// What has become of a server's command. Always accepted; there is one at a time.
    case commandEnded(CommandRecord, CommandEnd)
    /// Always accepted; `Board.isStopping` says the same.
    case end

    /// Merges it into the waiting commands.
    ///
    /// - Returns: false when it must be queued on its own.
    func merge(into waiting: inout [UploaderCommand]) -> Bool {
        switch self {
        case .trigger(let trigger):
            return waiting.contains {
                if case .trigger(let other) = $0 { other.isLike(trigger) } else { false }
            }
        case .abort(let more):
            guard let index = waiting.firstIndex(where: { if case .abort = $0 { true } else { false } }),
                case .abort(let batches) = waiting[index]
            else { return false }
            waiting[index] = .abort(batches + more)
            return true
        case .storageRecovered:
            return waiting.contains { if case .storageRecovered = $0 { true } else { false } }
        case .routesChanged:
            return waiting.contains { if case .routesChanged = $0 { true } else { false } }
        case .announcementRemoved:
            return waiting.contains { if case .announcementRemoved = $0 { true } else { false } }
        case .otherEnded:
            return waiting.contains { if case .otherEnded = $0 { true } else { false } }
        case .timeKnown, .sync, .rebatch, .erased, .seed, .commandEnded, .end: return false
        }
    }
}

/// What has become of a server's command, where it was carried out.
enum CommandEnd: Equatable, Sendable {
    /// The command has been carried out, or refused: its result can be written.
    case outcome(CommandOutcome)
    /// The command takes an upload, after which there is an outcome. The next one need not wait for it.
    case upload
    /// The command is to be tried again.
    case later
}

extension DrainTrigger {
    /// Whether both start the same drain; which outage was meant matters little.
    fileprivate func isLike(_ other: DrainTrigger) -> Bool {
        if case .networkReturned = self, case .networkReturned = other { return true }
        return self == other
    }
}
