import ControlProtocol
import Testing

@testable import ControlTool

@Suite("exports for maps")
struct ExportTests {
    private func text(_ format: HistoryWriter.Format, _ pages: [[Wire.Location]]) throws -> String {
        var writer = HistoryWriter(format: format, clock: ScreenSamples.clock)
        var lines: [String] = []
        for page in pages { lines += try writer.lines(page) }
        return (lines + writer.end()).joined(separator: "\n") + "\n"
    }

    /// Numbers that XML decimals cannot represent directly, texts that would end an element, and no values at all.
    private var odd: Wire.Location {
        var location = ScreenSamples.location
        location.sessionId = "<&\"'>\u{0}\u{1B}"
        (location.latitude, location.longitude, location.altitude) = (-5e-7, 180, 1e-12)
        (location.speed, location.bearing, location.accuracy) = (nil, nil, nil)
        return location
    }

    @Test("GPX: a point with every value, in the order of the schema")
    func gpx() throws {
        let text = try text(.gpx, [[ScreenSamples.location]])
        #expect(
            text.contains(
                "<trkpt lat=\"37.7749\" lon=\"-122.4194\"><ele>14.3</ele><time>2026-06-15T12:34:07.000Z</time>"
                    + "<extensions><gpxtpx:TrackPointExtension><gpxtpx:speed>2.5</gpxtpx:speed>"
                    + "<gpxtpx:course>180</gpxtpx:course></gpxtpx:TrackPointExtension>"))
        #expect(text.contains("ellipsoid"))
        #expect(text.hasSuffix("</trkseg></trk>\n</gpx>\n"))
    }

    @Test("GPX: one track per session, even across pages; none for an empty history")
    func gpxSessions() throws {
        var other = ScreenSamples.location
        other.sessionId = "other"
        let one = ScreenSamples.location
        let text = try text(.gpx, [[one, one], [one, other], [other]])
        #expect(text.components("<trk>") == 2 && text.components("</trk>") == 2)
        #expect(text.components("<trkpt ") == 5)
        #expect(try !self.text(.gpx, [[]]).contains("<trk"))
    }

    @Test("texts and numbers are escaped for XML", arguments: [HistoryWriter.Format.gpx, .kml])
    func escaped(format: HistoryWriter.Format) throws {
        let text = try text(format, [[odd]])
        #expect(text.contains("&lt;&amp;&quot;&#39;&gt;\u{FFFD}\u{FFFD}"))
        #expect(text.contains("-0.0000005"))
        #expect(text.contains("0.000000000001"))
        #expect(!text.contains("e-"))
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
    }

    @Test("GeoJSON: longitude first, features separated by commas, whatever the pages")
    func geojson() throws {
        let one = ScreenSamples.location
        let text = try text(.geojson, [[one], [one, one]])
        #expect(text.hasPrefix("{\"type\":\"FeatureCollection\",\"features\":[\n{"))
        #expect(text.components("\n,{") == 2)
        #expect(text.contains("\"coordinates\":[-122.4194,37.7749,14.3]"))
        #expect(text.hasSuffix("\n]}\n"))
        #expect(try self.text(.geojson, [[]]) == "{\"type\":\"FeatureCollection\",\"features\":[\n]}\n")
    }

    @Test("whether the ignition was on, where that is known", arguments: [true, false])
    func ignition(isOn: Bool) throws {
        let one = ScreenSamples.location
        for format in [HistoryWriter.Format.gpx, .geojson] {
            #expect(try !text(format, [[one]]).contains("ignition"))
        }
        var known = one
        known.ignition = isOn
        #expect(try text(.gpx, [[known]]).contains("<beekond:ignition>\(isOn)</beekond:ignition>"))
        #expect(try text(.geojson, [[known]]).contains("\"ignition\":\(isOn)"))
    }

    @Test("KML: as many times as positions and values in each track")
    func kml() throws {
        let one = ScreenSamples.location
        let text = try text(.kml, [[one, odd], [odd, odd]])
        for mark in ["<when>", "<gx:coord>"] { #expect(text.components(mark) == 4) }
        #expect(text.components("<gx:value>") == 12)
        #expect(text.components("<Placemark>") == 2 && text.components("</Placemark>") == 2)
        #expect(text.components("<gx:Track>") == 3)
    }

    @Test(
        "numbers without exponents",
        arguments: [
            (0, "0"), (-0.0, "0"), (180, "180"), (5e-7, "0.0000005"), (-1.25e-9, "-0.00000000125"),
            (1e21, "1000000000000000000000"), (-2.5e17, "-250000000000000000"), (37.7749, "37.7749"),
        ] as [(Double, String)])
    func decimals(value: Double, expected: String) {
        #expect(Quantity.decimal(value) == expected)
        #expect(Double(Quantity.decimal(value)) == value)
    }
}

extension String {
    /// Number of occurrences of a substring.
    fileprivate func components(_ mark: String) -> Int {
        var rest = self[...]
        var count = 0
        while let range = rest.firstRange(of: mark) {
            count += 1
            rest = rest[range.upperBound...]
        }
        return count
    }
}
