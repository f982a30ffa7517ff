internal import Base
internal import Storage
internal import Tracking

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

    /// The answer to a command, for whoever gave it.
    case completed(Token, Result<Completion, CommandFailure>)
    /// The reader goes by the settings that it was given, or could not.
    case settingsApplied(Result<Void, CommandFailure>)
    /// The uploader of this destination goes by other settings now, or by its first ones: which, is on its board.
    case settingsAdopted(DestinationName)
    /// A server's command is to be run.
    case runCommand(CommandRecord)
    // Streamed messages. Their data is already stored.
    case location(Location)
    case crossed(GeofenceEvent)
    case happened(VehicleEvent)
    case requestEnded(DestinationName, RequestRecord)
    /// A server's command has been done.
    case commandDone(CommandRecord)
    case stateChanged(StateChange)
    // Hints: the change itself is on the board.
    case sourceChanged
    case syncChanged(DestinationName)
    case authChanged(DestinationName)
    // Without these the daemon would not end.
    case readerEnded
    case uploaderEnded(DestinationName)

    var whenFull: WhenFull {
        switch self {
        case .location, .crossed, .happened, .requestEnded, .commandDone: .drop
        case .sourceChanged: .merge("source")
        case .syncChanged(let name): .merge("sync " + name.text)
        case .authChanged(let name): .merge("auth " + name.text)
        case .settingsAdopted(let name): .merge("adopted " + name.text)
        // A change of state results from a command, and commands are bounded.
        case .completed, .runCommand, .settingsApplied, .stateChanged, .readerEnded, .uploaderEnded: .keep
        }
    }
}
