import ArgumentParser
import Glibc

@main
struct Beekonctl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beekonctl",
        abstract: "Control and observe beekond, the location tracking daemon.",
        discussion: """
            EXAMPLES:
              beekonctl status
              beekonctl start && beekonctl watch
              beekonctl history --last 2h --format csv -o track.csv

            TIMES are ISO-8601 (2026-06-15T12:34:00Z; local without a zone), ages (-2h; s, m, h, d), now or \
            today.

            EXIT CODES follow sysexits.h: 0 done, 64 usage, 69 beekond not reachable, 74 input or output, \
            75 try again later, 77 permission, 78 configuration.
            """,
        version: "0.1.0",
        subcommands: [
            StatusCommand.self, StartCommand.self, StopCommand.self, SyncCommand.self, WatchCommand.self,
            LocateCommand.self, MotionCommand.self, HistoryCommand.self, SessionsCommand.self,
            TripsCommand.self, OdometerCommand.self, GeofenceCommand.self,
            DeleteCommand.self, ExtrasCommand.self, ConfigCommand.self, ReloadCommand.self,
            DestinationsCommand.self, DestinationCommand.self, RejectedCommand.self, ResendCommand.self,
            AuthCommand.self, PlotCommand.self, DoctorCommand.self,
            MetricsCommand.self, ReportCommand.self,
        ])

    /// Given before the verb they have the same effect: the verb's own group adopts them.
    @OptionGroup var common: CommonOptions

    static func main() {
        // If the reader goes away, writing fails with EPIPE, which ends the tool quietly.
        signal(SIGPIPE, SIG_IGN)
        main(nil)
    }
}
