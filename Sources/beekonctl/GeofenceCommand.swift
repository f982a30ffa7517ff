import ArgumentParser
import ControlProtocol
import ControlTool

struct GeofenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "geofence",
        abstract: "Manage circles and polygons whose entries and exits are recorded, even when not tracking.",
        discussion: """
            EXAMPLES:
              beekonctl geofence add depot 52.5163 13.3777 150
              beekonctl geofence add --file customers.geojson
              beekonctl geofence events --last 24h
            """,
        subcommands: [Add.self, Remove.self, List.self, Events.self])

    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add", abstract: "Add geofences, replacing those with the same id; all or none.",
            usage: """
                beekonctl geofence add ID LATITUDE LONGITUDE RADIUS [--no-entry] [--no-exit] [--dwell SECONDS]
                beekonctl geofence add --file FILE
                """,
            discussion: """
                FILE is GeoJSON (Point features with the properties id and radius in metres, and Polygon features \
                with the property id; optionally notify_on_entry, notify_on_exit and dwell_seconds) or a JSON list as printed by \
                `geofence list --json`; - reads standard input. A polygon has 3 to 500 corners, no holes, edges that \
                do not meet, and no two corners more than 200 km apart. A geofence that is added again with the same \
                shape keeps its state. If the vehicle is already inside a new one, an enter event is recorded.

                With --dwell an event of the kind dwell is recorded as well, once the vehicle has been inside for so long \
                after an enter, by the times of fixes, also across power-off: beekonctl events shows it.

                EXAMPLES:
                  beekonctl geofence add depot 52.5163 13.3777 150
                  beekonctl geofence add pier -33.8523 151.2108 80 --no-exit
                  beekonctl geofence add customer 48.1374 11.5755 60 --dwell 900
                  beekonctl geofence list --json | ssh other beekonctl geofence add --file -
                """)

        @OptionGroup var common: CommonOptions

        @Option(help: "Read the geofences from this file.")
        var file: String?

        @Flag(name: .customLong("no-entry"), help: "Record no entries.")
        var noEntry = false

        @Flag(name: .customLong("no-exit"), help: "Record no exits.")
        var noExit = false

        @Option(help: "Record a stay of so many seconds, too.")
        var dwell: Double?

        // Southern and western coordinates start with a minus sign, like options.
        @Argument(parsing: .allUnrecognized, help: "ID, latitude and longitude in degrees, radius in metres.")
        var values: [String] = []

        func validate() throws {
            if let unknown = values.first(where: { $0.hasPrefix("-") && Double($0) == nil }), unknown != "-" {
                throw ValidationError("Unknown option \(Text.safe(unknown)).")
            }
            guard file == nil else {
                if values.isEmpty, !noEntry, !noExit, dwell == nil { return }
                throw ValidationError("--file says everything: give nothing else.")
            }
            guard values.count == 4, values[1...].allSatisfy({ Double($0) != nil }) else {
                throw ValidationError("Give ID LATITUDE LONGITUDE RADIUS, or --file FILE.")
            }
        }

        func run() throws {
            try common.run {
                let fences = try wanted()
                var client = try common.connect()
                let result = try client.call(
                    Wire.AddGeofences.self, .init(geofences: fences), timeoutSeconds: 60)
                try common.print(result, text: ["\(Quantity.count(fences.count)) added"])
            }
        }

        private func wanted() throws -> [Wire.Geofence] {
            if let file {
                return try GeofenceFile.read(Input.read(file, limit: GeofenceFile.limit), name: file)
            }
            let numbers = values[1...].compactMap { Double($0) }
            return [
                Wire.Geofence(
                    id: values[0], latitude: numbers[0], longitude: numbers[1], radiusMeters: numbers[2],
                    notifyOnEntry: noEntry ? false : nil, notifyOnExit: noExit ? false : nil,
                    dwellSeconds: dwell)
            ]
        }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove", abstract: "Remove geofences; their recorded events stay.",
            discussion: """
                EXAMPLES:
                  beekonctl geofence remove depot pier
                  beekonctl geofence remove --all
                """)

        @OptionGroup var common: CommonOptions

        private static let atOnce = 100

        @Flag(help: "Remove every geofence.")
        var all = false

        @Argument(help: "Ids of geofences; unknown ones are ignored.")
        var ids: [String] = []

        func validate() throws {
            if all == ids.isEmpty { return }
            throw ValidationError("Give ids, or --all.")
        }

        func run() throws {
            try common.run {
                var client = try common.connect()
                let targets =
                    try all ? client.allGeofences().map(\.id) : ids
                var removed = 0
                // A request holds this many ids of 400 bytes, even with everything escaped.
                for first in stride(from: 0, to: max(targets.count, 1), by: Self.atOnce) {
                    let some = Array(targets[first...].prefix(Self.atOnce))
                    removed += try client.call(
                        Wire.RemoveGeofences.self, .init(ids: some), timeoutSeconds: 60
                    ).removed
                }
                let result = Wire.RemoveGeofences.Result(removed: removed)
                try common.print(result, text: ["\(Quantity.count(removed)) removed"])
            }
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the geofences and whether the vehicle is inside them.",
            discussion: """
                EXAMPLES:
                  beekonctl geofence list
                  beekonctl geofence list --json | jq -r '.geofences[] | select(.inside) | .id'
                  beekonctl geofence list --geojson > geofences.geojson
                """)

        @OptionGroup var common: CommonOptions

        @Flag(name: .customLong("geojson"), help: "Print GeoJSON, which geofence add --file reads.")
        var geoJSON = false

        func run() throws {
            try common.run {
                var client = try common.connect()
                if geoJSON {
                    var output = Output()
                    for line in try GeofenceGeoJSON.lines(client.allGeofences()) { try output.line(line) }
                    return try output.finish()
                }
                let result = Wire.ListGeofences.Result(geofences: try client.allGeofences())
                if result.geofences.isEmpty && !common.json {
                    CommonOptions.warn("no geofences: beekonctl geofence add makes one")
                    return
                }
                try common.print(
                    result,
                    text: GeofenceText.table(
                        result.geofences, columns: CommonOptions.columns, units: common.units()))
            }
        }
    }

    struct Events: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "events", abstract: "List the recorded entries and exits, oldest first.",
            discussion: """
                Events leave the store once the server has acknowledged them, unless \
                store.keep_uploaded is true. With --json, one object per line.

                EXAMPLES:
                  beekonctl geofence events --last 24h
                  beekonctl geofence events --from 2026-06-15 --to -1h --json
                """)

        @OptionGroup var common: CommonOptions

        @OptionGroup var period: PeriodOptions

        func run() throws {
            try common.run {
                let clock = CommonOptions.clock
                let (first, end) = try period.range(clock)
                var client = try common.connect()
                var output = Output()
                var count = 0
                try client.stream(
                    Wire.GetGeofenceEvents.self, .init(from: first, to: end), timeoutSeconds: 60
                ) { page in
                    if count == 0, !page.events.isEmpty, !common.json {
                        try output.line(GeofenceText.eventHeader(zone: clock.zone))
                    }
                    for event in page.events {
                        let columns = CommonOptions.columns
                        try output.line(
                            common.json
                                ? JSONLine.encode(event)
                                : GeofenceText.event(event, clock: clock, columns: columns))
                    }
                    count += page.events.count
                    return true
                }
                try output.finish()
                if count == 0 { CommonOptions.warn("no geofence events in this range") }
            }
        }
    }
}

extension ControlClient {
    /// All geofences, on however many pages.
    mutating func allGeofences() throws -> [Wire.Geofence] {
        var found: [Wire.Geofence] = []
        try stream(Wire.ListGeofences.self, .init(), timeoutSeconds: 60) { page in
            found += page.geofences
            return true
        }
        return found
    }
}
