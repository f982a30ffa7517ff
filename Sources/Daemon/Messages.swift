internal import Configuration
internal import Storage
internal import Tracking
internal import Upload

/// Names the call that waits for an answer.
typealias Token = Int

/// What the reader may be asked to do. It does it between two fixes.
///
/// When the mailbox is full, whoever asks is refused, and told to try again (`RateLimited`), except where it says otherwise.
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
    /// A page of them, after the one of this id.
    case listGeofences(after: String?, limit: Int, Token)
    case locate(OneShots.Request)
    /// Nobody waits for this answer any more. Lost when the mailbox is full: the fix is waited for until its time is over,
    /// and the answer goes nowhere.
    case forget(Token)
    /// Take up other settings. Always taken: the configurator has one under way at most.
    case configure(Settings, KeptSettings?)
    /// Always taken; `Board.isStopping` says it, too.
    case end
}

/// What the disk has to hold before settings are in force.
enum KeptSettings: Sendable {
    /// What was set while running; without it nothing changes.
    case runtime(RuntimeSettings, [UInt8])
    /// A copy of the files that have just been read; a failure costs only the copy.
    case files(LastGoodConfiguration, Daemon.Options)
}

/// What the uploader may be asked to do. What the other threads tell it is taken also by a mailbox that is full, and put
/// together with what waits, so that it cannot pile up; what clients ask for is refused to them then (`RateLimited`).
enum UploaderCommand: Sendable {
    /// Always taken; one of each kind waits. A client's, which comes by `post`, may be refused.
    case trigger(DrainTrigger)
    /// Refused when the mailbox is full.
    case sync(Token)
    /// An administrator wants smaller batches in the place of the one that does not get through. Refused when the mailbox is full.
    case rebatch(Token)
    /// The user has deleted rows of these batches: a request under way with one of them ends. Always taken.
    case abort([UUIDv7])
    /// An administrator gives new tokens. Refused when the mailbox is full.
    case seed(Tokens, Token)
    /// Always taken; the latest wins. Never past a `seed`: tokens are for the host of the settings that came before them.
    case configure(Settings)
    /// The reader could store again: what the uploader could not write need not wait for its back-off. Always taken.
    case storageRecovered
    /// Always taken; `Board.isStopping` says it, too.
    case end

    /// Adds it to the commands that wait already.
    ///
    /// - Returns: false when it is to wait for itself.
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
    /// Both make the same drain start; which outage was meant matters little.
    fileprivate func isLike(_ other: DrainTrigger) -> Bool {
        if case .networkReturned = self, case .networkReturned = other { return true }
        return self == other
    }
}

/// What reaches the main thread.
enum MainMessage: Sendable {
    /// What becomes of a message when the mailbox is full.
    enum WhenFull: Equatable {
        /// Lost, and counted to those who listen.
        case drop
        /// Taken all the same. There is one for each client that waits, and few besides.
        case keep
        /// Taken, unless one that says the same waits already.
        case merge(String)
    }

    // Answers: each is waited for.
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
    // What streams past. It is stored already.
    case location(Location)
    case crossed(GeofenceEvent)
    case stateChanged(StateChange)
    // Where to look: what has changed stands on the board.
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
        // A change of state comes of a command, which is bounded itself.
        case .started, .stopped, .deleted, .requeued, .purged, .resent, .extrasSet, .synced, .rebatched, .seeded,
            .settingsTaken, .configured, .geofencesAdded, .geofencesRemoved, .geofences, .located, .stateChanged,
            .readerEnded, .uploaderEnded:
            .keep
        }
    }

    /// What a deletion came to.
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
            /// No batch may be dissolved.
            case noRebatch
            /// Somebody with more rights could have it so.
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
