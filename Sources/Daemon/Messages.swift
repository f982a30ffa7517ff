internal import Configuration
internal import Storage
internal import Tracking
internal import Upload

/// Names the call that waits for an answer.
typealias Token = Int

/// What the reader may be asked to do. It does it between two fixes.
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
    /// Nobody waits for this answer any more.
    case forget(Token)
    /// Take up other settings.
    case configure(Settings, KeptSettings?)
    case end
}

/// What the disk has to hold before settings are in force.
enum KeptSettings: Sendable {
    /// What was set while running; without it nothing changes.
    case runtime(RuntimeSettings, [UInt8])
    /// A copy of the files that have just been read; a failure costs only the copy.
    case files(LastGoodConfiguration, Daemon.Options)
}

/// What the uploader may be asked to do.
enum UploaderCommand: Sendable {
    case trigger(DrainTrigger)
    case sync(Token)
    /// An administrator wants smaller batches in the place of the one that does not get through.
    case rebatch(Token)
    /// The user has deleted rows of these batches: a request under way with one of them ends.
    case abort([UUIDv7])
    /// An administrator gives new tokens.
    case seed(Tokens, Token)
    case configure(Settings)
    /// The reader could store again: what the uploader could not write need not wait for its back-off.
    case storageRecovered
    case end
}

/// What reaches the main thread.
enum MainMessage: Sendable {
    case started(Token, Result<UUIDv7, Failure>)
    case stopped(Token, Result<Void, Failure>)
    case deleted(Token, Result<Int, Failure>)
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
    case location(Location)
    case crossed(GeofenceEvent)
    case stateChanged(StateChange)
    case sourceChanged
    case syncChanged
    case authChanged
    case readerEnded
    case uploaderEnded

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
