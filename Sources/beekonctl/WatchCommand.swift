import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct WatchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Show events live, one per line, until Ctrl-C.",
        discussion: """
            The first lines are the current state and the latest location.

            EXAMPLES:
              beekonctl watch
              beekonctl watch --count 10 --json
              beekonctl watch --kinds location,geofence_event
              sudo beekonctl watch --kinds http

            http is each request. Whoever names it among the kinds and is an administrator also sees what was sent.
            """)

    static let kinds = [
        "location", "geofence_event", "vehicle_event", "state", "source", "sync", "auth", "http", "command",
    ]

    @OptionGroup var common: CommonOptions

    @Option(help: "End after this many locations, including the initial one.")
    var count: Int?

    @Option(help: "Only these kinds, separated by commas: \(Self.kinds.joined(separator: ", ")).")
    var kinds: String?

    private var wanted: [String]? { kinds?.split(separator: ",").map(String.init) }

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count is at least 1.") }
        guard let wanted else { return }
        let unknown = wanted.first { !Self.kinds.contains($0) }
        if let unknown {
            throw ValidationError(
                "--kinds does not know \"\(Text.safe(unknown))\"; "
                    + "it knows \(Self.kinds.joined(separator: ", "))."
            )
        }
        if wanted.isEmpty { throw ValidationError("--kinds is empty.") }
        if count != nil && !wanted.contains("location") {
            throw ValidationError("--count counts locations: add location to --kinds.")
        }
    }

    func run() throws {
        // Every line is written immediately, so nothing is showUnreachable. Shells expect status 130 after Ctrl-C.
        signal(SIGINT) { _ in
            // Keeps the shell's prompt off the line with the terminal's ^C.
            if isatty(STDERR_FILENO) == 1 { _ = write(STDERR_FILENO, "\n", 1) }
            _exit(130)
        }
        try common.run {
            var client = try common.connect()
            var output = Output()
            let palette = CommonOptions.palette
            let units = common.units()
            var left = count ?? .max
            let descriptor = output.descriptor
            try client.stream(Wire.Subscribe.self, .init(kinds: wanted), whileOpen: descriptor) { reply in
                let event = reply.event
                let lines =
                    common.json
                    ? [try JSONLine.encode(event)]
                    : EventText.lines(
                        event, clock: CommonOptions.clock, palette: palette,
                        columns: CommonOptions.columns ?? 80, units: units)
                for line in lines { try output.line(line) }
                try output.flush()
                if event.location != nil { left -= 1 }
                return left > 0
            }
        }
    }
}
