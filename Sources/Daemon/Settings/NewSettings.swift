internal import DaemonConfiguration
internal import Tracking

/// Settings in force, numbered in the order in which they came into force since the start.
struct SettingsInForce: Sendable {
    var revision = 0
    var settings: Settings
}

/// Settings that come into force once the reader has taken them up.
struct NewSettings: Sendable {
    /// What the disk has to hold before.
    enum Kept: Sendable {
        case nothing
        /// What was set while running, here or by the server.
        case runtime(RuntimeSettings, [UInt8])
        /// A copy of the files that have just been read; a failure costs only the copy.
        case files(LastGoodConfiguration, Daemon.Options)
    }

    /// The revision that the settings get once they are in force.
    var revision = 0
    var settings: Settings
    var kept = Kept.nothing
    /// The server asks for them, which a person's stop may hold against; nil: somebody here does.
    var serverRequest: Wish.ServerRequest?
}
