internal import Base
internal import Storage
internal import Tracking

/// Commands to the reader, which executes them between two fixes.
///
/// When the mailbox is full, the caller is refused and can try again (`RateLimited`), except where noted.
enum ReaderCommand: Sendable {
    case start(Token, by: Wish.Origin = .person)
    case stop(Token, by: Wish.Origin = .person)
    case delete(before: Timestamp?, Token)
    case rejected(RejectedWork.Act, of: DestinationName, Token)
    /// Changes what a destination is owed.
    case owe(OwedWork, Token)
    case setExtras([String: String], Token)
    /// Metres.
    case setOdometer(Double, Token)
    case addGeofences([Geofence], Token, by: Geofences.Origin = .person)
    /// nil: all of them.
    case removeGeofences([String]?, Token)
    /// One page of them, after the fence with this id.
    case listGeofences(after: String?, limit: Int, Token)
    case locate(OneShots.Request)
    /// For the next fix.
    case setMotion(MotionState, Token)
    /// Somebody says whether it is on.
    case setIgnition(Bool, Token)
    /// A command of the server, which is refused while a person's stop holds against what it shows.
    indirect case ofServer(Wish.ServerRequest, ReaderCommand, Token)
    /// Nobody waits for this answer any more. Dropped when the mailbox is full: the request then stays until it times
    /// out, and its answer is discarded.
    case forget(Token)
    /// Always accepted; `Board.isStopping` says the same.
    case end
}
