import ControlProtocol
import ControlTool
import Testing

@Suite("tables, exports and events")
struct LinesTests {
    private let clock = ScreenSamples.clock

    @Test("a table of locations fits 80 columns at its widest")
    func locationTable() {
        var widest = ScreenSamples.location
        (widest.latitude, widest.longitude) = (-90, -180)
        (widest.accuracy, widest.speed, widest.bearing, widest.altitude) = (9999.9, 2777.75, 359.4, -9999.9)
        widest.trigger = "geofence"
        let header = LocationText.header(zone: clock.zone)
        let row = LocationText.row(widest, clock: clock)
        #expect(row == "2026-06-15 12:34:07 -90.000000 -180.000000 9999.9 9999.9  359 -9999.9 geofence")
        #expect(header == "TIME (UTC)            LATITUDE   LONGITUDE  ACC m   km/h  DIR   ALT m TRIGGER")
        #expect(row.count <= 80)
    }

    @Test("values that the receiver did not report are shown as a dash")
    func absentValues() {
        let bare = Wire.Location(
            id: "", timestamp: "2026-06-15T12:34:07.000Z", trigger: "motion", motion: "unknown",
            isMock: false,
            latitude: 0, longitude: 0)
        #expect(
            LocationText.row(bare, clock: clock)
                == "2026-06-15 12:34:07   0.000000    0.000000      -      -    -       - motion")
        #expect(LocationText.phrase(bare) == "0.000000, 0.000000, unknown")
    }

    @Test("CSV has a header, quotes where necessary, and empty fields for absent values")
    func csv() throws {
        var location = ScreenSamples.location
        location.sessionId = nil
        location.id = "a\"b,c\r\nd"
        location.ignition = false
        var writer = HistoryWriter(format: .csv, clock: clock)
        #expect(
            try writer.lines([location]) == [
                LocationCSV.header,
                "\"a\"\"b,c\r\nd\",,2026-06-15T12:34:07.000Z,interval,moving,false,"
                    + "37.7749,-122.4194,5.2,2.5,180,14.3,,,false",
            ])
        location.ignition = nil
        #expect(try writer.lines([location]).first?.hasSuffix(",14.3,,,") == true)
        #expect(try writer.lines([]).isEmpty)
        #expect(try writer.lines([location]).count == 1)
    }

    @Test("jsonl has one location per line; an empty table has no header, an empty csv does")
    func formats() throws {
        var jsonl = HistoryWriter(format: .jsonl, clock: clock)
        let line = try #require(try jsonl.lines([ScreenSamples.location]).first)
        #expect(line.hasPrefix("{\"accuracy\":5.2,"))
        #expect(!line.contains("null") && !line.contains("\n"))
        var table = HistoryWriter(format: .table, clock: clock)
        #expect(try table.lines([]).isEmpty)
        var csv = HistoryWriter(format: .csv, clock: clock)
        #expect(try csv.lines([]) == [LocationCSV.header])
    }

    @Test("sessions in 80 columns")
    func sessions() {
        let id = "0190d4e0-1234-7000-8000-aabbccddeeff"
        let lines = SessionText.table(
            [
                .init(
                    id: id, startedAt: "2026-06-14T08:00:00.000Z", stoppedAt: "2026-06-14T17:30:00.000Z",
                    locations: 412, distanceMeters: 123_456),
                .init(id: id, startedAt: "2026-06-15T08:00:00.000Z", locations: 3, distanceMeters: 12),
            ], clock: clock)
        #expect(
            lines == [
                "SESSION                              STARTED (UTC)    ENDED         ROWS      km",
                "\(id) 2026-06-14 08:00 06-14 17:30    412   123.5",
                "\(id) 2026-06-15 08:00 under way        3   0.012",
            ])
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    @Test("trips in 80 columns, with their sum; and as values")
    func trips() {
        let trips = [
            Wire.Trip(
                startedAt: "2026-06-14T08:00:00.000Z", endedAt: "2026-06-14T09:30:10.000Z",
                start: .init(latitude: 52.5, longitude: 13.25), distanceMeters: 123_456,
                durationSeconds: 5410,
                topSpeed: 36.2, idleSeconds: 300),
            Wire.Trip(
                startedAt: "2026-06-15T08:00:00.000Z", distanceMeters: 12, durationSeconds: 9, idleSeconds: 0),
        ]
        let lines = TripText.table(trips, clock: clock)
        #expect(
            lines == [
                "STARTED (UTC)       ENDED             km TOP km/h        TIME    STANDING",
                "2026-06-14 08:00    06-14 09:30    123.5      130  1 h 30 min   5 min 0 s",
                "2026-06-15 08:00    under way        0.0        -         9 s         0 s",
                "2 trips                            123.5           1 h 30 min   5 min 0 s",
            ])
        #expect(TripText.table([trips[1]], clock: clock).count == 2)
        #expect(
            TripCSV.row(trips[0])
                == "2026-06-14T08:00:00.000Z,2026-06-14T09:30:10.000Z,123456,5410,36.2,300,52.5,13.25,,")
        #expect(TripCSV.row(trips[1]) == "2026-06-15T08:00:00.000Z,,12,9,,0,,,,")
        #expect(TripCSV.header.split(separator: ",").count == 10)
    }

    @Test("kilometres of the odometer, to the metre")
    func odometer() {
        #expect(OdometerText.line(123_456_789) == "123456.789 km")
        #expect(OdometerText.line(0) == "0.000 km")
        #expect(OdometerText.metres(12.3456) == 12_346)
        #expect(OdometerText.metres(OdometerText.most) == 10_000_000_000)
    }

    @Test("an event is one line, and lost events are reported")
    func events() {
        func lines(_ event: Wire.Event) -> [String] {
            EventText.lines(event, clock: clock, palette: Palette(enabled: false))
        }
        #expect(
            lines(.init(kind: "location", missed: 7, location: ScreenSamples.location)) == [
                "7 events lost: this reader was too slow",
                "12:34:07 location 37.77490, -122.41940 ±5 m, 9.0 km/h, 180°, moving",
            ])
        #expect(lines(.init(kind: "state", state: .stopped)) == ["12:34:10 state    stopped"])
        #expect(
            lines(.init(kind: "source", source: ScreenSamples.source))
                == ["12:34:10 source   ok, /dev/ttyS1, 3D fix, 9 of 14 satellites"])
        #expect(lines(.init(kind: "sync", sync: ScreenSamples.sync)) == ["12:34:10 sync     120 pending"])
        #expect(
            lines(.init(kind: "auth", auth: .init(state: "valid", failures: 0))) == [
                "12:34:10 auth     valid"
            ])
        let crossing = Wire.GeofenceEvent(
            id: "", sessionId: "", geofenceId: "ho\u{1B}me", type: "exit",
            timestamp: "2026-06-15T12:34:05.000Z")
        #expect(
            lines(.init(kind: "geofence_event", geofenceEvent: crossing))
                == ["12:34:05 geofence exit ho\\u{1b}me"])
        var widest = ScreenSamples.location
        (widest.latitude, widest.accuracy, widest.speed, widest.trigger) = (-37.7749, 99, 19.5, "motion")
        var failing = ScreenSamples.sync
        failing.lastError = String(repeating: "long ", count: 50)
        for event in [
            Wire.Event(kind: "location", location: widest), Wire.Event(kind: "sync", sync: failing),
        ] {
            #expect(lines(event).allSatisfy { $0.count <= 80 }, "\(lines(event))")
        }
        #expect(lines(.init(kind: "\u{1B}new")) == ["12:34:10 \\u{1b}n… "])
    }
}
