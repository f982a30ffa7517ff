internal import Base
internal import Simulation
internal import Upload

/// One vehicle of the fleet.
package struct Member: Sendable {
    package let habits: Habits
    package internal(set) var rows = Rows()
    var whereabouts: Whereabouts
    var schedule: DrainSchedule
    var drain = Drain()
    var flight = Flight.none
    var random: SplitMix64
    /// Where it is on its road, in seconds, and since when it has been there.
    var road: (seconds: Double, since: BootInstant)
    /// Since when it has had something pending, been online and got nothing accepted; nil: it has not.
    var waitsSince: BootInstant?

    /// Anything that must be done by itself.
    var due: BootInstant {
        var due = min(whereabouts.due, flight.due)
        if whereabouts.power == .on, flight == .none {
            if let time = schedule.due { due = min(due, time) }
            if let time = schedule.heartbeatDue { due = min(due, time) }
        }
        return due
    }

    /// The vehicle stores what it drives.
    var isRecording: Bool { whereabouts.isDriving && whereabouts.power == .on }
}
