internal import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Print or export the stored locations, oldest first.",
        discussion: """
            table is for people, jsonl and csv for programs, gpx (1.1), geojson (RFC 7946) and kml (2.2) for maps. \
            Altitudes are heights above the WGS-84 ellipsoid in all of them.

            Locations leave the store once the server has acknowledged them, unless \
            store.keep_uploaded is true.

            EXAMPLES:
              beekonctl history --last 2h
              beekonctl history --from 2026-06-15 --to -1h --format jsonl
              beekonctl history --last 1d --format gpx -o track.gpx
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var range: RangeOptions

    @Option(help: "Output format (--json is jsonl).")
    var format: HistoryWriter.Format?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "Write to this file, readable only by you; it appears only when complete.", completion: .file())
    var output: String?

    private var chosen: HistoryWriter.Format { format ?? (common.json ? .jsonl : .table) }

    func validate() throws {
        if common.json, let format, format != .jsonl {
            throw ValidationError("Give --json or --format \(format.rawValue), not both.")
        }
    }

    func run() throws {
        try common.run {
            let clock = CommonOptions.clock
            let parameters = try range.parameters(clock)
            let isFile = (output ?? "-") != "-"
            var writer = HistoryWriter(
                format: chosen, clock: clock, units: chosen == .table ? common.units() : .metric,
                width: isFile ? nil : CommonOptions.columns)
            // The file is created only once the daemon has answered, so that an error leaves an existing one
            // untouched.
            var sink: Output?
            let isBusy = isatty(STDOUT_FILENO) == 1 && !isFile
            let count = try range.stream(common, parameters, isBusy: isBusy) { page in
                var output = try sink.take() ?? Output.to(self.output)
                for line in try writer.lines(page) { try output.line(line) }
                try output.flush()
                sink = consume output
            }
            var output = try sink.take() ?? Output.to(self.output)
            for line in writer.end() { try output.line(line) }
            try output.finish()
            if count == 0 { range.explainEmptiness(common) }
        }
    }
}

extension HistoryWriter.Format: ExpressibleByArgument {}
