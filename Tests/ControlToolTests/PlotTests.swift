import Base
import ControlProtocol
import Testing

@testable import ControlTool

@Suite("the track in a terminal and as a page")
struct PlotTests {
    private func location(
        _ second: Int, _ latitude: Double, _ longitude: Double, session: String = "a",
        motion: String = "moving", speed: Double? = nil
    ) -> Wire.Location {
        Wire.Location(
            id: "", sessionId: session,
            timestamp: Timestamp(milliseconds: 1_781_526_000_000 + Int64(second) * 1000).iso8601,
            trigger: "interval", motion: motion, isMock: false, latitude: latitude, longitude: longitude,
            speed: speed)
    }

    private func summary(_ locations: [Wire.Location]) -> TrackSummary {
        var summary = TrackSummary()
        for location in locations { summary.add(location) }
        summary.finish()
        return summary
    }

    private func lines(_ locations: [Wire.Location], columns: Int = 80, rows: Int = 24) -> [String] {
        var plot = TrackPlot()
        for location in locations { plot.add(location) }
        return plot.lines(
            summary(locations), columns: columns, rows: rows, clock: ScreenSamples.clock,
            palette: Palette(enabled: false))
    }

    /// Number of columns and rows with non-empty cells, without title and legend.
    private func drawn(_ lines: [String]) -> (columns: Int, rows: Int) {
        let body = lines.dropFirst().dropLast(3)
        let used = body.map { $0.enumerated().filter { $0.element != " " }.map(\.offset) }
        let columns = used.flatMap(\.self)
        return ((columns.max() ?? 0) - (columns.min() ?? 0) + 1, used.count { !$0.isEmpty })
    }

    @Test("a square on the ground is a square of dots, at every latitude", arguments: [0.0, 52.5, -70])
    func aspect(latitude: Double) {
        // 0.01 degrees of latitude, and as many metres of longitude: 1.11 km each way.
        let wide = 0.01 / cosine(latitude)
        let corners = [(0.0, 0.0), (0.01, 0.0), (0.01, wide), (0.0, wide), (0.0, 0.0)]
        let square = corners.enumerated().map {
            location($0.offset, latitude + $0.element.0, 13 + $0.element.1)
        }
        let size = drawn(lines(square))
        // A cell is two dots wide and four high.
        #expect(abs(size.columns * 2 - size.rows * 4) <= 4, "\(size)")
        #expect(size.rows == 19)
    }

    @Test("nothing is wider or higher than asked for", arguments: [(20, 10), (40, 24), (80, 24), (200, 60)])
    func size(columns: Int, rows: Int) {
        let track = (0..<500).map { location($0, 52 + Double($0 % 37) / 100, 13 + Double($0 % 91) / 100) }
        let lines = lines(track, columns: columns, rows: rows)
        #expect(lines.count <= rows - 1)
        #expect(lines.allSatisfy { Text.columns($0) <= columns })
        // Nothing else is in Braille.
        let drawing = lines.filter { $0.unicodeScalars.contains { (0x2801...0x28FF).contains($0.value) } }
        #expect(drawing.count >= 4 && drawing.allSatisfy { $0.count == columns })
    }

    @Test("a track across the antimeridian is short")
    func antimeridian() {
        let track = [location(0, -17, 179.99), location(60, -17, -179.99), location(120, -17, 179.995)]
        #expect(abs(summary(track).distanceMeters - 3721) < 10)
        let lines = lines(track)
        #expect(lines.suffix(2).first?.hasPrefix("2.1 km × 0 m") ?? false, "\(lines.suffix(2))")
        #expect(lines.contains { $0.contains("A") && $0.contains("B") })
    }

    @Test("one location, and many at one place, are drawn")
    func still() {
        #expect(lines([location(0, 52, 13)]).contains { $0.contains("A") })
        let parked = (0..<10).map { location($0 * 60, 52, 13) }
        #expect(lines(parked).last?.contains("P 1 stop") ?? false)
        #expect(lines([]).isEmpty)
    }

    @Test("sessions are not joined by a line")
    func sessions() {
        let apart = [
            location(0, 52, 13), location(10, 52, 13.001), location(20, 52.05, 13.05, session: "b"),
            location(30, 52.05, 13.051, session: "b"),
        ]
        let one = apart.map { location in
            var location = location
            location.sessionId = "a"
            return location
        }
        #expect(drawn(lines(one)).rows > 10)
        #expect(drawn(lines(apart)).rows == 2)
        #expect(summary(apart).sessions == 2)
        #expect(summary(apart).distanceMeters < 200)
    }

    @Test("a stop is staying in place, or being stationary without locations until the departure")
    func stops() {
        let jitter = (0..<5).map { location($0 * 60, 52 + Double($0 % 2) * 0.0001, 13) }
        #expect(summary(jitter + [location(400, 52.1, 13)]).stops.map(\.seconds) == [240])
        let paused = [
            location(0, 52, 13), location(10, 52.01, 13, motion: "stationary"), location(910, 52.02, 13),
        ]
        #expect(summary(paused).stops.map(\.seconds) == [900])
        let driving = (0..<100).map { location($0 * 30, 52 + Double($0) * 0.01, 13) }
        #expect(summary(driving).stops.isEmpty)
        #expect(summary([location(0, 52, 13), location(500, 52, 13, session: "b")]).stops.isEmpty)
    }

    @Test("the page contains the rows as plain numbers, and texts that cannot end the script")
    func page() throws {
        var page = TrackPage()
        let first = page.lines([location(0, 52, 13, speed: 2.5)])
        let second = page.lines([location(7, 52.5, -13)])
        #expect(first.last == "[0,52,13,2.5,null,null,null,1]")
        #expect(second == [",[7000,52.5,-13,null,null,null,null,1]"])
        let evil = Wire.Geofence(id: "</script><!--\u{2028}", latitude: 0, longitude: 0, radiusMeters: 1)
        let tail = try page.end(summary([location(0, 52, 13)]), fences: [evil]).joined()
        #expect(tail.contains("\\u003c/script>\\u003c!--\\u2028"))
        let whole = (first + second).joined() + tail
        #expect(!whole.contains("{{"))
        #expect(whole.hasPrefix("<!doctype html>"))
        for outside in ["http:", "https:", "url(", "@import", " src="] {
            #expect(!whole.contains(outside), "\(outside)")
        }
    }

    private func cosine(_ degrees: Double) -> Double {
        // Accurate to six digits, which is enough for a test without a maths library.
        let x = degrees * Double.pi / 180
        return 1 - x * x / 2 + x * x * x * x / 24 - x * x * x * x * x * x / 720 + x * x * x * x * x * x * x
            * x / 40320
    }
}
