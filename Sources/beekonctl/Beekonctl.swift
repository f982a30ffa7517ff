import ArgumentParser
internal import ControlProtocol
import ControlTool
import Glibc
internal import Linux

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

            TIMES are ISO-8601 (2026-06-15T12:34:00Z; local without a zone), ages (2h or -2h; s, m, h, d, w), now, \
            today or yesterday.

            EXIT CODES follow sysexits.h: 0 done, 64 usage, 65 data refused, 69 beekond not reachable, 74 input or \
            output, 75 try again later, 76 refused, and retrying does not help, 77 permission, 78 configuration.
            """,
        version: Release.version,
        groupedSubcommands: [
            CommandGroup(
                name: "See",
                subcommands: [
                    StatusCommand.self, WatchCommand.self, LocateCommand.self, DoctorCommand.self,
                ]),
            CommandGroup(
                name: "Control",
                subcommands: [
                    StartCommand.self, StopCommand.self, MotionCommand.self, IgnitionCommand.self,
                    OdometerCommand.self, GeofenceCommand.self, ExtrasCommand.self,
                ]),
            CommandGroup(
                name: "Data",
                subcommands: [
                    HistoryCommand.self, TripsCommand.self, EventsCommand.self, SessionsCommand.self,
                    PlotCommand.self, DeleteCommand.self,
                ]),
            CommandGroup(
                name: "Upload",
                subcommands: [
                    SyncCommand.self, DestinationsCommand.self, DestinationCommand.self, RejectedCommand.self,
                    ResendCommand.self, CommandsCommand.self,
                ]),
            CommandGroup(
                name: "Set-up",
                subcommands: [
                    EnrollCommand.self, ConfigCommand.self, ReloadCommand.self, AuthCommand.self,
                ]),
            CommandGroup(name: "Support", subcommands: [ReportCommand.self, MetricsCommand.self]),
        ])

    /// Given before the verb they have the same effect: the verb's own group adopts them.
    @OptionGroup var common: CommonOptions

    static func main() {
        // If the reader goes away, writing fails with EPIPE, which ends the tool quietly.
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(Arguments.all.dropFirst())
        if let complaint = Spelling.complaint(about: arguments, of: self) {
            CommonOptions.warn(complaint)
            exit(withError: ExitCode(64))
        }
        do {
            var command = try parseAsRoot(arguments)
            try command.run()
        } catch {
            end(error)
        }
    }

    /// Usage and errors, in lines with their ends.
    private static func shown(_ error: any Error, on descriptor: Int32) -> [String] {
        let columns = max(Terminal.size(of: descriptor).columns, 20)
        if isatty(descriptor) == 1, columns < UsageText.leastColumns {
            let text = fullMessage(for: error, columns: 10_000)
            return text.isEmpty ? [] : UsageText.narrow(text, width: columns).map { $0 + "\n" }
        }
        let text = fullMessage(for: error)
        let lines = text.isEmpty ? [] : text.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.map { Terminal.wrapped(String($0), on: descriptor) }
    }

    /// As ArgumentParser ends a program, but for long lines of usage, which it leaves to the terminal to break.
    private static func end(_ error: any Error) -> Never {
        let code = exitCode(for: error)
        let descriptor = code == .success ? STDOUT_FILENO : STDERR_FILENO
        let bytes = Array(shown(error, on: descriptor).joined().utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            // Nobody is left to tell.
            guard count > 0 else { break }
            written += count
        }
        Glibc.exit(code.rawValue)
    }
}
