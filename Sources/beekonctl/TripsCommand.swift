internal import ArgumentParser
import ControlProtocol
import ControlTool
import Glibc

struct TripsCommand: ParsableCommand {
    /// How trips are printed.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json, csv, gpx
    }

    static let configuration = CommandConfiguration(
        commandName: "trips",
        abstract: "List or export the trips: what lies between two stays of vehicle.trip_gap_seconds.",
        discussion: """
            The newest thousand are kept, also when their locations have left the store. gpx draws them from the stored \
            locations: with a backend it needs store.keep_uploaded = true.

            EXAMPLES:
              beekonctl trips --last 7d
              beekonctl trips --from 2026-06-01 --format csv -o june.csv
            """)

    @OptionGroup var common: CommonOptions

    @OptionGroup var period: PeriodOptions

    @Option(help: "Output format (--json is json).")
    var format: Format?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: "Write to this file, readable only by you; it appears only when complete.", completion: .file())
    var output: String?

    private var chosen: Format { format ?? (common.json ? .json : .table) }

    func validate() throws {
        if common.json, let format, format != .json {
            throw ValidationError("Give --json or --format \(format.rawValue), not both.")
        }
    }

    func run() throws {
        try common.run {
            let clock = CommonOptions.clock
            let (first, end) = try period.range(clock)
            var client = try common.connect()
            let found = try client.call(
                Wire.GetTrips.self, .init(from: first, to: end), timeoutSeconds: 60)
            if found.trips.isEmpty, chosen == .table {
                return CommonOptions.warn(
                    first == nil && end == nil
                        ? "no trips yet: one begins when the vehicle drives while beekond tracks"
                        : "no trips in this range")
            }
            guard chosen == .gpx else {
                return try write(try lines(found, clock))
            }
            try writeTracks(of: found.trips, by: &client)
        }
    }

    private func lines(_ found: Wire.GetTrips.Result, _ clock: LocalClock) throws -> [String] {
        switch chosen {
        case .table, .gpx:
            TripText.table(
                found.trips, clock: clock, units: common.units(),
                width: (output ?? "-") == "-" ? CommonOptions.columns : nil)
        case .json: [try JSONLine.encode(found)]
        case .csv: [TripCSV.header] + found.trips.map(TripCSV.row)
        }
    }

    private func write(_ lines: [String]) throws {
        var sink = try Output.to(output)
        for line in lines { try sink.line(line) }
        try sink.finish()
    }

    /// The file is made only once there is a location to go into it.
    private func writeTracks(of trips: [Wire.Trip], by client: inout ControlClient) throws {
        var gpx = TripGPX()
        var sink: Output?
        for trip in trips {
            try client.stream(
                Wire.GetLocations.self, .init(from: trip.startedAt, to: trip.endedAt), timeoutSeconds: 60
            ) { page in
                let lines = gpx.lines(trip, page.locations)
                guard !lines.isEmpty else { return true }
                var output: Output
                if let begun = sink.take() {
                    output = begun
                } else {
                    output = try Output.to(self.output)
                    for line in gpx.head() { try output.line(line) }
                }
                for line in lines { try output.line(line) }
                try output.flush()
                sink = consume output
                return true
            }
            let end = gpx.endTrip()
            guard var output = sink.take() else { continue }
            for line in end { try output.line(line) }
            sink = consume output
        }
        let reason =
            "rows leave the store when the server acknowledges them, and with age; set store.keep_uploaded = true to keep "
            + "them. --format csv needs none"
        guard var output = sink.take() else {
            throw Failure("none of these \(trips.count) trips has stored locations: \(reason)", exitCode: 65)
        }
        for line in gpx.tail() { try output.line(line) }
        try output.finish()
        if gpx.missing > 0 {
            CommonOptions.warn(
                "\(gpx.missing) of \(trips.count) trips are left out, which have no stored locations: \(reason)"
            )
        }
    }
}
