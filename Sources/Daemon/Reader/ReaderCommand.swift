internal import Base
internal import Storage
internal import Tracking

/// Commands to the reader, which executes them between two fixes.
///
/// When the mailbox is full, the caller is refused and can try again (`RateLimited`), except where noted.
enum ReaderCommand: Sendable {
    case start(Token)
    case stop(Token)
    case delete(before: Timestamp?, Token)
    case rejected(RejectedWork.Act, of: DestinationName, Token)
    /// Changes what a destination is owed.
    case owe(OwedWork, Token)
    case setExtras([String: String], Token)
    /// Metres.
    case setOdometer(Double, Token)
    case addGeofences([Geofence], Token)
    case removeGeofences([String], Token)
    /// One page of them, after the fence with this id.
    case listGeofences(after: String?, limit: Int, Token)
    case locate(OneShots.Request)
    /// Nobody waits for this answer any more. Dropped when the mailbox is full: the request then stays until it times
    /// out, and its answer is discarded.
    case forget(Token)
    /// Always accepted; `Board.isStopping` says the same.
    case end
}
