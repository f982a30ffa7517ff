import ArgumentParser
import Glibc
import Simulation

@main
struct BeekonSim: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "beekon-sim",
        abstract: "A simulated GNSS receiver: drives a route and sends what a receiver would, as NMEA 0183.",
        discussion: """
            The vehicle accelerates, brakes for corners, waits at lights and occasionally parks. Without --duration \
            it drives until SIGINT or SIGTERM. The same --seed and --start always produce the same bytes.

            EXAMPLE:
              gpsd -N -n -S 2950 udp://127.0.0.1:2951 &
              beekon-sim --udp 127.0.0.1:2951
            """,
        version: "0.2.0")

    @OptionGroup(title: "Output (choose one)")
    var destination: Destination

    @OptionGroup(title: "The drive")
    var drive: DriveOptions

    @Option(help: .init("Run the drive this many times faster than real time.", valueName: "x"))
    var speedUp: Double?

    mutating func validate() throws {
        if let speedUp, !(speedUp > 0 && speedUp <= 1000) {
            throw ValidationError("--speed-up \(speedUp) is out of range: give a factor above 0, up to 1000.")
        }
    }

    mutating func run() throws {
        exitOnSignal()
        let start = drive.start?.timestamp
        let pace = wholeDriveAtOnce ? nil : Pace(speedUp: speedUp ?? 1, rate: drive.rate, start: start)
        let begin = start ?? pace?.firstEpoch ?? Pace.now(rate: drive.rate)
        do {
            var output = try destination.open()
            try send(Drive(drive.scenario(start: begin)), to: &output, pace: pace)
        } catch let failure as Failure {
            writeAll(STDERR_FILENO, Array("beekon-sim: \(failure.message)\n".utf8))
            throw ExitCode(failure.exitCode)
        }
    }

    /// A file with a known start and duration need not be paced.
    private var wholeDriveAtOnce: Bool {
        destination.file != nil && speedUp == nil && drive.duration != nil && drive.start != nil
    }

    private func send(_ drive: Drive, to output: inout any Output, pace: Pace?) throws {
        var drive = drive
        let end = self.drive.duration.map { Int(($0 * 1000).rounded()) } ?? Int.max
        while drive.nextElapsed < end {
            let epoch = drive.next()
            pace?.wait(untilElapsed: epoch.elapsed)
            try output.send(epoch.sentences.joined())
        }
    }
}

/// Exits at once and successfully: being told to stop is how a drive without `--duration` ends. Nothing is buffered,
/// so there is nothing to flush, and `_exit` is async-signal-safe.
private func exitOnSignal() {
    for number in [SIGINT, SIGTERM] {
        signal(number) { _ in _exit(0) }
    }
}
