internal import Base
internal import Configuration
internal import Storage
internal import Tracking
internal import Upload

/// Names the call that waits for an answer.
typealias Token = Int

/// Commands to the reader, which executes them between two fixes.
///
/// When the mailbox is full, the caller is refused and can try again (`RateLimited`), except where noted.
enum ReaderCommand: Sendable {
    case start(Token)
    case stop(Token)
    case delete(before: Timestamp?, Token)
    case rejected(RejectedWork.Act, Token)
    /// Kept rows become pending again.
    case resend(Resend, Token)
    case setExtras([String: String], Token)
    case addGeofences([Geofence], Token)
    case removeGeofences([String], Token)
    /// One page of them, after the fence with this id.
    case listGeofences(after: String?, limit: Int, Token)
    case locate(OneShots.Request)
    /// Nobody waits for this answer any more. Dropped when the mailbox is full: the request then stays until it times
    /// out, and its answer is discarded.
    case forget(Token)
    /// Apply other settings. Always accepted: the configurator sends one at a time.
    case configure(Settings, KeptSettings?)
    /// Always accepted; `Board.isStopping` says the same.
    case end
}

/// What the disk has to hold before settings are in force.
enum KeptSettings: Sendable {
    /// What was set while running; without it nothing changes.
    case runtime(RuntimeSettings, [UInt8])
    /// A copy of the files that have just been read; a failure costs only the copy.
    case files(LastGoodConfiguration, Daemon.Options)
}

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
    /// An administrator supplies new tokens. Refused when the mailbox is full.
    case seed(Tokens, Token)
    /// Always accepted; the latest wins. Never overtakes a `seed`: tokens belong to the host of the settings before
    /// them.
    case configure(Settings)
    /// The reader could store again, so writes that failed in the uploader need not wait for its back-off. Always
    /// accepted.
    case storageRecovered
    /// Always accepted; `Board.isStopping` says the same.
    case end

    /// Merges it into the waiting commands.
    ///
    /// - Returns: false when it must be queued on its own.
    func merge(into waiting: inout [UploaderCommand]) -> Bool {
        switch (self, waiting.last) {
        case (.trigger(let trigger), _):
            return waiting.contains {
                if case .trigger(let other) = $0 { other.isLike(trigger) } else { false }
            }
        case (.abort(let more), _):
            guard let index = waiting.firstIndex(where: { if case .abort = $0 { true } else { false } }),
                case .abort(let batches) = waiting[index]
            else { return false }
            waiting[index] = .abort(batches + more)
            return true
        case (.configure, .configure):
            waiting[waiting.count - 1] = self
            return true
        case (.storageRecovered, _):
            return waiting.contains { if case .storageRecovered = $0 { true } else { false } }
        case (.configure, _), (.sync, _), (.rebatch, _), (.seed, _), (.end, _): return false
        }
    }
}

extension DrainTrigger {
    /// Both start the same drain; which outage was meant matters little.
    fileprivate func isLike(_ other: DrainTrigger) -> Bool {
        if case .networkReturned = self, case .networkReturned = other { return true }
        return self == other
    }
}

/// What reaches the main thread.
enum MainMessage: Sendable {
    /// What happens to a message when the mailbox is full.
    enum WhenFull: Equatable {
        /// Dropped, and counted for the subscribers.
        case drop
        /// Accepted anyway. There is one for each waiting client, and few others.
        case keep
        /// Accepted, unless an equivalent one is already waiting.
        case merge(String)
    }

    // Answers, each of which a caller waits for.
    case started(Token, Result<UUIDv7, Failure>)
    case stopped(Token, Result<Void, Failure>)
    case deleted(Token, Result<Removal, Failure>)
    case requeued(Token, Result<Int, Failure>)
    case purged(Token, Result<Int, Failure>)
    case resent(Token, Result<Int, Failure>)
    case extrasSet(Token, Result<Void, Failure>)
    case synced(Token, SyncResult)
    case rebatched(Token, Result<Rebatched, Failure>)
    case seeded(Token, Result<Void, Failure>)
    /// The reader goes by the settings that it was given, or could not.
    case settingsTaken(Result<Void, Failure>)
    case configured(Token, Result<Void, Failure>)
    case geofencesAdded(Token, Result<Void, Failure>)
    case geofencesRemoved(Token, Result<Int, Failure>)
    case geofences(Token, [Geofences.Item], isLast: Bool)
    case located(Token, Result<Location?, Failure>)
    // Streamed messages. Their data is already stored.
    case location(Location)
    case crossed(GeofenceEvent)
    case stateChanged(StateChange)
    // Hints: the change itself is on the board.
    case sourceChanged
    case syncChanged
    case authChanged
    // Without these the daemon would not end.
    case readerEnded
    case uploaderEnded

    var whenFull: WhenFull {
        switch self {
        case .location, .crossed: .drop
        case .sourceChanged: .merge("source")
        case .syncChanged: .merge("sync")
        case .authChanged: .merge("auth")
        // A change of state results from a command, and commands are bounded.
        case .started, .stopped, .deleted, .requeued, .purged, .resent, .extrasSet, .synced, .rebatched,
            .seeded, .settingsTaken, .configured, .geofencesAdded, .geofencesRemoved, .geofences, .located,
            .stateChanged, .readerEnded, .uploaderEnded:
            .keep
        }
    }

    /// The result of a deletion.
    struct Removal: Sendable {
        var removed: Int
        /// The names of files that were left as they are.
        var kept: [String]
    }

    /// What cannot be done; the text says why.
    struct Failure: Error, Sendable {
        enum Kind: Sendable {
            case storage, location
            /// The same is being done for somebody else; the seconds after which asking again is worth it.
            case busy(seconds: Int)
            case geofence(id: String)
            case setting(key: String)
            /// No batch can be dissolved.
            case noRebatch
            /// A caller with more rights could do this.
            case denied
        }

        var kind = Kind.storage
        var reason: String
    }
}

/// How the attempt that a `sync` asked for went. The names are the control interface's.
struct SyncResult: Sendable {
    enum Outcome: String, Sendable {
        case drained
        case nothingPending = "nothing_pending"
        case transient, auth, permanent, rejected, disabled
    }

    var outcome: Outcome
    var uploaded: Int
    var pending: Int
}
