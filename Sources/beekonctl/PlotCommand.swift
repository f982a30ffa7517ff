import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct PlotCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plot",
        abstract: "Draw the track in the terminal, or write it as a page for the browser.",
        discussion: """
            The page is a single file that needs no network and shows the track with its trips, stops and geofences, and speed \
            and altitude over time. In the terminal, A is the start, B the end, and P a stop of two minutes or more.

            EXAMPLES:
              beekonctl plot --last 2h
              beekonctl plot --last 1d --html track.html
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var range: RangeOptions

    @Option(
        name: [
            .customLong("html"), .customLong("page"), .customShort("o"), .customLong("output"),
        ],
        help: "Write a page for the browser to this file, readable only by you.", completion: .file())
    var html: String?

    func run() throws {
        try common.run {
            let parameters = try range.parameters(CommonOptions.clock)
            var summary = TrackSummary()
            if let html {
                try write(to: html, parameters, &summary)
            } else {
                var plot = TrackPlot()
                _ = try range.stream(common, parameters, isBusy: false) { page in
                    for location in page {
                        summary.add(location)
                        plot.add(location)
                    }
                }
                summary.finish()
                let (columns, rows) = Terminal.size()
                if summary.locations > 0 || common.json {
                    try common.print(
                        summary,
                        text: plot.lines(
                            summary, columns: columns, rows: rows, clock: CommonOptions.clock,
                            palette: CommonOptions.palette, units: common.units()))
                }
            }
            if summary.locations == 0 { range.explainEmptiness(common) }
        }
    }

    private func write(
        to path: String, _ parameters: Wire.GetLocations.Parameters, _ summary: inout TrackSummary
    ) throws {
        var page = TrackPage()
        var sink: Output?
        let isBusy = isatty(STDOUT_FILENO) == 1 && path == "-"
        var found = TrackSummary()
        _ = try range.stream(common, parameters, isBusy: isBusy) { locations in
            var output = try sink.take() ?? Output.to(path)
            for location in locations { found.add(location) }
            for line in page.lines(locations) { try output.line(line) }
            try output.flush()
            sink = consume output
        }
        found.finish()
        summary = found
        guard summary.locations > 0, var output = sink.take() else { return }
        for line in try page.end(
            summary, fences: try fences(), trips: try trips(within: summary), units: common.units())
        {
            try output.line(line)
        }
        try output.finish()
        if common.json { try common.print(summary, text: []) }
    }

    /// Trips that touch the track.
    private func trips(within summary: TrackSummary) throws -> [Wire.Trip] {
        var client = try common.connect()
        do {
            return try client.call(
                Wire.GetTrips.self, .init(from: summary.start, to: summary.end), timeoutSeconds: 60
            ).trips
        } catch ControlError.methodNotImplemented, ControlError.methodNotFound {
            return []
        }
    }

    /// A daemon without support for geofences can still have a track.
    private func fences() throws -> [Wire.Geofence] {
        var client = try common.connect()
        do {
            return try client.allGeofences()
        } catch ControlError.methodNotImplemented {
            return []
        }
    }
}
