internal import Base
internal import DaemonConfiguration
internal import Storage
internal import Tracking

/// A request to change something, or for something that only another thread can answer. Its values have been checked;
/// whether the caller may ask is for ``Authority`` to say, and for clients of the control socket `Methods`.
enum Command: Sendable {
    case start
    case stop
    /// Deletes everything, or what is not later than this.
    case delete(before: Timestamp?)
    /// Dead letters become pending again.
    case requeueRejected(of: DestinationName)
    case purgeRejected(of: DestinationName)
    /// Kept rows become pending again.
    case resend(Resend)
    case backfill(Backfill)
    case forgetDestination(DestinationName)
    /// Smaller batches instead of the one that keeps failing.
    case rebatch(of: DestinationName)
    /// An attempt to upload now, to all destinations unless one is named. When nobody waits for its end, what is pending is
    /// answered at once.
    case sync(DestinationName?, isAwaited: Bool)
    /// Every destination, and the worst of them answers.
    case syncEach(isAwaited: Bool)
    case seedAuth(Seed, of: DestinationName)
    case setExtras(Extras)
    case setOdometer(Mileage)
    case addGeofences([Geofence])
    /// Unknown ids are ignored.
    case removeGeofences([String])
    case removeAllGeofences
    /// One page, after the fence with this id.
    case listGeofences(after: String?, limit: Int)
    case locate(FixRequest)
    /// Whether the vehicle moves, for the next fix.
    case setMotion(SetMotion)
    /// Whether the ignition is on.
    case setIgnition(Bool)
    /// Sets values, in the layer of whoever asks: the server has one of its own.
    case configure([String: ProposedValue])
    /// Takes back what `configure` has set.
    case resetConfig([String])
    /// Takes back what the server has set; nil: all of it.
    case resetServerConfig([String]?)
    /// Reads the configuration files again.
    case reload

    /// Where a command comes from.
    enum Origin: CaseIterable {
        /// Clients of the control socket, by their rights.
        case root
        /// The user that the daemon runs as, who could change its files anyway.
        case daemonUser
        /// A member of the group of administrators.
        case admin
        /// Anybody else who may open the socket.
        case member
        /// SIGHUP.
        case signal
        /// The server, in an answer to an upload.
        case server
    }
}

/// Who gives a command, and how the log names that.
struct Caller: Sendable {
    let origin: Command.Origin
    /// In the caller's words: `DeleteLocations`.
    let request: String
    /// Who calls, such as "uid 1000, pid 7".
    let name: String
    let fields: [(Log.Field, String)]
    /// A line in the log says what this caller asks for: something is to change, or a server gives a command.
    let isLogged: Bool

    /// The service manager, which logs for itself that it asks.
    static let hangup = Caller(
        origin: .signal, request: "Reload", name: "SIGHUP", fields: [], isLogged: false)
}
