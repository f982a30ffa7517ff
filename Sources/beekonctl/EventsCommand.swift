internal import ArgumentParser
import ControlProtocol
import ControlTool

struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print or export what has happened to the vehicle, oldest first.",
        discussion: """
            Events are entries into geofences and exits (geofence), stays in them (dwell), ignition on and off, external \
            power lost and back, trips started and ended, and settings of the odometer. Those of the kinds that \
            vehicle.events names, and those of geofences, leave the store once the server has acknowledged them, unless \
            store.keep_uploaded is true; the others are kept for store.retention_days.

            A time after ~ is an estimate: the machine went off before it knew the time, and the event was not earlier. \
            Events of the present that have no time yet come last.

            EXAMPLES:
              beekonctl events --last 7d
              beekonctl events --kind ignition,power --format csv -o events.csv
              beekonctl events --kind dwell --json | jq -r .subject
            """)

    static let kinds = ["geofence", "dwell", "ignition", "power", "trip", "odometer"]

    @OptionGroup var common: CommonOptions

    @OptionGroup var period: PeriodOptions

    @Option(help: "Only these kinds, separated by commas: \(Self.kinds.joined(separator: ", ")).")
    var kind: String?

    @Option(help: "Output format (--json is json: one object a line).")
    var format: EventWriter.Format?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "Write to this file, readable only by you; it appears only when complete.", completion: .file())
    var output: String?

    private var chosen: EventWriter.Format { format ?? (common.json ? .json : .table) }
    private var wanted: [String]? { kind?.split(separator: ",").map(String.init) }

    func validate() throws {
        if common.json, let format, format != .json {
            throw ValidationError("Give --json or --format \(format.rawValue), not both.")
        }
        guard let wanted else { return }
        if let unknown = wanted.first(where: { !Self.kinds.contains($0) }) {
            throw ValidationError(
                "--kind does not know \"\(Text.safe(unknown))\"; it knows "
                    + "\(Self.kinds.joined(separator: ", ")).")
        }
        if wanted.isEmpty { throw ValidationError("--kind is empty.") }
    }

    func run() throws {
        try common.run {
            let clock = CommonOptions.clock
            let (first, end) = try period.range(clock)
            var client = try common.connect()
            let isFile = (output ?? "-") != "-"
            var writer = EventWriter(
                format: chosen, clock: clock, columns: isFile ? nil : CommonOptions.columns)
            // The file is created only once the daemon has answered, so that an error leaves an existing one
            // untouched.
            var sink: Output?
            var count = 0
            try client.stream(
                Wire.GetEvents.self, .init(from: first, to: end, kinds: wanted), timeoutSeconds: 60
            ) { page in
                var output = try sink.take() ?? Output.to(self.output)
                for line in try writer.lines(page.events) { try output.line(line) }
                try output.flush()
                sink = consume output
                count += page.events.count
                return true
            }
            let output = try sink.take() ?? Output.to(self.output)
            try output.finish()
            if count == 0 { CommonOptions.warn("no events in this range") }
        }
    }
}

extension EventWriter.Format: ExpressibleByArgument {}
